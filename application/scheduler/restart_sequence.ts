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

/** How the job of a record stands: `waiting` is at 0, and its index lets the second step insist that it stays so. */
interface Standing {
  readonly is: "waiting" | "running" | "gone"
  readonly modifyIndex?: Integer | undefined
}

/** The steps of one restart. Whatever a step did is in the journal when the step ends. */
export const makeSteps = ({ scheduler, journal, rules, owner }: RestartParts) => {
  const lease = Effect.map(Clock.currentTimeMillis, (now) => ({ owner, until: now + rules.leaseMs }))

  const log = (level: "Info" | "Warn" | "Error", record: RestartRecord, ...message: ReadonlyArray<string>) =>
    Effect.annotateLogs(Effect.logWithLevel(level)(...message), {
      restart: record.id,
      jobId: record.jobId,
      region: record.region,
    })

  /** The journal may fail once the job is at 0; the job must come back all the same, so that is only logged. */
  const despiteJournal = <A>(label: string, fallback: A, write: Effect.Effect<A, StoreUnavailable>) =>
    Effect.catch(write, (error) =>
      Effect.as(Effect.logError(`Restart journal: cannot ${label}`, error.message), fallback),
    )

  /** Writes the record. False when another instance has taken the restart over. */
  const keep = (record: RestartRecord) =>
    Effect.flatMap(lease, (renewed) => despiteJournal("keep", true, journal.update(record, renewed)))

  const forget = (record: RestartRecord) => despiteJournal("close", true, journal.close(record.id, owner))

  const finished = (record: RestartRecord, how: string) =>
    Effect.andThen(forget(record), log("Info", record, `Restart is over: ${how}`))

  /** Leaves the record in the journal for a person to look at; nobody tries any more. */
  const giveUp = (record: RestartRecord, error: SchedulerError) =>
    Effect.andThen(
      keep({ ...record, state: "stuck", lastError: error.message }),
      log("Error", record, "Restart is stuck: the job was not brought back", error.message),
    )

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
        return count > 0 ? { is: "running" } : { is: "waiting", modifyIndex: job.JobModifyIndex }
      }),
      Effect.catchTag("SchedulerNotFound", () => Effect.succeed<Standing>({ is: "gone" })),
    )

  /** Writes that the job is at 0 since `stopIndex`, and gives the record of the second step, due in `delayMs`. */
  const stopped = Effect.fnUntraced(function* (record: RestartRecord, stopIndex: Integer | undefined, delayMs: number) {
    const dueAt = (yield* Clock.currentTimeMillis) + delayMs
    const known = stopIndex === undefined ? {} : { stopIndex }
    const next: RestartRecord = { ...record, ...known, state: "stopped", dueAt }
    yield* keep(next)
    return next
  })

  /** After a failed try of the second step: the record of the next try, or `undefined` when there is none. */
  const afterFailedTry = Effect.fnUntraced(function* (record: RestartRecord, error: SchedulerError, sinceMs: number) {
    const failed = { ...record, lastError: error.message }
    const verdict = afterFailure(error, (yield* Clock.currentTimeMillis) - sinceMs)
    if (verdict === "superseded") return yield* Effect.as(finished(record, "the job is gone"), undefined)
    if (verdict === "stuck" || rules.secondStep === "literal") return yield* Effect.as(giveUp(record, error), undefined)
    if (verdict === "compare") {
      const standing = yield* Effect.result(look(record))
      if (Result.isSuccess(standing) && standing.success.is === "waiting")
        return yield* stopped(failed, standing.success.modifyIndex, 0)
      if (Result.isSuccess(standing))
        return yield* Effect.as(finished(record, "somebody else changed the job meanwhile"), undefined)
    }
    const level = record.attempts === 1 ? "Error" : "Warn"
    yield* log(level, record, "Restart: the job was not brought back yet", error.message)
    return yield* stopped(failed, undefined, pauseAfter(record.attempts))
  })

  /** One try of the second step, when it is due: the record of the next try, or `undefined` when there is none. */
  const tryToStart = Effect.fnUntraced(function* (record: RestartRecord, sinceMs: number) {
    yield* Effect.sleep(Math.max(0, record.dueAt - (yield* Clock.currentTimeMillis)))
    const starting: RestartRecord = { ...record, state: "starting", attempts: record.attempts + 1 }
    if (!(yield* keep(starting))) return undefined
    const tried = yield* Effect.result(scaleTo(starting, RESTART_COUNTS.start))
    if (Result.isFailure(tried)) return yield* afterFailedTry(starting, tried.failure, sinceMs)
    yield* despiteJournal("settle", undefined, journal.settle(starting))
    return yield* Effect.as(finished(starting, "the job is back"), undefined)
  })

  /** Brings a stopped job back, as often as the rules say. */
  const finish = Effect.fnUntraced(
    function* (record: RestartRecord) {
      let next: RestartRecord | undefined = record
      while (next !== undefined) next = yield* tryToStart(next, record.dueAt)
    },
    (running, record) =>
      Effect.onInterrupt(running, () =>
        log("Warn", record, "Restart interrupted: the job is left at 0 for the next start"),
      ),
  )

  /** Finds out how an interrupted restart's job stands, however long that takes, and finishes what is left to do. */
  const resume = Effect.fnUntraced(function* (record: RestartRecord) {
    for (let looks = 1; ; looks++) {
      const standing = yield* Effect.result(look(record))
      if (Result.isSuccess(standing)) {
        if (standing.success.is === "gone") return yield* finished(record, "the job is gone")
        if (standing.success.is === "running") return yield* finished(record, "the job already runs")
        const dueIn = record.state === "stopped" ? record.dueAt - (yield* Clock.currentTimeMillis) : 0
        return yield* finish(yield* stopped(record, standing.success.modifyIndex, Math.max(0, dueIn)))
      }
      if (afterFailure(standing.failure, 0) !== "retry") return yield* giveUp(record, standing.failure)
      yield* Effect.sleep(pauseAfter(looks))
      if (!(yield* keep({ ...record, lastError: standing.failure.message }))) return
    }
  })

  /**
   * The first step. Gives the record to finish.
   *
   * @param later called with a record nobody could look at: the job may be at 0
   * @fails {RestartError} with the first step's own error
   */
  const begin = Effect.fnUntraced(function* (
    record: RestartRecord,
    later: (record: RestartRecord) => Effect.Effect<void>,
  ) {
    yield* journal.open(record, yield* lease)
    const first = yield* Effect.result(scaleTo(record, RESTART_COUNTS.stop))
    if (Result.isSuccess(first)) return yield* stopped(record, first.success.jobModifyIndex, rules.delayMs)
    const standing = mayHaveStopped(first.failure) ? yield* Effect.result(look(record)) : undefined
    if (standing !== undefined && Result.isFailure(standing)) yield* later(record)
    else if (standing?.success.is === "waiting")
      return yield* stopped(record, standing.success.modifyIndex, rules.delayMs)
    else yield* forget(record)
    return yield* first.failure
  })

  return { begin, finish, resume }
}
