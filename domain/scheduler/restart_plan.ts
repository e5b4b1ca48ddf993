import { isPassing, type RestartError, type SchedulerError } from "./errors.ts"

/** Pause between the scale to 0 and the scale to 1 (seed section 8). */
const RESTART_DELAY_MS = 1000

/** The two scalings of a restart (seed 4.3). */
export const RESTART_COUNTS = { stop: 0, start: 1 } as const

/** How a restart behaves beyond the seed's text. */
export interface RestartRules {
  /** Pause between the two steps in milliseconds, {@link RESTART_DELAY_MS}. */
  readonly delayMs: number
  /**
   * `persistent` tries the second step again when the refusal is passing (an active deployment, no leader, no
   * connection); `literal` sends it once and logs, as the seed says.
   */
  readonly secondStep: "persistent" | "literal"
  /** Insist in the second step that nobody changed the job since the first (agents from 1.8.2 on). */
  readonly guard: boolean
  /** How long a lease holds without being renewed, milliseconds: the longest wait after a crash before another takes over. */
  readonly leaseMs: number
}

/** The rules of the service, and of a library's client that names no others. */
export const RESTART_RULES: RestartRules = {
  delayMs: RESTART_DELAY_MS,
  secondStep: "persistent",
  guard: false,
  leaseMs: 5000,
}

/** How long an active deployment is waited for: the agent's default progress deadline and a half more, milliseconds. */
const DEPLOYMENT_PATIENCE_MS = 15 * 60_000

/** Shortest and longest pause between two tries, milliseconds. */
const PAUSE_MS = { first: 2000, longest: 15_000 }

/** Pause before try number `attempts + 1` of the second step, in milliseconds: doubling from 2 s to 15 s. */
export const pauseAfter = (attempts: number): number =>
  Math.min(PAUSE_MS.first * 2 ** Math.min(attempts - 1, 10), PAUSE_MS.longest)

/**
 * True when a failed first step may all the same have brought the job to 0, so that its definition has to be read.
 *
 * A plain 500 comes before the first write; the texts of {@link HALF_DONE} come after it.
 */
export const mayHaveStopped = (error: RestartError): boolean =>
  "applied" in error &&
  error.applied === "unknown" &&
  (error._tag !== "SchedulerFailed" || error.status !== 500 || HALF_DONE.test(error.body))

/** Texts of a server that lost its leadership after the first of a scaling's three writes (job, evaluation, event). */
const HALF_DONE = /leadership lost|not the leader|raft|timed out|timeout|\bEOF\b|connection reset|broken pipe/i

/** What to do after a failed second step; see {@link afterFailure}. */
export type AfterFailure = "retry" | "superseded" | "compare" | "stuck"

/**
 * What a failed second step means.
 *
 * - `superseded`: the job is gone, there is nothing to bring back
 * - `compare`: the job was changed meanwhile; its definition tells whether it still has to be brought back
 * - `retry`: the same request may succeed later
 * - `stuck`: repeating the same request cannot help
 *
 * @param waitedMs milliseconds since the second step was due for the first time
 */
export const afterFailure = (error: SchedulerError, waitedMs: number): AfterFailure => {
  if (error._tag === "SchedulerNotFound") return "superseded"
  if (error._tag === "JobIndexConflict") return "compare"
  if (error._tag === "ActiveDeployment") return waitedMs < DEPLOYMENT_PATIENCE_MS ? "retry" : "stuck"
  return isPassing(error) ? "retry" : "stuck"
}
