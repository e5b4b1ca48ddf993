import { Effect } from "effect"
import { previewCreation, type RequestPreview } from "../adapters/driven/media_graph/request_preview.ts"
import { planMedia } from "../application/media/plan.ts"
import type { MediaIssue } from "../domain/media/errors.ts"
import { MediaPolicy } from "../domain/media/policy.ts"
import type { CheckedGraph } from "./media_layers.ts"

/** What a creation would do. */
export interface MediaPlan {
  /** The exact requests in order, secrets masked; units not created yet stand as `ITEM0`, `ITEM1`, and so on. */
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
 * @fails {InvalidMedia | RequestTargetTooLong} as the creation would
 */
export const dryRun = Effect.fnUntraced(function* (
  { connection, rules }: CheckedGraph,
  accountId: string,
  input: unknown,
) {
  const { creations, warnings } = yield* planMedia(accountId, input).pipe(Effect.provideService(MediaPolicy, rules))
  const previews = yield* Effect.forEach(creations, (call) => previewCreation(call, connection))
  const plan: MediaPlan = {
    requests: previews.map(({ request }) => request),
    warnings: [...warnings, ...previews.flatMap((preview) => preview.warnings).slice(0, 1)],
    containers: creations.length,
  }
  return plan
})
