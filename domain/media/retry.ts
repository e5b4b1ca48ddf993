import type { FailureKind, GraphFailure } from "./graph_failure.ts"

interface Cure {
  /** Calls in all, the first included. */
  readonly calls: number
  /** Pause before the next call, ms: the first one, and the factor from one to the next. */
  readonly firstMs: number
  readonly factor: number
}

/**
 * Failures that may pass, and how often and after what pause to try again. A container that is made twice is harmless: the
 * one that is not published stays invisible and expires.
 */
const CURES: Partial<Readonly<Record<FailureKind, Cure>>> = {
  ServerTransient: { calls: 3, firstMs: 1_000, factor: 3 },
  Network: { calls: 3, firstMs: 1_000, factor: 3 },
  // The platform sends `is_transient: false` with this one, and was seen to succeed soon after.
  MediaFetch: { calls: 3, firstMs: 5_000, factor: 3 },
  Throttled: { calls: 3, firstMs: 60_000, factor: 4 },
  StatusUnavailable: { calls: 3, firstMs: 2_000, factor: 3 },
  Protocol: { calls: 2, firstMs: 1_000, factor: 1 },
}

/**
 * The pause before a creation or a read is tried again. It is never asked about a publish call.
 *
 * @param call number of the call that failed, from 1
 * @returns milliseconds, those the graph named where it named any; `undefined` when the call must not be tried again
 */
export const retryPause = (failure: GraphFailure, call: number): number | undefined => {
  const cure = CURES[failure.kind]
  if (cure === undefined || call >= cure.calls) return undefined
  return failure.retryAfterMs ?? cure.firstMs * cure.factor ** (call - 1)
}
