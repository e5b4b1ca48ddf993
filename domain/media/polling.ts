import type { ContainerState } from "./media_graph_port.ts"

/** How long and how often to look at a container that is being processed. */
export interface Waiting {
  /** Whole time to wait, ms. The platform advises five minutes. */
  readonly budgetMs: number
  /** Pause after the first look that did not find it ready, ms. */
  readonly firstMs: number
  /** Factor from one pause to the next. */
  readonly factor: number
  /** Longest pause, ms. The platform advises at most one look a minute. */
  readonly ceilingMs: number
}

/** Five minutes, with pauses of 5 s growing to 60 s. */
export const DEFAULT_WAITING: Waiting = { budgetMs: 300_000, firstMs: 5_000, factor: 1.6, ceilingMs: 60_000 }

/** What a look at a container leads to. */
export type PollDecision =
  | { readonly next: "ready" | "published" | "failed" | "expired" | "give-back" }
  | { readonly next: "wait"; readonly pauseMs: number }

/**
 * Decides after one look. A state this client does not know counts as "not ready yet", never as a failure.
 *
 * @param state what the container's status said
 * @param at.look number of the look, from 1
 * @param at.elapsedMs time since waiting began
 * @returns `give-back` when the time is up
 */
export const decidePoll = (
  state: ContainerState,
  { look, elapsedMs, waiting }: { readonly look: number; readonly elapsedMs: number; readonly waiting: Waiting },
): PollDecision => {
  switch (state) {
    case "finished":
      return { next: "ready" }
    case "published":
      return { next: "published" }
    case "error":
      return { next: "failed" }
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
