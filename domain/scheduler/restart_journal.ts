import { Context, type Effect } from "effect"
import type { StoreUnavailable } from "../store_unavailable.ts"
import type { Integer } from "./job.ts"

/**
 * How far a restart has come.
 *
 * - `intent`: written before the first request; whether the job is at 0 is not known.
 * - `stopped`: the job is at 0 and has to come back at `dueAt`.
 * - `starting`: the request that brings it back may be under way.
 * - `stuck`: it could not be brought back and nobody tries any more; a person has to look.
 */
type RestartState = "intent" | "stopped" | "starting" | "stuck"

/** One unfinished restart. A finished one has no record. It holds no secret. */
export interface RestartRecord {
  readonly id: string
  /** The agent, as {@link SchedulerPort} names it. */
  readonly endpoint: string
  readonly jobId: string
  readonly region: string
  readonly namespace?: string
  readonly group: string
  readonly state: RestartState
  /** Milliseconds since 1970, as every time of a record. */
  readonly createdAt: number
  /** When the next request is due. */
  readonly dueAt: number
  /** Tries to bring the job back so far. */
  readonly attempts: number
  /** The job's modify index after it was scaled to 0. */
  readonly stopIndex?: Integer
  /** What the latest failed try ended with. */
  readonly lastError?: string
}

/** The job and the group that a record is about, as one text: a later restart of the same settles the stuck ones. */
export const restartedJob = ({ jobId, region, namespace, group }: RestartRecord): string =>
  JSON.stringify([jobId, region, namespace ?? null, group])

/** Who works on a record, and until when that holds without being renewed. */
export interface Lease {
  readonly owner: string
  /** Milliseconds since 1970. */
  readonly until: number
}

/**
 * Driven port: what survives the process, so that no job stays at 0.
 *
 * Several instances may share one journal. A record belongs to the owner of its lease; only the owner's writes count, so
 * an instance that slept through its lease finds out at its next write, before it sends anything.
 */
export class RestartJournal extends Context.Service<
  RestartJournal,
  {
    /** True when other instances, or a later process, see the same records: then somebody has to look for abandoned ones. */
    readonly shared: boolean
    /** Adds a record under the lease; it is durable when this succeeds. */
    readonly open: (record: RestartRecord, lease: Lease) => Effect.Effect<void, StoreUnavailable>
    /** Replaces the record and renews its lease. False, and nothing is written, when the lease belongs to another. */
    readonly update: (record: RestartRecord, lease: Lease) => Effect.Effect<boolean, StoreUnavailable>
    /** Removes the record. False when the lease belongs to another. */
    readonly close: (id: string, owner: string) => Effect.Effect<boolean, StoreUnavailable>
    /** Renews the lease of a record, when it is still this owner's. */
    readonly renew: (id: string, lease: Lease) => Effect.Effect<void, StoreUnavailable>
    /** Gives all records of this owner back, so that the next instance need not wait. */
    readonly release: (owner: string) => Effect.Effect<void, StoreUnavailable>
    /** Takes every record of this endpoint that is neither stuck, nor this owner's already, nor leased at `now`. No two owners get the same one. */
    readonly claim: (
      endpoint: string,
      now: number,
      lease: Lease,
    ) => Effect.Effect<ReadonlyArray<RestartRecord>, StoreUnavailable>
    /** Removes the stuck records of the same job and group: a later restart has brought it back. */
    readonly settle: (restarted: RestartRecord) => Effect.Effect<void, StoreUnavailable>
    /** Every unfinished restart of this endpoint, oldest first. */
    readonly list: (endpoint: string) => Effect.Effect<ReadonlyArray<RestartRecord>, StoreUnavailable>
  }
>()("portolan/domain/scheduler/RestartJournal") {}
