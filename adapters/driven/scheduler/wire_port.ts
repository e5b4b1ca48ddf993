import { Effect, Schedule, type Scope, Stream } from "effect"
import * as errors from "../../../domain/scheduler/errors.ts"
import {
  type JobReceipt,
  problemWithCount,
  problemWithDefinition,
  problemWithId,
  problemWithJobAt,
  problemWithPlace,
} from "../../../domain/scheduler/job.ts"
import {
  type BlockingQuery,
  type EventBatch,
  type EventSubscription,
  SchedulerPort,
  type Snapshot,
} from "../../../domain/scheduler/scheduler_port.ts"
import { refusalOf } from "./refusals.ts"
import * as wire from "./wire.ts"
import * as answers from "./wire_answers.ts"

interface WireAnswer {
  readonly status: number
  readonly text: string
  /** `X-Nomad-Index`, when there is one. */
  readonly index: string | null
}

/** An answer whose body comes bit by bit. */
interface WireStream {
  readonly status: number
  readonly chunks: Stream.Stream<Uint8Array, errors.SchedulerError>
}

/** What carries requests to an agent: HTTP, or a call in memory. */
export interface Transport {
  readonly endpoint: string
  readonly send: (request: wire.WireRequest) => Effect.Effect<WireAnswer, errors.SchedulerError>
  readonly open: (request: wire.WireRequest) => Effect.Effect<WireStream, errors.SchedulerError, Scope.Scope>
  /** Removes the transport's secrets from a text the agent sent back. */
  readonly mask: (text: string) => string
}

export interface WirePortOptions {
  readonly scaleGroup: string
  /** How often a call is repeated: everything that certainly was not applied, reads also after an unknown end. */
  readonly retries: number
}

/** Longest part of an answer that an error carries: of a refusal its text, of an unreadable answer its beginning. */
const BODY_MAX = 4096
const SNIPPET_MAX = 256
const WAIT_MAX_MS = 240_000

/** An event stream outlives what passes, and ends on what does not. */
const mayReconnect = (error: errors.SchedulerError): boolean =>
  error._tag === "SchedulerUnreachable" ||
  error._tag === "SchedulerTimeout" ||
  error._tag === "SchedulerConnectionLost" ||
  error._tag === "NoLeader" ||
  error._tag === "SchedulerRateLimited" ||
  error._tag === "SchedulerFailed"

/** Agents send a heartbeat every 30 seconds: a connection that is silent for two of them is dead. */
const SILENCE = "75 seconds"

/** Pause before an event stream is opened again after its end: 0.25 s, doubling up to 15 s, from the start after each event. */
const RECONNECT = Schedule.min([Schedule.exponential("250 millis"), Schedule.spaced("15 seconds")]).pipe(
  Schedule.jittered,
  Schedule.setInputType<errors.SchedulerError>(),
  Schedule.while(({ input }) => mayReconnect(input)),
)

const BACKOFF = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("5 seconds")]).pipe(Schedule.jittered)

/** True when the same request may be sent again. */
const mayRepeat =
  (request: wire.WireRequest) =>
  (error: errors.SchedulerError): boolean => {
    switch (error._tag) {
      case "SchedulerUnreachable":
        return error.reason === "connection"
      case "NoLeader":
      case "SchedulerRateLimited":
        return true
      case "SchedulerTimeout":
      case "SchedulerConnectionLost":
      case "SchedulerFailed":
        return request.method === "GET"
      default:
        return false
    }
  }

const callOf = (request: wire.WireRequest) => ({
  operation: request.operation,
  method: request.method,
  path: request.path,
})

const problemWithPoll = (poll: BlockingQuery | undefined) =>
  poll !== undefined && !(poll.waitMs >= 0 && poll.waitMs <= WAIT_MAX_MS)
    ? new errors.InvalidSchedulerArgument({ argument: "waitMs", rule: `must be 0 to ${WAIT_MAX_MS}` })
    : undefined

/** Goes on with the call when there is no problem with its arguments. */
const unless = <A>(
  problem: errors.InvalidSchedulerArgument | undefined,
  call: () => Effect.Effect<A, errors.SchedulerError>,
): Effect.Effect<A, errors.SchedulerError> => (problem === undefined ? Effect.suspend(call) : Effect.fail(problem))

/** A request that cannot be written as JSON (a cycle, `NaN`) is the caller's mistake. */
const plan = (make: () => wire.WireRequest) =>
  Effect.try({
    try: make,
    catch: () => new errors.InvalidSchedulerArgument({ argument: "definition", rule: "must have a JSON form" }),
  })

const valueIn = <A, E>(read: Effect.Effect<Snapshot<A>, E>): Effect.Effect<A, E> =>
  Effect.map(read, ({ value }) => value)

/** The port's operations over a transport: check, request, answer. */
export const makePort = (transport: Transport, options: WirePortOptions): SchedulerPort["Service"] => {
  const refused = (request: wire.WireRequest, status: number, text: string) =>
    refusalOf({ ...callOf(request), status, body: transport.mask(text).slice(0, BODY_MAX) })

  const unreadable = (request: wire.WireRequest, answer: Pick<WireAnswer, "status" | "text">, rule: string) =>
    new errors.UnreadableAnswer({
      ...callOf(request),
      applied: request.method === "GET" ? "no" : "unknown",
      status: answer.status,
      body: transport.mask(answer.text).slice(0, SNIPPET_MAX),
      rule,
    })

  const send = (request: wire.WireRequest) => {
    const exchange = Effect.flatMap(transport.send(request), (answer) =>
      answer.status >= 200 && answer.status < 300
        ? Effect.succeed(answer)
        : Effect.fail(refused(request, answer.status, answer.text)),
    )
    return options.retries === 0
      ? exchange
      : Effect.retry(exchange, {
          schedule: Schedule.upTo(BACKOFF, { times: options.retries }),
          while: mayRepeat(request),
        })
  }

  const call = <A>(request: wire.WireRequest, reader: (text: string) => answers.Reading<A>) =>
    Effect.flatMap(send(request), (answer): Effect.Effect<Snapshot<A>, errors.SchedulerError> => {
      const reading = reader(answer.text)
      if (!("value" in reading)) return Effect.fail(unreadable(request, answer, reading.rule))
      const { value } = reading
      const index = answers.readIndex(answer.index)
      return Effect.succeed(index === undefined ? { value } : { value, index })
    })

  const change = Effect.fnUntraced(function* (request: wire.WireRequest) {
    const { value: receipt } = yield* call<JobReceipt>(request, answers.readReceipt)
    if (receipt.warnings !== undefined)
      yield* Effect.logWarning(`The scheduler warns about ${request.operation}`, transport.mask(receipt.warnings))
    return receipt
  })

  /** One connection of an event stream: from `index` on, until it breaks. */
  const connection = (subscription: EventSubscription): Stream.Stream<EventBatch, errors.SchedulerError> =>
    Stream.unwrap(
      Effect.gen(function* () {
        const request = wire.events(subscription)
        const { status, chunks } = yield* transport.open(request)
        const silent = () => Stream.fail(new errors.SchedulerConnectionLost({ ...callOf(request), applied: "no" }))
        const text = chunks.pipe(Stream.timeoutOrElse({ duration: SILENCE, orElse: silent }), Stream.decodeText)
        if (status !== 200) {
          const body = yield* Stream.mkString(text)
          return yield* refused(request, status, body)
        }
        return text.pipe(
          Stream.splitLines,
          Stream.filter((line) => line.trim() !== ""),
          Stream.mapEffect((line) => {
            const reading = answers.readEventLine(line)
            return "value" in reading
              ? Effect.succeed(reading.value)
              : Effect.fail(unreadable(request, { status, text: line }, reading.rule))
          }),
          Stream.filter((batch): batch is EventBatch => batch !== undefined),
        )
      }),
    )

  const events = (subscription: EventSubscription): Stream.Stream<EventBatch, errors.SchedulerError> =>
    Stream.suspend(() => {
      let next = subscription.index ?? 0
      return Stream.suspend(() => connection({ ...subscription, index: next })).pipe(
        Stream.tap(({ Index }) =>
          Effect.sync(() => {
            next = BigInt(Index) + 1n
          }),
        ),
        // The agent never ends a stream by itself: an end is a lost connection.
        Stream.concat(
          Stream.fail(new errors.SchedulerConnectionLost({ ...callOf(wire.events(subscription)), applied: "no" })),
        ),
        Stream.retry(RECONNECT),
      )
    })

  return SchedulerPort.of({
    endpoint: transport.endpoint,
    scaleGroup: options.scaleGroup,
    getDefinition: (at, poll) =>
      unless(problemWithJobAt(at) ?? problemWithPoll(poll), () =>
        call(wire.getDefinition(at, poll), answers.readDefinition),
      ),
    runJob: (definition, place) =>
      unless(problemWithDefinition(definition) ?? problemWithPlace(place), () =>
        Effect.flatMap(
          plan(() => wire.runJob(definition, place)),
          change,
        ),
      ),
    planJob: (definition, place) =>
      unless(problemWithDefinition(definition) ?? problemWithPlace(place), () =>
        Effect.flatMap(
          plan(() => wire.planJob(definition, place)),
          (request) => valueIn(call(request, answers.readPlan)),
        ),
      ),
    scaleJob: (to) => unless(problemWithJobAt(to) ?? problemWithCount(to.count), () => change(wire.scaleJob(to))),
    deleteJob: (at) => unless(problemWithJobAt(at), () => change(wire.deleteJob(at))),
    scaleStatus: (at) =>
      unless(problemWithJobAt(at), () => valueIn(call(wire.scaleStatus(at), answers.readScaleStatus))),
    allocationStats: (at) =>
      unless(problemWithId("allocationId", at.allocationId) ?? problemWithPlace(at), () =>
        valueIn(call(wire.allocationStats(at), answers.readStats)),
      ),
    getAllocations: (at, poll) =>
      unless(problemWithId("nodeId", at.nodeId) ?? problemWithPlace(at) ?? problemWithPoll(poll), () =>
        call(wire.getAllocations(at, poll), answers.readAllocations),
      ),
    events,
  })
}
