import { Clock, Effect, Exit, Result } from "effect"
import type { RestartError, SchedulerError } from "../../domain/scheduler/errors.ts"
import type { Integer } from "../../domain/scheduler/job.ts"
import type { RestartRecord } from "../../domain/scheduler/restart_journal.ts"
import {
  FIRST_STEP_TRIES,
  isAtZero,
  mayHaveStopped,
  pauseAfter,
  RESTART_COUNTS,
  type RestartRules,
  type Sight,
} from "../../domain/scheduler/restart_plan.ts"
import { type Entries, monotonicMs } from "./restart_entry.ts"
import type { RestartRequests } from "./restart_requests.ts"

/** A restart whose job may have to be brought back. */
export interface Pending {
  readonly record: RestartRecord
  /** What was seen of the job a moment ago; absent when it has to be looked at first. */
  readonly seen?: Sight
}

/** How the first step ended. */
export interface FirstStep {
  /** What the caller is told: success only for a restart that the journal holds. */
  readonly answer: Exit.Exit<void, RestartError>
  /** What is left to do behind the caller. */
  readonly left?: Pending
}

const AT_ZERO: Sight = { count: RESTART_COUNTS.stop, stopped: false }

/** The scale to 0, from the intent in the journal to what came of it. */
export const makeFirstStep = (parts: {
  readonly requests: RestartRequests
  readonly entries: Entries
  readonly rules: RestartRules
  /** True when others may judge the entry: then the scale to 0 insists on the job's index, which they can change. */
  readonly judgedByOthers: boolean
}) => {
  const { requests, entries, rules, judgedByOthers } = parts

  const dueIn = (delayMs: number) => Effect.map(Clock.currentTimeMillis, (now) => now + delayMs)

  /** The agent confirmed it, `tookMs` milliseconds after it was asked. */
  const confirmed = Effect.fnUntraced(function* (
    record: RestartRecord,
    stopIndex: Integer | undefined,
    tookMs: number,
  ) {
    const known = stopIndex === undefined ? {} : { stopIndex }
    const next: RestartRecord = { ...record, ...known, state: "stopped", dueAt: yield* dueIn(rules.delayMs) }
    const held = yield* Effect.exit(entries.hold(next))
    // Whoever had the entry meanwhile may have brought the job back already; and what took long may be long ago.
    const isFresh = Exit.isSuccess(held) && held.value && tookMs < rules.leaseMs
    const step: FirstStep = {
      answer: Exit.asVoid(held),
      left: isFresh ? { record: next, seen: AT_ZERO } : { record: next },
    }
    return step
  })

  /** It may have taken effect, or still may. For the caller it has when the job is seen at 0; it is watched anyway. */
  const unclear = Effect.fnUntraced(function* (record: RestartRecord, error: SchedulerError) {
    const seen = yield* requests.look(record)
    const stopped = isAtZero(seen)
    const dueAt = yield* dueIn(stopped ? rules.delayMs : pauseAfter(1))
    const next: RestartRecord = { ...record, dueAt, lastError: error.message }
    const held = Exit.asVoid(yield* Effect.exit(entries.hold(next)))
    const step: FirstStep = stopped
      ? { answer: held, left: { record: next, seen } }
      : { answer: Exit.fail(error), left: { record: next } }
    return step
  })

  const refused = Effect.fnUntraced(function* (record: RestartRecord, error: SchedulerError) {
    yield* entries.forget(record)
    const step: FirstStep = { answer: Exit.fail(error) }
    return step
  })

  /**
   * Scales to 0. The entry names the index before the request that insists on it is sent: whoever closes the entry while this
   * process is stopped in between changes that index, and the request, whenever it comes, is refused. Then nothing was done,
   * and the job is looked at again.
   *
   * @fails {StoreUnavailable} when the entry cannot be opened; then nothing was sent
   */
  return Effect.fnUntraced(function* (asked: RestartRecord) {
    for (let tries = 1; ; tries++) {
      const index = yield* Effect.result(judgedByOthers ? requests.indexOf(asked) : Effect.undefined)
      if (Result.isFailure(index)) return yield* refused(asked, index.failure)
      const record = index.success === undefined ? asked : { ...asked, guardIndex: index.success }
      yield* entries.open(record)
      const sent = yield* monotonicMs
      const first = yield* Effect.result(requests.scaleTo(record, RESTART_COUNTS.stop, record.guardIndex))
      const tookMs = (yield* monotonicMs) - sent
      if (Result.isSuccess(first)) return yield* confirmed(asked, first.success.jobModifyIndex, tookMs)
      if (first.failure._tag === "JobIndexConflict" && tries < FIRST_STEP_TRIES) continue
      if (mayHaveStopped(first.failure)) return yield* unclear(record, first.failure)
      return yield* refused(record, first.failure)
    }
  })
}
