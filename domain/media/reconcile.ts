import type { OutcomeUnknown } from "./errors.ts"
import type { FailureKind, GraphFailure } from "./graph_failure.ts"
import type { ContainerState } from "./media_graph_port.ts"

/** What a failed publish call leads to. */
export type PublishReaction =
  /** Certainly no post: give the failure back. */
  | "refused"
  /** Certainly no post, and worth another try after a pause and a look at the container. */
  | "later"
  /** Perhaps a post: look before anything else. */
  | "look"
  /** Perhaps a post, and never a second call. */
  | "look-only"

const LATER: ReadonlySet<FailureKind> = new Set(["NotReady", "Throttled"])

/** The platform's own advice for this one: "try again within two minutes". */
const GONE_FOR_NOW = 2207008

/**
 * Classes a failed publish call. Publishing has no idempotency key: only what is certain not to have acted is tried again.
 *
 * @param sends publish calls begun for the container, this one included
 * @see Blocked 2207051 was answered for posts that had gone live
 */
export const publishReaction = (failure: GraphFailure, sends: number): PublishReaction => {
  if (failure.kind === "Blocked") return failure.applied === "unknown" ? "look-only" : "refused"
  if (failure.applied === "unknown") return "look"
  // "Not found" after a lost call: that call may have used the container up.
  if (failure.kind === "ContainerGone" && sends > 1) return "look"
  return LATER.has(failure.kind) || failure.kind === "Network" || failure.subcode === GONE_FOR_NOW ? "later" : "refused"
}

/**
 * Time after a publish call began before a container still `finished` shows that the call was lost, ms: the call's own
 * deadline and the lag of the platform's view.
 */
export const GRACE_MS = 120_000

/** Pause between two looks in that time, ms. */
const LOOK_PAUSE_MS = 30_000

/** Publish calls one run makes for one container. */
export const SENDS_MAX = 3

export type ReconcileDecision =
  | { readonly next: "published" }
  | { readonly next: "send-again" }
  | { readonly next: "look-again"; readonly pauseMs: number }
  | { readonly next: "unknown"; readonly seen: OutcomeUnknown["seen"] }

/**
 * Decides after one look at a container whose publish call has an unknown outcome.
 *
 * @param seen the container's state, or `unreadable`
 * @param doubt.elapsedMs time since the call began, whichever run made it
 * @param doubt.sentNow publish calls of this run
 * @param doubt.lookOnly never send again
 */
export const decideReconcile = (
  seen: ContainerState | "unreadable",
  doubt: { readonly elapsedMs: number; readonly sentNow: number; readonly lookOnly: boolean },
): ReconcileDecision => {
  if (seen === "published") return { next: "published" }
  if (seen === "error" || seen === "expired") return { next: "unknown", seen }
  const left = GRACE_MS - doubt.elapsedMs
  if (left > 0) return { next: "look-again", pauseMs: Math.min(LOOK_PAUSE_MS, left) }
  return seen === "finished" && !doubt.lookOnly && doubt.sentNow < SENDS_MAX
    ? { next: "send-again" }
    : { next: "unknown", seen }
}
