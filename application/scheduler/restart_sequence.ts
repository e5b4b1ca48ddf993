import { Clock, Effect, Result } from "effect"
import type { SchedulerError } from "../../domain/scheduler/errors.ts"
import { groupCount, type Integer } from "../../domain/scheduler/job.ts"
import type { RestartJournal, RestartRecord } from "../../domain/scheduler/restart_journal.ts"
import {
  afterFailure,
  mayHaveStopped,
  pauseAfter,
  RESTART_COUNTS,
  type RestartRules,
} from "../../domain/scheduler/restart_plan.ts"
import type { SchedulerPort } from "../../domain/scheduler/scheduler_port.ts"
import type { StoreUnavailable } from "../../domain/store_unavailable.ts"

/** What the steps of a restart work with. */
export interface RestartParts {
  readonly scheduler: SchedulerPort["Service"]
  readonly journal: RestartJournal["Service"]
  readonly rules: RestartRules
  /** Names this instance in the leases. */
  readonly owner: string
}

/** How the job of a record stands, as its definition tells. */
type Standing =
  | { readonly is: "waiting"; readonly modifyIndex?: Integer }
  | { readonly is: "running" }
  | { readonly is: "gone" }

/** The steps of one restart. Each of them leaves the journal true before it lets go. */
export const makeSteps = ({ scheduler, journal, rules, owner }: RestartParts) => {
  const lease = Effect.map(Clock.currentTimeMillis, (now) => ({ owner, until: now + rules.leaseMs }))
  const about = (record: RestartRecord) => ({ restart: record.id, jobId: record.jobId, region: record.region })

  /** The journal may fail once a step is done; the job must come back all the same, so that is only logged. */
  const despiteJournal = <A>(label: string, fallback: A, write: Effect.Effect<A, StoreUnavailable>) =>
    Effect.catch(write, (error) =>
      Effect.as(Effect.logError(`Restart journal: cannot ${label}`, error.message), fallback),
    )

  /** False when another instance has taken the restart over. */
  const keep = Effect.fnUntraced(function* (record: RestartRecord) {
    return yield* despiteJournal("keep", true, journal.update(record, yield* lease))
  })
  const forget = (record: RestartRecord) => despiteJournal("close", true, journal.close(record.id, owner))

  const scaleTo = (record: RestartRecord, count: number) =>
    scheduler.scaleJob({
      jobId: record.jobId,
      region: record.region,
      group: record.group,
      count,
      ...(record.namespace === undefined ? {} : { namespace: record.namespace }),
      ...(count === RESTART_COUNTS.start && rules.guard && record.stopIndex !== undefined
        ? { ifIndex: record.stopIndex }
        : {}),
    })

  const look = (record: RestartRecord): Effect.Effect<Standing, SchedulerError> =>
    scheduler.getDefinition(record).pipe(
      Effect.map(({ value: job }): Standing => {
        const count = groupCount(job, record.group)
        if (job.Stop === true || count === undefined) return { is: "gone" }
        if (count > 0) return { is: "running" }
        return job.JobModifyIndex === undefined ? { is: "waiting" } : { is: "waiting", modifyIndex: job.JobModifyIndex }
      }),
      Effect.catchTag("SchedulerNotFound", () => Effect.succeed<Standing>({ is: "gone" })),
    )

  const stopped = Effect.fnUntraced(function* (record: RestartRecord, stopIndex: Integer | undefined, delayMs: number) {
    const dueAt = (yield* Clock.currentTimeMillis) + delayMs
    const next: RestartRecord = {
      ...record,
      state: "stopped",
      dueAt,
      ...(stopIndex === undefined ? {} : { stopIndex }),
    }
    yield* keep(next)
    return next
  })

  /** Somebody has to look at it: it stays in the journal, and nobody tries any more. */
  const giveUp = Effect.fnUntraced(function* (record: RestartRecord, error: SchedulerError) {
    yield* keep({ ...record, state: "stuck", lastError: error.message })
    yield* Effect.annotateLogs(
      Effect.logError("Restart is stuck: the job was not brought back", error.message),
      about(record),
    )
  })

  const finished = Effect.fnUntraced(function* (record: RestartRecord, how: string) {
    yield* forget(record)
    yield* Effect.annotateLogs(Effect.logInfo(`Restart is over: ${how}`), about(record))
  })

  /** After a failed try: the record to go on with, or nothing when it is over. */
  const afterFailedTry = Effect.fnUntraced(function* (record: RestartRecord, error: SchedulerError, sinceMs: number) {
    const now = yield* Clock.currentTimeMillis
    const verdict = afterFailure(error, now - sinceMs)
    if (verdict === "superseded") return yield* finished(record, "the job is gone")
    if (verdict === "stuck" || rules.secondStep === "literal") return yield* giveUp(record, error)
    if (verdict === "compare") {
      const standing = yield* Effect.result(look(record))
      if (Result.isSuccess(standing)) {
        if (standing.success.is !== "waiting") return yield* finished(record, "somebody else changed the job meanwhile")
        return yield* stopped({ ...record, lastError: error.message }, standing.success.modifyIndex, 0)
      }
    }
    const log = record.attempts === 1 ? Effect.logError : Effect.logWarning
    yield* Effect.annotateLogs(log("Restart: the job was not brought back yet", error.message), about(record))
    return yield* stopped({ ...record, lastError: error.message }, record.stopIndex, pauseAfter(record.attempts))
  })

  /** Brings a stopped job back, as often as the rules say. */
  const finish = Effect.fnUntraced(
    function* (record: RestartRecord) {
      const sinceMs = record.dueAt
      let current: RestartRecord | undefined = record
      while (current !== undefined) {
        yield* Effect.sleep(Math.max(0, current.dueAt - (yield* Clock.currentTimeMillis)))
        const starting: RestartRecord = { ...current, state: "starting", attempts: current.attempts + 1 }
        if (!(yield* keep(starting))) return
        const tried = yield* Effect.result(scaleTo(starting, RESTART_COUNTS.start))
        if (Result.isSuccess(tried)) {
          yield* despiteJournal("settle", undefined, journal.settle(starting))
          return yield* finished(starting, "the job is back")
        }
        current = (yield* afterFailedTry(starting, tried.failure, sinceMs)) ?? undefined
      }
    },
    (running, record) =>
      Effect.onInterrupt(running, () =>
        Effect.annotateLogs(
          Effect.logWarning("Restart interrupted: the job is left at 0 for the next start"),
          about(record),
        ),
      ),
  )

  /** Finds out how an interrupted restart's job stands, however long that takes, and finishes what is left to do. */
  const resume = Effect.fnUntraced(function* (record: RestartRecord) {
    for (let looks = 1; ; looks++) {
      const standing = yield* Effect.result(look(record))
      if (Result.isSuccess(standing)) {
        if (standing.success.is === "gone") return yield* finished(record, "the job is gone")
        if (standing.success.is === "running") return yield* finished(record, "the job already runs")
        const dueIn = Math.max(0, record.state === "stopped" ? record.dueAt - (yield* Clock.currentTimeMillis) : 0)
        return yield* finish(yield* stopped(record, standing.success.modifyIndex, dueIn))
      }
      if (afterFailure(standing.failure, 0) !== "retry") return yield* giveUp(record, standing.failure)
      yield* Effect.sleep(pauseAfter(looks))
      if (!(yield* keep({ ...record, lastError: standing.failure.message }))) return
    }
  })

  /**
   * The first step. Gives the record to finish, or fails with the first step's own error.
   *
   * @param later called with a record nobody could look at: the job may be at 0
   * @fails {RestartError}
   */
  const begin = Effect.fnUntraced(function* (
    record: RestartRecord,
    later: (record: RestartRecord) => Effect.Effect<void>,
  ) {
    yield* journal.open(record, yield* lease)
    const first = yield* Effect.result(scaleTo(record, RESTART_COUNTS.stop))
    if (Result.isSuccess(first)) return yield* stopped(record, first.success.jobModifyIndex, rules.delayMs)
    const error = first.failure
    if (!mayHaveStopped(error)) {
      yield* forget(record)
      return yield* error
    }
    const standing = yield* Effect.result(look(record))
    if (Result.isFailure(standing)) yield* later(record)
    else if (standing.success.is === "waiting")
      return yield* stopped(record, standing.success.modifyIndex, rules.delayMs)
    else yield* forget(record)
    return yield* error
  })

  return { begin, finish, resume }
}
