import { Effect, Layer } from "effect"
import { checked } from "../../../domain/scheduler/checked_scheduler.ts"
import { ForeignAnswer, type InvalidSchedulerSetup } from "../../../domain/scheduler/errors.ts"
import { SchedulerPort, type Snapshot } from "../../../domain/scheduler/scheduler_port.ts"
import { connect, WRITE_TIMEOUT_MS } from "./agent_connection.ts"
import { eventsFrom } from "./event_stream.ts"
import type { HttpSchedulerOptions } from "./http_options.ts"
import * as answers from "./scheduler_answers.ts"
import * as requests from "./scheduler_requests.ts"

const make = Effect.fnUntraced(function* (options: HttpSchedulerOptions) {
  const agent = yield* connect(options)

  const read = Effect.fnUntraced(function* <A>(request: requests.SchedulerRequest, reader: answers.Reader<A>) {
    const answer = yield* agent.send(request)
    const reading = reader(answer.text)
    if ("rule" in reading) return yield* agent.unreadable(request, answer, reading.rule)
    const index = answers.readIndex(answer.headers.get("x-nomad-index"))
    const snapshot: Snapshot<A> = index === undefined ? reading : { ...reading, index }
    return snapshot
  })

  const readValue = <A>(request: requests.SchedulerRequest, reader: answers.Reader<A>) =>
    Effect.map(read(request, reader), ({ value }) => value)

  const change = Effect.fnUntraced(function* (request: requests.SchedulerRequest) {
    const receipt = yield* readValue(request, answers.readReceipt)
    if (receipt.warnings !== undefined)
      yield* Effect.logWarning(`The scheduler warns about ${request.operation}`, agent.mask(receipt.warnings))
    return receipt
  })

  return checked({
    endpoint: agent.endpoint,
    writeTimeoutMs: options.writeTimeoutMs ?? WRITE_TIMEOUT_MS,
    scaleGroup: options.scaleGroup,
    getDefinition: (at, poll) =>
      Effect.catchTag(read(requests.getDefinition(at, poll), answers.readDefinition), "SchedulerNotFound", (error) =>
        Effect.fail(requests.endsLikeARoute(at.jobId) ? new ForeignAnswer(error) : error),
      ),
    runJob: (definition, place) => change(requests.runJob(definition, place)),
    planJob: (definition, place) => readValue(requests.planJob(definition, place), answers.readPlan),
    scaleJob: (to) => change(requests.scaleJob(to)),
    deleteJob: (at) => change(requests.deleteJob(at)),
    scaleStatus: (at) => readValue(requests.scaleStatus(at), answers.readScaleStatus),
    allocationStats: (at) => readValue(requests.allocationStats(at), answers.readStats),
    getAllocations: (at, poll) => read(requests.getAllocations(at, poll), answers.readAllocations),
    clusterKeys: readValue(requests.clusterKeys, answers.readKeyIds),
    events: (subscription) => eventsFrom(agent, subscription),
  })
})

/**
 * The scheduler's agent over HTTP.
 *
 * @fails {InvalidSchedulerSetup} naming the option that can never work
 * @see specification 2.2 and 4.3; specification 13
 */
export const layer = (options: HttpSchedulerOptions): Layer.Layer<SchedulerPort, InvalidSchedulerSetup> =>
  Layer.effect(SchedulerPort, make(options))
