import { Effect } from "effect"
import type { JobAt, JobDefinition } from "../../domain/scheduler/job.ts"
import {
  type AllocationAt,
  type BlockingQuery,
  type JobDeletion,
  type JobScaling,
  type NodeAt,
  type Place,
  SchedulerPort,
} from "../../domain/scheduler/scheduler_port.ts"
import { Restarts } from "./restarts.ts"

// The scheduler's use cases on one page (specification 4.3). Every one but the restart is one request to the agent, and fails with
// SchedulerError alone.

const ask = <A, E>(call: (scheduler: SchedulerPort["Service"]) => Effect.Effect<A, E>) =>
  Effect.flatMap(SchedulerPort, call)

/** The definition of a job. */
export const getDefinition = (at: JobAt) =>
  ask((scheduler) => Effect.map(scheduler.getDefinition(at), ({ value }) => value))

/** The definition once it is newer than the index, with its own; the same one when nothing happened in time. */
export const pollDefinition = (at: JobAt, poll: BlockingQuery) => ask((scheduler) => scheduler.getDefinition(at, poll))

/** Registers a job, or changes the one of the same id. */
export const runJob = (definition: JobDefinition, place: Place) =>
  ask((scheduler) => scheduler.runJob(definition, place))

/** What running the definition would change; nothing does. */
export const planJob = (definition: JobDefinition, place: Place) =>
  ask((scheduler) => scheduler.planJob(definition, place))

/** Scales the configured group (specification 4.3 rule 1). */
export const scaleJob = (to: Omit<JobScaling, "group">) =>
  ask((scheduler) => scheduler.scaleJob({ ...to, group: scheduler.scaleGroup }))

/** Scales the configured group to 0, and one second later to 1; gives the restart's id. Fails with the {@link RestartError} of the first step alone. */
export const restartJob = (job: JobAt) => Effect.flatMap(Restarts, ({ restart }) => restart(job))

/** Restarts of every cluster that are pending or stuck, oldest first. */
export const unfinishedRestarts = Effect.flatMap(Restarts, ({ unfinished }) => unfinished)

/** Stops a job; with `purge` it is also forgotten. An unknown job is no error: for the agent it is deleted already. */
export const deleteJob = (at: JobDeletion) => ask((scheduler) => scheduler.deleteJob(at))

/** What an allocation uses now. */
export const allocationStats = (at: AllocationAt) => ask((scheduler) => scheduler.allocationStats(at))

/** The allocations of a node. An unknown node is no error: the agent answers with an empty list. */
export const getAllocations = (at: NodeAt) =>
  ask((scheduler) => Effect.map(scheduler.getAllocations(at), ({ value }) => value))

/** The node's allocations once something is newer than the index, with its own. */
export const pollAllocations = (at: NodeAt, poll: BlockingQuery) =>
  ask((scheduler) => scheduler.getAllocations(at, poll))
