import { Clock, Effect, Random } from "effect"
import { GraphFailure } from "../../domain/media/graph_failure.ts"
import type { ContainerState } from "../../domain/media/media_graph_port.ts"
import { DEFAULT_WAITING, decidePoll, type Waiting } from "../../domain/media/polling.ts"
import { containerStatus } from "./containers.ts"

/** One look at a container, for a progress line. */
export interface Look {
  readonly containerId: string
  readonly state: ContainerState
  /** Number of the look, from 1. */
  readonly look: number
  /** Time since waiting began, ms. */
  readonly elapsedMs: number
}

/** How to wait for a container. */
export interface WaitOptions {
  /** How long and how often to look; the defaults hold for what is left out. */
  readonly waiting?: Partial<Waiting>
  /** Told of every look. */
  readonly onLook?: (look: Look) => Effect.Effect<void>
}

/** Where waiting led. `still-processing` is no failure: wait again later, with the same container. */
export type WaitResult = {
  readonly state: "ready" | "published" | "still-processing"
  readonly containerId: string
  /** Milliseconds from the first look to the last. */
  readonly waitedMs: number
}

/** Share of a pause that chance takes away; the ceiling stays the ceiling. */
const JITTER = 0.2

/**
 * Looks at a container until it is ready, with growing pauses.
 *
 * @param options.waiting how long and how often; five minutes, 5 s growing to 60 s by default
 * @fails {GraphFailure} of kind MediaRejected when processing failed, ContainerGone when it expired
 */
export const waitUntilReady = Effect.fn("waitUntilReady")(function* (containerId: string, options: WaitOptions = {}) {
  const waiting: Waiting = { ...DEFAULT_WAITING, ...options.waiting }
  const startedAt = yield* Clock.currentTimeMillis
  for (let look = 1; ; look++) {
    const status = yield* containerStatus(containerId)
    const elapsedMs = (yield* Clock.currentTimeMillis) - startedAt
    if (options.onLook !== undefined) yield* options.onLook({ containerId, state: status.state, look, elapsedMs })
    const decision = decidePoll(status.state, { look, elapsedMs, waiting })
    const ended = (state: WaitResult["state"]): WaitResult => ({ state, containerId, waitedMs: elapsedMs })
    const { subcode, detail: text } = status
    const failed = (kind: "MediaRejected" | "ContainerGone") =>
      new GraphFailure({ kind, operation: "status", applied: "no", subcode, text })
    switch (decision.next) {
      case "ready":
        return ended("ready")
      case "published":
        return ended("published")
      case "give-back":
        return ended("still-processing")
      case "failed":
        return yield* failed("MediaRejected")
      case "expired":
        return yield* failed("ContainerGone")
      case "wait":
        yield* Effect.sleep(decision.pauseMs * (1 - JITTER * (yield* Random.next)))
    }
  }
})
