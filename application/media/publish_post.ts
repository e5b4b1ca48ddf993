import { Clock, Effect } from "effect"
import { isObject } from "../../domain/json_object.ts"
import type { CarouselItem, CarouselPost, Container } from "../../domain/media/container.ts"
import { invalidMedia, type MediaIssue } from "../../domain/media/errors.ts"
import { checkIds } from "../../domain/media/graph_address.ts"
import { GraphFailure } from "../../domain/media/graph_failure.ts"
import { fileIdentity } from "../../domain/media/media_url.ts"
import { parametersOf } from "../../domain/media/parameters.ts"
import { CONTAINER_LIFETIME_MS, MediaPolicy, REUSE_MARGIN_MS } from "../../domain/media/policy.ts"
import { DEFAULT_WAITING } from "../../domain/media/polling.ts"
import type { Slot } from "../../domain/media/publish_journal.ts"
import { checkCarouselPost, checkContainer } from "../../domain/media/validation.ts"
import { containerOf, createItems, itemsReady, parentOf } from "./carousel.ts"
import { sendCreation } from "./containers.ts"
import { checkPublishable, checkQuota, type PublishOptions, type PublishResult, publishHeld } from "./publish.ts"
import { type PublishSession, withPublishSession } from "./publish_session.ts"

/** A post and the name that makes it one: the same key never makes a second post. Both may come from an untrusted caller. */
export interface PostRequest {
  readonly key: unknown
  readonly accountId: string
  /** A `Post` of domain/media/container.ts. */
  readonly post: unknown
}

/** A checked post: one container, or a carousel of units. */
type CheckedPost =
  | { readonly is: "single"; readonly container: Container }
  | { readonly is: "carousel"; readonly carousel: CarouselPost }

const KEY = /^[\x21-\x7e]{1,200}$/

/**
 * Judges what is to become a post, also one of an untrusted caller.
 *
 * @param force take what the platform is known to refuse: a video that is no reel
 * @fails {InvalidMedia} naming every field and rule that is broken, never a value
 */
export const checkPost = Effect.fnUntraced(function* (post: unknown, force: boolean | undefined) {
  const rules = yield* MediaPolicy
  const nowMs = yield* Clock.currentTimeMillis
  if (isObject(post) && post["kind"] === "carousel") {
    const { kind: _carousel, ...rest } = post
    const { value, warnings } = yield* checkCarouselPost(rest, rules, nowMs)
    const carousel: CheckedPost = { is: "carousel", carousel: value }
    return { post: carousel, warnings }
  }
  const { value, warnings } = yield* checkContainer(post, rules, nowMs)
  if ("isCarouselItem" in value && value.isCarouselItem === true)
    return yield* invalidMedia("/isCarouselItem", "item-alone", "a carousel item is not a post")
  yield* checkPublishable(value.kind, force)
  const single: CheckedPost = { is: "single", container: value }
  return { post: single, warnings }
})

const check = Effect.fnUntraced(function* ({ key, post }: PostRequest, force: boolean | undefined) {
  if (typeof key !== "string" || !KEY.test(key))
    return yield* invalidMedia("/key", "key", "must be 1 to 200 printable ASCII characters without blanks")
  return { key, ...(yield* checkPost(post, force)) }
})

/** The fingerprint of a container's description. A file whose address was signed anew counts as the same file. */
const fingerprintOf = (session: PublishSession, container: Container): string =>
  session.fingerprint(
    JSON.stringify(
      parametersOf(container).map(([name, value]) => [name, name.endsWith("_url") ? fileIdentity(value) : value]),
    ),
  )

const PARENT = "parent"

const usable = (slot: Slot | undefined, wanted: string, nowMs: number): string | undefined =>
  slot !== undefined &&
  slot.fingerprint === wanted &&
  nowMs - slot.createdAtMs < CONTAINER_LIFETIME_MS - REUSE_MARGIN_MS
    ? slot.containerId
    : undefined

const keep = Effect.fnUntraced(function* (session: PublishSession, name: string, containerId: string, made: Container) {
  const createdAtMs = yield* Clock.currentTimeMillis
  const slot: Slot = { containerId, createdAtMs, fingerprint: fingerprintOf(session, made) }
  yield* session.update(({ slots }) => ({ slots: { ...slots, [name]: slot } }))
})

const forget = (session: PublishSession, gone: (name: string, slot: Slot) => boolean) =>
  session.update(({ slots }) => ({
    slots: Object.fromEntries(Object.entries(slots).filter(([name, slot]) => !gone(name, slot))),
  }))

/** The units' containers: those of an earlier run, where they still serve, and new ones. */
const units = Effect.fnUntraced(function* (session: PublishSession, post: CarouselPost, options: PublishOptions) {
  const nowMs = yield* Clock.currentTimeMillis
  const known = (item: CarouselItem, index: number) =>
    item.kind === "existing"
      ? undefined
      : usable(session.entry().slots[index], fingerprintOf(session, containerOf(item)), nowMs)
  const items = yield* createItems(session.entry().accountId, post.items, known, ({ index, containerId }) => {
    const item = post.items[index]
    return item === undefined || item.kind === "existing"
      ? Effect.void
      : keep(session, String(index), containerId, containerOf(item))
  })
  const ready = yield* itemsReady(post.items, items, options).pipe(
    // A unit whose processing failed must be made anew by the next run.
    Effect.tapErrorTag("CarouselIncomplete", ({ failed }) =>
      forget(session, (name) => failed.some(({ index }) => String(index) === name)),
    ),
  )
  return ready ? items : undefined
})

/** The container to publish, made or found again; `undefined` while a unit is still being processed. */
const prepared = Effect.fnUntraced(function* (session: PublishSession, post: CheckedPost, options: PublishOptions) {
  const items = post.is === "carousel" ? yield* units(session, post.carousel, options) : []
  if (items === undefined) return undefined
  const container = post.is === "carousel" ? parentOf(post.carousel, items) : post.container
  const nowMs = yield* Clock.currentTimeMillis
  const known = usable(session.entry().slots[PARENT], fingerprintOf(session, container), nowMs)
  if (known !== undefined) return known
  const containerId = yield* sendCreation(session.entry().accountId, container)
  yield* keep(session, PARENT, containerId, container)
  return containerId
})

/** The error number of processing faults that a new container of the same media may not have. */
const PASSING_SUBCODE = 2207082

const isRenewable = (failure: unknown): failure is GraphFailure =>
  failure instanceof GraphFailure && (failure.kind === "ContainerGone" || failure.subcode === PASSING_SUBCODE)

const PUBLISHING: PublishResult = { state: "still-processing", containerId: undefined }

const run = Effect.fnUntraced(function* (session: PublishSession, post: CheckedPost, options: PublishOptions) {
  const attempt = Effect.gen(function* () {
    const { progress } = session.entry()
    if (progress.state !== "preparing") return yield* publishHeld(session, progress.containerId, options)
    yield* checkQuota(session.entry().accountId)
    const containerId = yield* prepared(session, post, options)
    return containerId === undefined ? PUBLISHING : yield* publishHeld(session, containerId, options)
  })
  // A new container is made only while no publish call was sent: a call that was sent may have made a post.
  const renewable = (failure: unknown) => isRenewable(failure) && session.entry().progress.state === "preparing"
  return yield* attempt.pipe(
    Effect.catchIf(renewable, () =>
      Effect.andThen(
        forget(session, () => true),
        attempt,
      ),
    ),
  )
})

/** What the post led to, and what was doubtful about it. */
export type PostResult = PublishResult & { readonly key: string; readonly warnings: ReadonlyArray<MediaIssue> }

/**
 * Makes a post from nothing, exactly once: creates what is missing, waits, publishes, and remembers every step.
 *
 * Called again with the same key, after a crash, a failure or success, it goes on where the last run stopped; a
 * published post is only looked up. Containers that are too old, or whose description changed, are made anew.
 *
 * @fails as {@link import("./publish.ts").publish} and {@link import("./carousel.ts").createCarouselFromItems}
 */
export const publishPost = Effect.fn("publishPost")(function* (request: PostRequest, options: PublishOptions = {}) {
  const { accountId } = request
  yield* checkIds({ accountId })
  const { key, post, warnings } = yield* check(request, options.force)
  const waitMs = options.waiting?.budgetMs ?? DEFAULT_WAITING.budgetMs
  const hold = { key: `post:${key}`, accountId, waitMs }
  const result = yield* withPublishSession(hold, (session) => run(session, post, options))
  const made: PostResult = { ...result, key, warnings }
  return made
})
