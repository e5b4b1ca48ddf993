import { Context, type Effect, type Stream } from "effect"
import type { NomadAllocations } from "./allocation.ts"
import type { SchedulerError } from "./errors.ts"
import type { Integer, JobAt, JobDefinition, JobPlan, JobReceipt, ScaleStatus } from "./job.ts"
import type { ResourceUsage } from "./resource_usage.ts"

/** Where something is, for calls that name no job. */
export type Place = Omit<JobAt, "jobId">

/** Where an allocation is. */
export type AllocationAt = Place & { readonly allocationId: string }

/** Where a node is. */
export type NodeAt = Place & { readonly nodeId: string }

/** A scaling of one task group to `count`, 0 to 2^53-1. */
export interface JobScaling extends JobAt {
  readonly group: string
  readonly count: number
  /** Only when the job is still at this modify index (agents from 1.8.2 on). */
  readonly ifIndex?: Integer
}

/** A deletion of a job; with `purge` it is forgotten at once, else it stays as a stopped one for a while. */
export interface JobDeletion extends JobAt {
  readonly purge: boolean
}

/** Waits on the agent's side until something newer than `index` is there, or `waitMs` has passed. */
export interface BlockingQuery {
  readonly index: Integer
  /** 0..240000 milliseconds; the agent may add a sixteenth. */
  readonly waitMs: number
}

/** A value and the index it was read at, which the next blocking query waits on. */
export interface Snapshot<A> {
  readonly value: A
  readonly index?: Integer
}

/** What happened at one index. `Events` are open objects with `Topic`, `Type`, `Key` and `Payload`. */
export interface EventBatch {
  readonly Index: Integer
  readonly Events: ReadonlyArray<Readonly<Record<string, unknown>>>
}

/** Which events, from where on. */
export interface EventSubscription extends Place {
  /** As `Job:web` or `Deployment`; none means every topic. */
  readonly topics: ReadonlyArray<string>
  /** First index of interest; 0 or absent means from now on. */
  readonly index?: Integer
}

/**
 * Driven port: the scheduler's agent. One call is one request; nothing is repeated unless the adapter was told to.
 *
 * @see specification 4.3
 */
export class SchedulerPort extends Context.Service<
  SchedulerPort,
  {
    /** The agent's address, as the restart journal keeps it; holds no secret. */
    readonly endpoint: string
    /** How long a change may take before its caller gives up, milliseconds. The agent may carry it out even later. */
    readonly writeTimeoutMs: number
    /** Task group that scaling and restarting target (specification 4.3 rule 1). */
    readonly scaleGroup: string
    readonly getDefinition: (at: JobAt, poll?: BlockingQuery) => Effect.Effect<Snapshot<JobDefinition>, SchedulerError>
    readonly runJob: (definition: JobDefinition, place: Place) => Effect.Effect<JobReceipt, SchedulerError>
    readonly planJob: (definition: JobDefinition, place: Place) => Effect.Effect<JobPlan, SchedulerError>
    readonly scaleJob: (to: JobScaling) => Effect.Effect<JobReceipt, SchedulerError>
    readonly deleteJob: (at: JobDeletion) => Effect.Effect<JobReceipt, SchedulerError>
    readonly scaleStatus: (at: JobAt) => Effect.Effect<ScaleStatus, SchedulerError>
    readonly allocationStats: (at: AllocationAt) => Effect.Effect<ResourceUsage, SchedulerError>
    readonly getAllocations: (
      at: NodeAt,
      poll?: BlockingQuery,
    ) => Effect.Effect<Snapshot<NomadAllocations>, SchedulerError>
    /**
     * Names of the agent's cluster, whatever address leads to it: two agents that share a name are of one cluster. None
     * when the agent does not tell.
     */
    readonly clusterKeys: Effect.Effect<ReadonlyArray<string>, SchedulerError>
    /** Endless; connects again from the last index when the connection breaks. */
    readonly events: (subscription: EventSubscription) => Stream.Stream<EventBatch, SchedulerError>
  }
>()("portolan/domain/scheduler/SchedulerPort") {}
