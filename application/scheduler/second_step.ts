import { Clock, Effect, Result } from "effect"
import type { SchedulerError } from "../../domain/scheduler/errors.ts"
import type { RestartRecord } from "../../domain/scheduler/restart_journal.ts"
import {
  afterFailure,
  afterFence,
  afterLook,
  afterSuccess,
  type MoveAfterTry,
  pauseAfter,
  RESTART_COUNTS,
  type RestartRules,
  waitUntilDue,
} from "../../domain/scheduler/restart_plan.ts"
import type { Pending } from "./first_step.ts"
import { type Entries, logRestart, monotonicMs } from "./restart_entry.ts"
import type { RestartRequests } from "./restart_requests.ts"

/** One turn of bringing a job back. */
interface Turn extends Pending {
  /** Number of the turn, from 1 on. */
  readonly turn: number
  /** When the first turn began, milliseconds of the monotonic clock. */
  readonly began: number
  /** True when the agent has just said that somebody changed the job since it was stopped. */
  readonly changed: boolean
}

/** The record once the job has left the index that the scale to 0 insists on: that one can only be refused from then on. */
const unguarded = ({ guardIndex: _, ...record }: RestartRecord): RestartRecord => record

/** What a turn came to. */
interface Outcome {
  readonly record: RestartRecord
  readonly move: MoveAfterTry
}

/** The scale to 1, in as many turns as it takes: look, decide, send. */
export const makeSecondStep = (parts: {
  readonly requests: RestartRequests
  readonly entries: Entries
  readonly rules: RestartRules
  /** How long after it was sent a scale to 0 may still take effect, milliseconds. */
  readonly settleMs: number
  /** Succeeds once the service is ending. */
  readonly ending: Effect.Effect<void>
}) => {
  const { requests, entries, rules, settleMs, ending } = parts

  /** Whether no scale to 0 can take effect any more. An agent that answered, in whatever way, is done with it. */
  const isSettled = ({ record, began }: Turn) =>
    record.state === "intent" ? Effect.map(monotonicMs, (now) => now - began >= settleMs) : Effect.succeed(true)

  /** One try. Nothing is sent, and there is no outcome, when another instance has taken the restart over. */
  const tryToStart = Effect.fnUntraced(function* ({ record, turn, began, changed }: Turn, settled: boolean) {
    const attempts = record.attempts + 1
    const starting: RestartRecord = { ...record, state: settled ? "starting" : "intent", attempts }
    if (!(yield* entries.keep(starting))) return undefined
    const stuck = yield* entries.stuckBefore(starting)
    // The agent compares when it acts: somebody may have changed the job since it was stopped, also after the look.
    const index = changed ? undefined : record.stopIndex
    const tried = yield* Effect.result(requests.scaleTo(starting, RESTART_COUNTS.start, index))
    if (Result.isSuccess(tried)) {
      yield* entries.settle(stuck)
      return { record: unguarded(starting), move: afterSuccess(settled) }
    }
    const { failure } = tried
    const waitedMs = (yield* monotonicMs) - began
    const move = afterFailure(failure, { settled, waitedMs, secondStep: rules.secondStep })
    if (move.move === "wait")
      yield* logRestart(turn === 1 ? "Error" : "Warn", record, "Restart: the job is not back yet", failure.message)
    return { record: starting, move }
  })

  /** Sees to it that a scale to 0 which was held up before it was sent can only be refused. Nothing is sent as above. */
  const fence = Effect.fnUntraced(function* ({ record, began }: Turn, count: number) {
    if (!(yield* entries.keep(record))) return undefined
    const tried = yield* Effect.result(requests.scaleTo(record, count, record.guardIndex))
    const move = afterFence(Result.isFailure(tried) ? tried.failure : undefined, (yield* monotonicMs) - began)
    const outcome: Outcome = { record: move.move === "watch" ? unguarded(record) : record, move }
    return outcome
  })

  /** Looks, unless the job was seen a moment ago, decides, and tries when it has to be brought back. */
  const take = Effect.fnUntraced(function* (turn: Turn, settled: boolean) {
    const { record, changed } = turn
    // A process that was stopped meanwhile wakes with an old picture.
    const isFresh = (yield* monotonicMs) - turn.began < rules.delayMs + rules.leaseMs
    const seen = (isFresh ? turn.seen : undefined) ?? (yield* requests.look(record))
    const move = afterLook(seen, { settled, unfenced: record.guardIndex !== undefined, changed })
    if (move.move === "start") return yield* tryToStart(turn, settled)
    if (move.move === "fence") return yield* fence(turn, move.count)
    const outcome: Outcome = { record, move }
    return outcome
  })

  /** The next turn, unless another instance has taken the restart over. An unsettled one is due once it is settled at the latest. */
  const later = Effect.fnUntraced(function* ({ turn, began }: Turn, record: RestartRecord, settled: boolean) {
    const left = settled ? Infinity : began + settleMs - (yield* monotonicMs)
    const dueAt = (yield* Clock.currentTimeMillis) + Math.max(1, Math.min(pauseAfter(turn), left))
    const next: Turn = { record: { ...record, dueAt }, turn: turn + 1, began, changed: false }
    return (yield* entries.keep(next.record)) ? next : undefined
  })

  /** Leaves the record in the journal for a person to look at; nobody tries any more. */
  const giveUp = Effect.fnUntraced(function* (record: RestartRecord, { message }: SchedulerError) {
    if (yield* entries.keep({ ...record, state: "stuck", lastError: message }))
      yield* logRestart("Error", record, "Restart is stuck: the job was not brought back", message)
  })

  const untilDue = ({ record }: Turn) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.sleep(waitUntilDue(record.dueAt, now, rules)))

  /** Does what a turn decided, the pause before the next one included; gives that one, if there is one. */
  const follow = Effect.fnUntraced(function* (turn: Turn, { record, move }: Outcome, settled: boolean) {
    switch (move.move) {
      case "over":
        yield* entries.forget(record)
        yield* logRestart("Info", record, `Restart is over: ${move.how}`)
        return undefined
      case "stuck":
        yield* giveUp(record, move.error)
        return undefined
      case "compare":
        return { record, turn: turn.turn, began: turn.began, changed: true }
      case "watch": {
        const next = yield* later(turn, record, settled)
        // Nobody waits for the end of a watch: the entry is there for the next start.
        return next && (yield* Effect.raceFirst(Effect.as(untilDue(next), next), Effect.as(ending, undefined)))
      }
      case "wait": {
        const state = record.state === "starting" ? "stopped" : record.state
        const next = yield* later(turn, { ...record, state, lastError: move.error.message }, settled)
        return next && (yield* Effect.as(untilDue(next), next))
      }
    }
  })

  /** Brings the job of a restart back, as often as the rules say, and watches it until no scale to 0 can come any more. */
  return Effect.fnUntraced(
    function* (pending: Pending) {
      const first: Turn = { ...pending, turn: 1, began: yield* monotonicMs, changed: false }
      yield* untilDue(first)
      for (let turn: Turn | undefined = first; turn !== undefined; ) {
        const settled: boolean = yield* isSettled(turn)
        const outcome: Outcome | undefined = yield* take(turn, settled)
        turn = outcome && (yield* follow(turn, outcome, settled))
      }
    },
    (running, { record }) =>
      Effect.onInterrupt(running, () =>
        logRestart("Warn", record, "Restart interrupted: what is left to do is left to the next start"),
      ),
  )
}
