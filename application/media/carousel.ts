import { Clock, Effect, Result } from "effect"
import type { CarouselItem, CarouselPost, Container } from "../../domain/media/container.ts"
import { CarouselIncomplete, type MediaIssue, type RequestTargetTooLong } from "../../domain/media/errors.ts"
import { checkIds } from "../../domain/media/graph_address.ts"
import type { FailureKind, GraphFailure } from "../../domain/media/graph_failure.ts"
import { MediaPolicy } from "../../domain/media/policy.ts"
import { checkCarouselPost } from "../../domain/media/validation.ts"
import { sendCreation } from "./containers.ts"
import { type WaitOptions, waitUntilReady } from "./wait_until_ready.ts"

/** A carousel's unit that has its container. */
export interface CreatedItem {
  readonly index: number
  readonly containerId: string
}

/** What making a carousel led to. After `still-processing`, call again with the units as `existing` items. */
export type CarouselResult =
  | {
      readonly state: "created"
      readonly containerId: string
      readonly createdAtMs: number
      readonly items: ReadonlyArray<CreatedItem>
      readonly warnings: ReadonlyArray<MediaIssue>
    }
  | { readonly state: "still-processing"; readonly items: ReadonlyArray<CreatedItem> }

/** Failures that every other unit would meet too, so no further one is started. */
const STOPS: ReadonlySet<FailureKind> = new Set(["Throttled", "Blocked", "TokenInvalid", "Permission", "DailyQuota"])

/** The container of a unit: the same medium, marked as a carousel item. */
export const containerOf = (item: Exclude<CarouselItem, { kind: "existing" }>): Container =>
  item.kind === "image" ? { ...item, isCarouselItem: true } : { ...item, isCarouselItem: true }

type ItemFailure = GraphFailure | RequestTargetTooLong

type Fate =
  | { readonly is: "created"; readonly item: CreatedItem }
  | { readonly is: "failed"; readonly index: number; readonly error: ItemFailure }
  | { readonly is: "skipped"; readonly index: number }

const incomplete = (fates: ReadonlyArray<Fate>): CarouselIncomplete =>
  new CarouselIncomplete({
    created: fates.flatMap((fate) => (fate.is === "created" ? [fate.item] : [])),
    failed: fates.flatMap((fate) => (fate.is === "failed" ? [{ index: fate.index, error: fate.error }] : [])),
    skipped: fates.flatMap((fate) => (fate.is === "skipped" ? [fate.index] : [])),
  })

/**
 * Creates the units of a carousel, several at a time, and reports them in the order of the carousel.
 *
 * @param known containers that exist for a unit
 * @param onCreated told of every new container at once, before anything else happens to it
 * @fails {CarouselIncomplete} when any unit failed; creations that were running then are finished and reported
 */
export const createItems = Effect.fnUntraced(function* <E, R>(
  accountId: string,
  items: ReadonlyArray<CarouselItem>,
  known: (item: CarouselItem, index: number) => string | undefined,
  onCreated: (item: CreatedItem) => Effect.Effect<void, E, R>,
) {
  const { childConcurrency } = yield* MediaPolicy
  let stopped = false
  const make = Effect.fnUntraced(function* (item: CarouselItem, index: number) {
    const existing = item.kind === "existing" ? item.containerId : known(item, index)
    if (existing !== undefined) return { is: "created", item: { index, containerId: existing } } satisfies Fate
    if (stopped || item.kind === "existing") return { is: "skipped", index } satisfies Fate
    const result = yield* Effect.result(sendCreation(accountId, containerOf(item)))
    if (Result.isFailure(result)) {
      const error = result.failure
      stopped ||= error._tag === "GraphFailure" && STOPS.has(error.kind)
      return { is: "failed", index, error } satisfies Fate
    }
    const created: CreatedItem = { index, containerId: result.success }
    yield* onCreated(created)
    return { is: "created", item: created } satisfies Fate
  })
  const fates: ReadonlyArray<Fate> = yield* Effect.forEach(items, make, { concurrency: childConcurrency })
  if (fates.some(({ is }) => is !== "created")) return yield* incomplete(fates)
  return fates.flatMap((fate) => (fate.is === "created" ? [fate.item] : []))
})

/**
 * Waits until the units can be put together: a parent made of a video still in processing is refused.
 *
 * @returns whether all are ready; `false` when the time was up first
 * @fails {CarouselIncomplete} naming the units whose processing failed
 */
export const itemsReady = Effect.fnUntraced(function* (
  items: ReadonlyArray<CarouselItem>,
  created: ReadonlyArray<CreatedItem>,
  options: WaitOptions,
) {
  const { childConcurrency } = yield* MediaPolicy
  const looks = yield* Effect.forEach(
    // Pictures are ready at once. An existing unit is looked at too, because it may be a video.
    created.filter(({ index }) => items[index]?.kind !== "image"),
    (item) => Effect.map(Effect.result(waitUntilReady(item.containerId, options)), (result) => ({ item, result })),
    { concurrency: childConcurrency },
  )
  const failures = new Map(
    looks.flatMap(({ item, result }) => {
      if (Result.isSuccess(result) || result.failure._tag !== "GraphFailure") return []
      return [[item.index, result.failure] as const]
    }),
  )
  if (failures.size > 0)
    return yield* incomplete(
      created.map((item): Fate => {
        const error = failures.get(item.index)
        return error === undefined ? { is: "created", item } : { is: "failed", index: item.index, error }
      }),
    )
  return looks.every(({ result }) => Result.isSuccess(result) && result.success.state !== "still-processing")
})

/** The parent of units that are ready. */
export const parentOf = (post: CarouselPost, items: ReadonlyArray<CreatedItem>): Container => {
  const { items: _units, ...rest } = post
  return { ...rest, kind: "carousel", children: items.map(({ containerId }) => containerId) }
}

/**
 * Makes a carousel from its units: all of them, or none and a report with the ids that can be used again.
 *
 * @param post units in display order; text, place and products of the carousel
 * @fails {InvalidMedia} when any unit breaks a rule; nothing was sent
 * @fails {CarouselIncomplete} when a unit could not be created or processed; no parent was made
 * @fails {GraphFailure | RequestTargetTooLong} when the parent could not be created
 */
export const createCarouselFromItems = Effect.fn("createCarouselFromItems")(function* (
  accountId: string,
  post: unknown,
  options: WaitOptions = {},
) {
  yield* checkIds({ accountId })
  const nowMs = yield* Clock.currentTimeMillis
  const { value, warnings } = yield* checkCarouselPost(post, yield* MediaPolicy, nowMs)
  const items = yield* createItems(
    accountId,
    value.items,
    () => undefined,
    () => Effect.void,
  )
  const ready = yield* itemsReady(value.items, items, options)
  if (!ready) {
    const unready: CarouselResult = { state: "still-processing", items }
    return unready
  }
  const containerId = yield* sendCreation(accountId, parentOf(value, items))
  const createdAtMs = yield* Clock.currentTimeMillis
  const made: CarouselResult = { state: "created", containerId, createdAtMs, items, warnings }
  return made
})
