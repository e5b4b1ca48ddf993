import { Effect } from "effect"
import { previewCreation, previewPublish, type RequestPreview } from "../adapters/driven/media_graph/request_preview.ts"
import { planMedia } from "../application/media/plan.ts"
import type { MediaIssue } from "../domain/media/errors.ts"
import { MediaPolicy } from "../domain/media/policy.ts"
import type { CheckedGraph } from "./media_layers.ts"

/** What a creation, or a post, would do. */
export interface MediaPlan {
  /**
   * The exact requests in order, secrets masked; units not created yet stand as `ITEM0`, `ITEM1`, and so
   * on, and the container that would be published as `CONTAINER`. Waiting for it, which only reads, is not shown.
   */
  readonly requests: ReadonlyArray<RequestPreview>
  readonly warnings: ReadonlyArray<MediaIssue>
  /** Containers it takes from the account's budget of a day. */
  readonly containers: number
}

/**
 * Shows what a creation would send, without sending anything: the use case says which containers, the adapter how it
 * would write them.
 *
 * @param input a container, or a carousel of `items`
 * @param publishes whether it is to become a post
 * @fails {InvalidMedia | RequestTargetTooLong} as the creation would
 */
export const dryRun = Effect.fnUntraced(function* (
  { connection, rules }: CheckedGraph,
  accountId: string,
  input: unknown,
  publishes: boolean,
) {
  const planned = planMedia(accountId, input, publishes)
  const { creations, warnings, publishing } = yield* Effect.provideService(planned, MediaPolicy, rules)
  const previews = yield* Effect.forEach(creations, (call) => previewCreation(call, connection))
  const last = publishing === undefined ? [] : [yield* previewPublish(publishing, connection)]
  const plan: MediaPlan = {
    requests: [...previews.map(({ request }) => request), ...last],
    warnings: [...warnings, ...previews.flatMap((preview) => preview.warnings).slice(0, 1)],
    containers: creations.length,
  }
  return plan
})
