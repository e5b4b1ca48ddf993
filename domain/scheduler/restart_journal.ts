import { Context, type Effect } from "effect"
import type { StoreUnavailable } from "../store_unavailable.ts"
import type { Integer } from "./job.ts"

/**
 * How far a restart has come.
 *
 * - `intent`: written before the first request. Whether the scale to 0 took effect, or still will, is not known.
 * - `stopped`: the agent has confirmed the scale to 0, and the job has to come back at `dueAt`.
 * - `starting`: the request that brings it back may be under way; no scale to 0 is.
 * - `stuck`: it could not be brought back and nobody tries any more; a person has to look.
 */
type RestartState = "intent" | "stopped" | "starting" | "stuck"

/** The cluster a restart belongs to. */
export interface ClusterAt {
  /** The agent's address, as {@link SchedulerPort} gives it. */
  readonly endpoint: string
  /** The cluster's names, as {@link SchedulerPort} gives them; absent or empty when the agent did not tell. */
  readonly cluster?: ReadonlyArray<string>
}

/** One unfinished restart. A finished one has no record. It holds no secret. */
export interface RestartRecord extends ClusterAt {
  readonly id: string
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
  /**
   * The job's modify index that the scale to 0 insists on; absent when it insists on none, and once it cannot come any more.
   * Whoever closes the entry sees to it first that the job has left this index.
   */
  readonly guardIndex?: Integer
  /** The job's modify index after it was scaled to 0. */
  readonly stopIndex?: Integer
  /** What the latest failed try ended with. */
  readonly lastError?: string
}

/**
 * True when both are the same cluster: they share a name, or, when the agent of one of them did not tell any, they have
 * the same address. The same address alone says nothing: every machine has a `localhost`.
 */
export const isSameCluster = (one: ClusterAt, other: ClusterAt): boolean => {
  const [names = [], others = []] = [one.cluster, other.cluster]
  return names.length === 0 || others.length === 0
    ? one.endpoint === other.endpoint
    : names.some((name) => others.includes(name))
}

/** The job and the group that a record is about, as one text. */
const restartedJob = ({ jobId, region, namespace, group }: RestartRecord): string =>
  JSON.stringify([jobId, region, namespace ?? null, group])

/** True for a stuck record whose job is the one that the other record is about: once that one is back, so is this. */
export const isSettledBy = (stuck: RestartRecord, restarted: RestartRecord): boolean =>
  stuck.state === "stuck" && restartedJob(stuck) === restartedJob(restarted) && isSameCluster(stuck, restarted)

/** Who works on a record, and until when that holds without being renewed. */
export interface Lease {
  readonly owner: string
  /** Milliseconds since 1970. */
  readonly until: number
}

/**
 * Driven port: what survives the process, so that no job stays at 0.
 *
 * Several instances may share one journal, also instances of different clusters. A record belongs to the owner of its
 * lease; only the owner's updates count, so an instance that slept through its lease finds out at its next one.
 */
export class RestartJournal extends Context.Service<
  RestartJournal,
  {
    /** True when other instances, or a later process, see the same records: then somebody has to look for abandoned ones. */
    readonly shared: boolean
    /**
     * Writes a record under the lease, durable when this succeeds. A record of the same id is replaced whoever has it:
     * the writer knows more about this restart than the one who took it over.
     */
    readonly open: (record: RestartRecord, lease: Lease) => Effect.Effect<void, StoreUnavailable>
    /** Replaces the record and renews its lease. False, and nothing is written, when the lease belongs to another. */
    readonly update: (record: RestartRecord, lease: Lease) => Effect.Effect<boolean, StoreUnavailable>
    /** Removes the record. False when the lease belongs to another. */
    readonly close: (id: string, owner: string) => Effect.Effect<boolean, StoreUnavailable>
    /** Renews the lease of a record, when it is still this owner's. */
    readonly renew: (id: string, lease: Lease) => Effect.Effect<void, StoreUnavailable>
    /** Gives all records of this owner back, so that the next instance need not wait. */
    readonly release: (owner: string) => Effect.Effect<void, StoreUnavailable>
    /** Takes every record of this cluster that is neither stuck, nor this owner's already, nor leased at `now`. No two owners get the same one. */
    readonly claim: (
      at: ClusterAt,
      now: number,
      lease: Lease,
    ) => Effect.Effect<ReadonlyArray<RestartRecord>, StoreUnavailable>
    /** Removes those of the records that are stuck: a later restart has brought their job back. */
    readonly settle: (ids: ReadonlyArray<string>) => Effect.Effect<void, StoreUnavailable>
    /** Every unfinished restart of every cluster, oldest first. */
    readonly list: Effect.Effect<ReadonlyArray<RestartRecord>, StoreUnavailable>
  }
>()("portolan/domain/scheduler/RestartJournal") {}
