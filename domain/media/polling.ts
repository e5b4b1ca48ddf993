import type { ContainerStatus } from "./media_graph_port.ts"

/** How long and how often to look at a container that is being processed. */
export interface Waiting {
  /** Whole time to wait, ms. The platform advises five minutes. */
  readonly budgetMs: number
  /** Pause after the first look that did not find it ready, ms. */
  readonly firstMs: number
  readonly factor: number
  /** Longest pause, ms. The platform advises at most one look a minute. */
  readonly ceilingMs: number
}

export const DEFAULT_WAITING: Waiting = { budgetMs: 300_000, firstMs: 5_000, factor: 1.6, ceilingMs: 60_000 }

/** What a look at a container leads to. */
export type PollDecision =
  | { readonly next: "ready" }
  | { readonly next: "published" }
  | { readonly next: "failed"; readonly subcode: number | undefined }
  | { readonly next: "expired" }
  | { readonly next: "wait"; readonly pauseMs: number }
  | { readonly next: "give-back" }

/**
 * Decides after one look. A state nobody knows counts as "not ready yet", never as a failure.
 *
 * @param look number of the look, from 1
 * @param elapsedMs time since waiting began
 */
export const decidePoll = (
  status: ContainerStatus,
  { look, elapsedMs, waiting }: { readonly look: number; readonly elapsedMs: number; readonly waiting: Waiting },
): PollDecision => {
  switch (status.state) {
    case "finished":
      return { next: "ready" }
    case "published":
      return { next: "published" }
    case "error":
      return { next: "failed", subcode: status.subcode }
    case "expired":
      return { next: "expired" }
    case "in-progress":
    case "unknown": {
      const left = waiting.budgetMs - elapsedMs
      if (left <= 0) return { next: "give-back" }
      const pause = Math.min(waiting.firstMs * waiting.factor ** (look - 1), waiting.ceilingMs)
      return { next: "wait", pauseMs: Math.min(pause, left) }
    }
  }
}
