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

/**
 * What to do after a failed publish call. Publishing has no idempotency key, so a call is made again only when the failed
 * one certainly made no post.
 *
 * @param sends publish calls begun for the container, this one included
 */
export const publishReaction = (failure: GraphFailure, sends: number): PublishReaction => {
  if (failure.kind === "Blocked") return failure.applied === "unknown" ? "look-only" : "refused"
  if (failure.applied === "unknown") return "look"
  // An earlier call whose answer was lost may have published the container; the graph then does not find it any more.
  if (failure.kind === "ContainerGone" && sends > 1) return "look"
  return LATER.has(failure.kind) || failure.kind === "Network" ? "later" : "refused"
}

/**
 * Time after a publish call began from which a container that is still `finished` shows that the call was lost, ms. It
 * covers the call's own deadline (30 s by default) and the time until the platform shows a new post.
 */
export const GRACE_MS = 120_000

/** Pause between two looks in that time, ms. */
const LOOK_PAUSE_MS = 30_000

/** Publish calls one run makes for one container. */
export const SENDS_MAX = 3

/** What a look at a container with an unknown outcome leads to. */
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
