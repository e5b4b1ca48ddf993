import { Effect } from "effect"
import type { Integer, JobAt, JobDefinition } from "../../domain/scheduler/job.ts"
import { type BlockingQuery, type Place, SchedulerPort } from "../../domain/scheduler/scheduler_port.ts"
import { Restarts } from "./restarts.ts"

// The scheduler's use cases on one page (seed 4.3). Every one but the restart is one request.

/** @fails {SchedulerError} */
export const getDefinition = Effect.fn("getDefinition")(function* (at: JobAt) {
  return (yield* (yield* SchedulerPort).getDefinition(at)).value
})

/** The definition once it is newer than the index, with its own; the same one when nothing happened in time. */
export const pollDefinition = Effect.fn("pollDefinition")(function* (at: JobAt, poll: BlockingQuery) {
  return yield* (yield* SchedulerPort).getDefinition(at, poll)
})

/** @fails {SchedulerError} */
export const runJob = Effect.fn("runJob")(function* (definition: JobDefinition, place: Place) {
  return yield* (yield* SchedulerPort).runJob(definition, place)
})

/** What running the definition would change; nothing does. */
export const planJob = Effect.fn("planJob")(function* (definition: JobDefinition, place: Place) {
  return yield* (yield* SchedulerPort).planJob(definition, place)
})

/** Scales the configured group (seed 4.3 rule 1). */
export const scaleJob = Effect.fn("scaleJob")(function* (
  to: JobAt & { readonly count: number; readonly ifIndex?: Integer },
) {
  const scheduler = yield* SchedulerPort
  return yield* scheduler.scaleJob({ ...to, group: scheduler.scaleGroup })
})

/** @fails {RestartError} of the first step alone */
export const restartJob = Effect.fnUntraced(function* (job: JobAt) {
  yield* (yield* Restarts).restart(job)
})

/** Restarts that are pending or stuck, oldest first. */
export const unfinishedRestarts = Effect.fnUntraced(function* () {
  return yield* (yield* Restarts).unfinished
})

/** @fails {SchedulerError} never because the job is unknown: the agent calls that done */
export const deleteJob = Effect.fn("deleteJob")(function* (at: JobAt & { readonly purge: boolean }) {
  return yield* (yield* SchedulerPort).deleteJob(at)
})

/** @fails {SchedulerError} */
export const allocationStats = Effect.fn("allocationStats")(function* (at: Place & { readonly allocationId: string }) {
  return yield* (yield* SchedulerPort).allocationStats(at)
})

/** @fails {SchedulerError} never because the node is unknown: the agent answers with an empty list */
export const getAllocations = Effect.fn("getAllocations")(function* (at: Place & { readonly nodeId: string }) {
  return (yield* (yield* SchedulerPort).getAllocations(at)).value
})

/** The node's allocations once something is newer than the index, with its own. */
export const pollAllocations = Effect.fn("pollAllocations")(function* (
  at: Place & { readonly nodeId: string },
  poll: BlockingQuery,
) {
  return yield* (yield* SchedulerPort).getAllocations(at, poll)
})
