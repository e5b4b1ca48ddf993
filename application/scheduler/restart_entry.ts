import { Clock, Effect } from "effect"
import {
  isSettledBy,
  type Lease,
  type RestartJournal,
  type RestartRecord,
} from "../../domain/scheduler/restart_journal.ts"
import type { RestartRules } from "../../domain/scheduler/restart_plan.ts"
import type { StoreUnavailable } from "../../domain/store_unavailable.ts"

/** Milliseconds of a clock that nobody sets: for durations. */
export const monotonicMs = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos / 1_000_000n))

/** Logs a message about a restart. */
export const logRestart = (
  level: "Info" | "Warn" | "Error",
  record: RestartRecord,
  ...message: ReadonlyArray<string>
): Effect.Effect<void> =>
  Effect.annotateLogs(Effect.logWithLevel(level)(...message), {
    restart: record.id,
    jobId: record.jobId,
    region: record.region,
  })

/** How the steps of a restart write its entry in the journal, each time under a fresh lease. */
export const makeEntries = (parts: {
  readonly journal: RestartJournal["Service"]
  readonly rules: RestartRules
  /** Names this instance in the leases. */
  readonly owner: string
}) => {
  const { journal, rules, owner } = parts

  const underLease = <A>(write: (lease: Lease) => Effect.Effect<A, StoreUnavailable>) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => write({ owner, until: now + rules.leaseMs }))

  /** The journal may fail once the job is at 0; the job must come back all the same, so that is only logged. */
  const despiteJournal = <A>(label: string, fallback: A, write: Effect.Effect<A, StoreUnavailable>) =>
    Effect.catch(write, (error) =>
      Effect.as(Effect.logError(`Restart journal: cannot ${label}`, error.message), fallback),
    )

  return {
    /** Opens the entry; once more when that took longer than its lease, as others may have judged and closed it by then. */
    open: (record: RestartRecord) =>
      Effect.gen(function* () {
        const began = yield* monotonicMs
        yield* underLease((lease) => journal.open(record, lease))
        return (yield* monotonicMs) - began < rules.leaseMs
      }).pipe(Effect.repeat({ until: (inTime) => inTime }), Effect.asVoid),

    /** Writes the record. False when another instance has taken the restart over: then it is no longer ours. */
    keep: (record: RestartRecord) =>
      despiteJournal(
        "keep",
        true,
        underLease((lease) => journal.update(record, lease)),
      ),

    /**
     * Writes what the first step came to, also when another instance has taken the restart over meanwhile: that one cannot
     * know it, and may have judged that nothing was left to do. False when it was another's.
     *
     * @fails {StoreUnavailable} when nobody may know of the restart but this process
     */
    hold: (record: RestartRecord) =>
      underLease((lease) =>
        Effect.flatMap(journal.update(record, lease), (ours) =>
          ours ? Effect.succeed(true) : Effect.as(journal.open(record, lease), false),
        ),
      ),

    /** Removes the entry, when it is still ours. */
    forget: (record: RestartRecord) => Effect.asVoid(despiteJournal("close", true, journal.close(record.id, owner))),

    /** The stuck entries of the same job: once it is brought back they are settled. Later ones are not: they stopped it again. */
    stuckBefore: (record: RestartRecord) =>
      despiteJournal(
        "list",
        [],
        Effect.map(journal.list, (all) => all.filter((each) => isSettledBy(each, record)).map(({ id }) => id)),
      ),

    /** Removes stuck entries. */
    settle: (ids: ReadonlyArray<string>) => despiteJournal("settle", undefined, journal.settle(ids)),
  }
}

/** The entries of one instance. */
export type Entries = ReturnType<typeof makeEntries>
