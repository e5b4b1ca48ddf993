import { Clock, Effect } from "effect"
import { isObject } from "../../domain/json_object.ts"
import type { CarouselPost, Container } from "../../domain/media/container.ts"
import type { MediaIssue } from "../../domain/media/errors.ts"
import { checkIds } from "../../domain/media/graph_address.ts"
import type { CreationCall } from "../../domain/media/media_graph_port.ts"
import { MediaPolicy } from "../../domain/media/policy.ts"
import { checkCarouselPost, checkContainer } from "../../domain/media/validation.ts"
import { containerOf, parentOf } from "./carousel.ts"
import { checkPost } from "./publish_post.ts"

/** What a creation would create, and whether a publish call would follow. */
export interface PlannedCreation {
  /** The containers in order; the ids of units not created yet stand as `ITEM0`, `ITEM1`, and so on. */
  readonly creations: ReadonlyArray<CreationCall>
  readonly warnings: ReadonlyArray<MediaIssue>
  /** The container that would be published; its id stands as `CONTAINER`. */
  readonly publishing?: { readonly accountId: string; readonly containerId: string }
}

const containersOf = (post: CarouselPost): ReadonlyArray<Container> => {
  const made = post.items.flatMap((item) => (item.kind === "existing" ? [] : [containerOf(item)]))
  const ids = post.items.map((item, index) => ({
    index,
    containerId: item.kind === "existing" ? item.containerId : `ITEM${index}`,
  }))
  return [...made, parentOf(post, ids)]
}

/**
 * Says which containers a creation would create, without asking the graph anything.
 *
 * @param input a container, or a carousel of `items`
 * @param publishes whether it is to become a post
 * @fails {InvalidMedia} as the creation or the post would
 */
export const planMedia = Effect.fn("planMedia")(function* (accountId: string, input: unknown, publishes = false) {
  yield* checkIds({ accountId })
  if (publishes) yield* checkPost(input, undefined)
  const rules = yield* MediaPolicy
  const nowMs = yield* Clock.currentTimeMillis
  const planned = (containers: ReadonlyArray<Container>, warnings: ReadonlyArray<MediaIssue>): PlannedCreation => ({
    creations: containers.map((container) => ({ accountId, container })),
    warnings,
    ...(publishes ? { publishing: { accountId, containerId: "CONTAINER" } } : {}),
  })
  if (isObject(input) && "items" in input && !("children" in input)) {
    const { kind: _carousel, ...post } = input
    const { value, warnings } = yield* checkCarouselPost(post, rules, nowMs)
    return planned(containersOf(value), warnings)
  }
  const { value, warnings } = yield* checkContainer(input, rules, nowMs)
  return planned([value], warnings)
})
