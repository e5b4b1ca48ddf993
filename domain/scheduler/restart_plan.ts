import { isPassing, type RestartError, type SchedulerError } from "./errors.ts"
import type { ScaleStatus } from "./job.ts"

/** Pause between the scale to 0 and the scale to 1 (specification 8). */
const RESTART_DELAY_MS = 1000

/** The two scalings of a restart (specification 4.3). */
export const RESTART_COUNTS = { stop: 0, start: 1 } as const

/** How a restart behaves beyond specification 4.3. */
export interface RestartRules {
  /** Pause between the two steps in milliseconds, {@link RESTART_DELAY_MS}. */
  readonly delayMs: number
  /**
   * `persistent` tries the second step again when the refusal is passing (an active deployment, no leader, no
   * connection); `literal` sends it once and logs, as specification 4.3 says.
   */
  readonly secondStep: "persistent" | "literal"
  /**
   * How long a lease holds without being renewed, milliseconds: the longest wait after a crash before another takes over.
   * With `marginMs` it bounds how late an agent may be: see there.
   */
  readonly leaseMs: number
  /**
   * How long after its deadline a scale to 0 may still take effect, milliseconds. One that comes later is refused by the
   * agent, unless it insists on no index: then, after a crash, an agent that takes longer than the write deadline and this,
   * less a lease, over a change may still leave a job at 0.
   */
  readonly marginMs: number
}

/** The rules of the service, and of a library's client that names no others. */
export const RESTART_RULES: RestartRules = {
  delayMs: RESTART_DELAY_MS,
  secondStep: "persistent",
  leaseMs: 5000,
  marginMs: 30_000,
}

/** How long an active deployment is waited for: the agent's default progress deadline and a half more, milliseconds. */
const DEPLOYMENT_PATIENCE_MS = 15 * 60_000

/** Shortest and longest pause between two turns, milliseconds. */
const PAUSE_MS = { first: 2000, longest: 15_000 }

/** Pause after turn number `turns`, 1 or more, in milliseconds: doubling from 2 s to 15 s. */
export const pauseAfter = (turns: number): number =>
  Math.min(PAUSE_MS.first * 2 ** Math.min(turns - 1, 10), PAUSE_MS.longest)

/**
 * How long a turn that is due at `dueAt` has to wait, milliseconds. Never longer than such a wait can be: the clock that
 * wrote `dueAt` may have been ahead of the one that reads it.
 */
export const waitUntilDue = (dueAt: number, now: number, { delayMs }: RestartRules): number =>
  Math.min(Math.max(0, dueAt - now), Math.max(delayMs, PAUSE_MS.longest))

/**
 * True when a failed first step may all the same have brought the job to 0, or still will, so that it has to be watched.
 *
 * A plain 500 comes before the first write; the texts of {@link HALF_DONE} come after it.
 */
export const mayHaveStopped = (error: RestartError): boolean =>
  "applied" in error &&
  error.applied === "unknown" &&
  (error._tag !== "SchedulerFailed" || error.status !== 500 || HALF_DONE.test(error.body))

/** Texts of a server that lost its leadership after the first of a scaling's three writes (job, evaluation, event). */
const HALF_DONE = /leadership lost|not the leader|raft|timed out|timeout|\bEOF\b|connection reset|broken pipe/i

/** How often the first step is sent, when somebody changes the job each time between the look at its index and the sending. */
export const FIRST_STEP_TRIES = 10

/**
 * True when a failed question for the job's index says that there is none to insist on: the agent does not tell this token,
 * or whoever answers does not know the question. Every other failure is one of the first step: nothing is sent after it.
 */
export const keepsIndexToItself = ({ _tag }: SchedulerError): boolean =>
  _tag === "SchedulerDenied" || _tag === "SchedulerRefused" || _tag === "ForeignAnswer" || _tag === "UnreadableAnswer"

/** What a look at a job showed: its group's count, that there is no such job or group, or why nothing. */
export type Sight =
  | { readonly count: number; readonly stopped: boolean }
  | { readonly gone: true }
  | { readonly unseen: SchedulerError }

/** What the status of a job says about one of its groups. */
export const sightOf = ({ stopped, groups }: ScaleStatus, group: string): Sight => {
  const found = groups[group]
  return found === undefined ? { gone: true } : { count: found.desired, stopped }
}

/** True when the job runs at 0. A stopped job does not run at any count. */
export const isAtZero = (sight: Sight): boolean =>
  "count" in sight && !sight.stopped && sight.count === RESTART_COUNTS.stop

/** What a failed look says: the agent's own word that the job is not there is an answer, all else is none. */
export const sightOfFailure = (error: SchedulerError): Sight =>
  error._tag === "SchedulerNotFound" ? { gone: true } : { unseen: error }

/**
 * What to do about a restart.
 *
 * - `start`: send the second step
 * - `fence`: scale to the count that the job has. That changes its index and nothing else, so that the agent refuses a scale
 *   to 0 which insists on the index before, however late it comes
 * - `compare`: look, and then decide: somebody changed the job since it was stopped
 * - `wait`: a later turn, the job may be at 0
 * - `watch`: a later turn, the job is not at 0 but a late scale to 0 may still come
 * - `over`: nothing is left to do
 * - `stuck`: another turn cannot help
 */
export type Move = { readonly move: "start" } | { readonly move: "fence"; readonly count: number } | MoveAfterTry

/** What to do about a restart once the second step was tried, or need not be. */
export type MoveAfterTry =
  | { readonly move: "compare" | "watch" }
  | { readonly move: "wait" | "stuck"; readonly error: SchedulerError }
  | { readonly move: "over"; readonly how: string }

const WATCH: MoveAfterTry = { move: "watch" }

/** What is known when a move is decided. */
interface Known {
  /** True when no scale to 0 of this restart can take effect any more, unless its sender was stopped before he sent it. */
  readonly settled: boolean
  /** True when one may come that insists on an index, and nobody has seen to it that the job left that index. */
  readonly unfenced: boolean
  /** True when the agent said that the job was changed since it was stopped. */
  readonly changed: boolean
}

/** What to do after a look at the job. Who may not look sends the second step: it was asked for, and harms nobody twice. */
export const afterLook = (sight: Sight, { settled, unfenced, changed }: Known): Move => {
  if ("gone" in sight) return settled ? { move: "over", how: "the job is gone" } : WATCH
  if ("unseen" in sight) {
    const { unseen: error } = sight
    if (!settled || isPassing(error)) return { move: "wait", error }
    if (error._tag !== "SchedulerDenied") return { move: "stuck", error }
    return changed ? { move: "over", how: "somebody else changed the job since it was stopped" } : { move: "start" }
  }
  if (isAtZero(sight)) return { move: "start" }
  if (!settled) return WATCH
  if (unfenced) return { move: "fence", count: sight.count }
  if (sight.stopped) return { move: "over", how: "the job is stopped" }
  return sight.count === RESTART_COUNTS.start
    ? { move: "over", how: "the job already runs" }
    : { move: "over", how: `somebody else scaled the job to ${sight.count}` }
}

/**
 * What to do after a fence. It is up when it was done, and when the agent says that the job had another index already; the
 * job is looked at once more all the same, as the late scale to 0 may have been the other change.
 *
 * @param error what it failed with, if it did
 * @param waitedMs milliseconds since the second step was planned
 */
export const afterFence = (error: SchedulerError | undefined, waitedMs: number): MoveAfterTry =>
  error === undefined || error._tag === "JobIndexConflict"
    ? WATCH
    : afterFailure(error, { settled: true, waitedMs, secondStep: "persistent" })

/** What to do once the second step is done. */
export const afterSuccess = (settled: boolean): MoveAfterTry =>
  settled ? { move: "over", how: "the job is back" } : WATCH

/**
 * What to do after a failed second step.
 *
 * @param waitedMs milliseconds since the second step was planned
 */
export const afterFailure = (
  error: SchedulerError,
  {
    settled,
    waitedMs,
    secondStep,
  }: { readonly settled: boolean; readonly waitedMs: number } & Pick<RestartRules, "secondStep">,
): MoveAfterTry => {
  if (error._tag === "SchedulerNotFound") return settled ? { move: "over", how: "the job is gone" } : WATCH
  if (!settled) return { move: "wait", error }
  if (secondStep === "literal") return { move: "stuck", error }
  if (error._tag === "JobIndexConflict") return { move: "compare" }
  const passes = error._tag === "ActiveDeployment" ? waitedMs < DEPLOYMENT_PATIENCE_MS : isPassing(error)
  return { move: passes ? "wait" : "stuck", error }
}
