// Sends requests to one agent, within its deadlines and bounds; what goes wrong on the way comes as the port's errors.
import { Effect, Schedule, Semaphore, Stream } from "effect"
import * as errors from "../../../domain/scheduler/errors.ts"
import { makeSecretMask } from "../../../domain/secret_mask.ts"
import { sendLogged } from "../exchange_log.ts"
import {
  type ExchangeFailed,
  type ExchangeRequest,
  type ExchangeResponse,
  send,
  sendStreaming,
} from "../http_exchange.ts"
import type { AgentAddress } from "./agent_address.ts"
import { checkOptions, type HttpSchedulerOptions } from "./http_options.ts"
import { refusalOf } from "./scheduler_refusals.ts"
import type { SchedulerRequest } from "./scheduler_requests.ts"

const READ_TIMEOUT_MS = 10_000
/** Deadline of a change when none is given, milliseconds: servers may take 35 s. */
export const WRITE_TIMEOUT_MS = 45_000
const MAX_IN_FLIGHT = 32

/** Longest text of an answer that an error carries, characters: of a refusal, and of an answer that cannot be read. */
const LENGTH_MAX = { refusal: 4096, unreadable: 256 }

/** The fields of an error that tell which call went wrong. */
export const callOf = ({ operation, method, path }: SchedulerRequest) => ({ operation, method, path })

/** Deadline of a request, milliseconds. The agent may hold a blocking query a sixteenth longer than asked. */
const deadlineMs = ({ method, waitMs }: SchedulerRequest, options: HttpSchedulerOptions): number =>
  method === "GET"
    ? (options.readTimeoutMs ?? READ_TIMEOUT_MS) + Math.ceil((waitMs * 17) / 16)
    : (options.writeTimeoutMs ?? WRITE_TIMEOUT_MS)

const headersOf = (request: SchedulerRequest, { authorization }: AgentAddress, token: string) => ({
  accept: "application/json",
  "user-agent": "portolan",
  // Both names: the specification's (2.2), and the one a real agent reads.
  ...(token === "" ? {} : { "x-scheduler-token": token, "x-nomad-token": token }),
  ...(authorization === undefined ? {} : { authorization }),
  ...(request.body === undefined ? {} : { "content-type": "application/json" }),
})

const failureOf = (request: SchedulerRequest, failure: ExchangeFailed): errors.SchedulerError => {
  const call = { ...callOf(request), applied: failure.applied }
  switch (failure.kind) {
    case "timeout":
      return new errors.SchedulerTimeout(call)
    case "redirected":
      return new errors.SchedulerRedirected({ ...call, applied: "no" })
    case "oversized":
      return new errors.UnreadableAnswer({ ...call, status: 200, body: "", rule: "is larger than 64 MiB" })
    case "network":
      return failure.applied === "no"
        ? new errors.SchedulerUnreachable({ ...call, reason: failure.detail ?? "connection" })
        : new errors.SchedulerConnectionLost(call)
  }
}

/** Pause before a request is repeated: 0.1 s, doubling up to 5 s. */
const BACKOFF = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("5 seconds")]).pipe(Schedule.jittered)

/** True when the same request may be sent again: it was certainly not applied, or it changes nothing. */
const mayRepeat = (request: SchedulerRequest, error: errors.SchedulerError): boolean =>
  errors.isPassing(error) &&
  !(error._tag === "SchedulerUnreachable" && error.reason === "tls") &&
  (request.method === "GET" || ("applied" in error && error.applied === "no"))

/**
 * Makes the connection; nothing is sent yet.
 *
 * @fails {InvalidSchedulerSetup} naming the option that can never work
 */
export const connect = Effect.fnUntraced(function* (options: HttpSchedulerOptions) {
  const { address, token } = yield* checkOptions(options)
  const { retries = 0 } = options
  const slots = yield* Semaphore.make(options.maxInFlight ?? MAX_IN_FLIGHT)
  const mask = makeSecretMask([token, address.authorization ?? ""])

  const exchangeOf = (request: SchedulerRequest): ExchangeRequest => ({
    method: request.method,
    url: address.url + request.path,
    query: request.query,
    headers: headersOf(request, address, token),
    timeoutMs: deadlineMs(request, options),
    ...(request.body === undefined ? {} : { body: request.body }),
    ...(options.tls === undefined ? {} : { tls: options.tls }),
    ...(address.unixSocket === undefined ? {} : { unixSocket: address.unixSocket }),
  })

  const refused = (request: SchedulerRequest, status: number, text: string) =>
    refusalOf({ ...callOf(request), status, body: mask.text(text).slice(0, LENGTH_MAX.refusal) })

  const sendOnce = Effect.fnUntraced(function* (request: SchedulerRequest) {
    const exchange = options.debug === true ? sendLogged(exchangeOf(request), mask) : send(exchangeOf(request))
    // A blocking query takes no slot: a few of them would hold up everything else.
    const limited = request.waitMs > 0 ? exchange : slots.withPermit(exchange)
    const answer = yield* Effect.mapError(limited, (failure) => failureOf(request, failure))
    if (answer.status < 200 || answer.status >= 300) return yield* refused(request, answer.status, answer.text)
    return answer
  })

  return {
    /** Names the agent; holds no secret. */
    endpoint: address.unixSocket === undefined ? address.url : `unix://${address.unixSocket}`,
    /** Removes our secrets from a text that the agent sent back. */
    mask: mask.text,
    /** Sends a request, again when that is safe and asked for. Succeeds with an answer of status 200 to 299. */
    send: (request: SchedulerRequest) =>
      retries === 0
        ? sendOnce(request)
        : Effect.retry(sendOnce(request), {
            schedule: Schedule.upTo(BACKOFF, { times: retries }),
            while: (error) => mayRepeat(request, error),
          }),
    /** Opens an answer whose body comes bit by bit; it ends with the scope. */
    open: Effect.fnUntraced(function* (request: SchedulerRequest) {
      const toError = (failure: ExchangeFailed) => failureOf(request, failure)
      const { status, chunks } = yield* Effect.mapError(sendStreaming(exchangeOf(request)), toError)
      const body = Stream.mapError(chunks, toError)
      if (status !== 200) return yield* refused(request, status, yield* Stream.mkString(Stream.decodeText(body)))
      return body
    }),
    /** The error for a successful answer, or a part of one, that breaks a rule. */
    unreadable: (
      request: SchedulerRequest,
      { status, text }: Pick<ExchangeResponse, "status" | "text">,
      rule: string,
    ) => {
      const applied = request.method === "GET" ? "no" : "unknown"
      const body = mask.text(text).slice(0, LENGTH_MAX.unreadable)
      return new errors.UnreadableAnswer({ ...callOf(request), applied, status, body, rule })
    },
  }
})

/** A connection to one agent. */
export type AgentConnection = Effect.Success<ReturnType<typeof connect>>
