import { Clock, Effect } from "effect"
import type { CarouselPost, Container } from "../../domain/media/container.ts"
import type { MediaIssue } from "../../domain/media/errors.ts"
import { checkIds } from "../../domain/media/graph_address.ts"
import { MediaGraphPort, type RequestPreview } from "../../domain/media/media_graph_port.ts"
import { MediaPolicy } from "../../domain/media/policy.ts"
import { checkCarouselPost, checkContainer } from "../../domain/media/validation.ts"
import { containerOf, parentOf } from "./carousel.ts"

/** What a creation would do. */
export interface MediaPlan {
  /** The exact requests in order, secrets masked; units not created yet stand as `ITEM0`, `ITEM1`, and so on. */
  readonly requests: ReadonlyArray<RequestPreview>
  readonly warnings: ReadonlyArray<MediaIssue>
  /** Containers it takes from the account's budget of a day. */
  readonly containers: number
}

/** Many servers stop at 8 KiB; the graph's own limit is not documented. */
const LONG_TARGET_BYTES = 8_000

const isPostOfItems = (input: unknown): boolean =>
  typeof input === "object" && input !== null && "items" in input && !("children" in input)

const containersOf = (post: CarouselPost): ReadonlyArray<Container> => {
  const made = post.items.flatMap((item) => (item.kind === "existing" ? [] : [containerOf(item)]))
  const ids = post.items.map((item, index) => ({
    index,
    containerId: item.kind === "existing" ? item.containerId : `ITEM${index}`,
  }))
  return [...made, parentOf(post, ids)]
}

const checked = Effect.fnUntraced(function* (input: unknown) {
  const rules = yield* MediaPolicy
  const nowMs = yield* Clock.currentTimeMillis
  if (!isPostOfItems(input)) {
    const { value, warnings } = yield* checkContainer(input, rules, nowMs)
    return { containers: [value], warnings }
  }
  const { kind: _carousel, ...rest } = input as { readonly kind?: unknown }
  const { value, warnings } = yield* checkCarouselPost(rest, rules, nowMs)
  return { containers: containersOf(value), warnings }
})

/**
 * Says what a creation would send, without sending anything.
 *
 * @param input a container, or a carousel of `items`
 * @fails {InvalidMedia | RequestTargetTooLong} as the creation would
 */
export const planMedia = Effect.fn("planMedia")(function* (accountId: string, input: unknown) {
  yield* checkIds({ accountId })
  const { containers, warnings } = yield* checked(input)
  const graph = yield* MediaGraphPort
  const requests = yield* Effect.forEach(containers, (container) => graph.preview({ accountId, container }))
  const long = requests.some(({ targetBytes }) => targetBytes > LONG_TARGET_BYTES)
  const message = `the request target is longer than ${LONG_TARGET_BYTES} bytes, which some servers refuse`
  const plan: MediaPlan = {
    requests,
    warnings: long ? [...warnings, { pointer: "/caption", rule: "long-target", message }] : warnings,
    containers: containers.length,
  }
  return plan
})
