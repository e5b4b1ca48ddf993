import { Clock, Effect, Result } from "effect"
import type { MediaKind } from "../../domain/media/container.ts"
import {
  type InvalidMedia,
  invalidMedia,
  OutcomeUnknown,
  type PublishBusy,
  QuotaExhausted,
} from "../../domain/media/errors.ts"
import { checkIds } from "../../domain/media/graph_address.ts"
import type { GraphFailure } from "../../domain/media/graph_failure.ts"
import { MediaGraphPort } from "../../domain/media/media_graph_port.ts"
import { MediaPolicy } from "../../domain/media/policy.ts"
import { DEFAULT_WAITING } from "../../domain/media/polling.ts"
import type { Progress } from "../../domain/media/publish_journal.ts"
import { decideReconcile, publishReaction } from "../../domain/media/reconcile.ts"
import type { StoreUnavailable } from "../../domain/store_unavailable.ts"
import { containerStatus } from "./containers.ts"
import { GraphPacing, paced } from "./graph_pacing.ts"
import { type PublishSession, withPublishSession } from "./publish_session.ts"
import { type WaitOptions, waitUntilReady } from "./wait_until_ready.ts"

/** Where publishing led. `still-processing` is no failure: publish again later, with the same container or key. */
export type PublishResult =
  | {
      readonly state: "published"
      readonly containerId: string
      /** `undefined` when the post is certain and only the answer with its id was lost. */
      readonly mediaId: string | undefined
    }
  /** Without an id while the units of a carousel are not ready for their parent. */
  | { readonly state: "still-processing"; readonly containerId: string | undefined }

/** How to publish, beside how to wait. */
export interface PublishOptions extends WaitOptions {
  /** Publish what the platform is known to refuse: a video that is no reel. */
  readonly force?: boolean
}

/** Tries after a call that certainly made no post, and their pauses: 5 s, doubling. */
const LATER_TRIES = 5
const LATER_PAUSE_MS = 5_000

/** Time after which to look at a used-up quota again, ms. It is free again post by post, each 24 hours after it was made. */
const QUOTA_RETRY_MS = 3_600_000

/**
 * Refuses a kind that the platform accepts as a container and refuses as a post.
 *
 * @param kind what the container holds, when it is known
 * @param force let the platform decide
 * @fails {InvalidMedia} for a video that is no reel
 */
export const checkPublishable = (kind: MediaKind | undefined, force: boolean | undefined) =>
  kind === "video" && force !== true
    ? Effect.fail(
        invalidMedia(
          "/kind",
          "standalone-video",
          "a video is published as a reel: create a reel with shareToFeed true",
        ),
      )
    : Effect.void

/**
 * Asks for the quota before anything is spent. Only advice: when it cannot be read, publishing goes on.
 *
 * @fails {QuotaExhausted} when the platform says it is used up
 */
export const checkQuota = Effect.fnUntraced(function* (accountId: string) {
  const graph = yield* MediaGraphPort
  const asked = yield* Effect.result(paced(accountId, "limit", graph.readPublishingLimit(accountId)))
  if (Result.isFailure(asked)) return
  const { used, total } = asked.success
  if (total !== undefined && used >= total)
    return yield* new QuotaExhausted({ used, total, retryAfterMs: QUOTA_RETRY_MS })
})

/** What comes before a publish call: a result that needs no call, or the call's number for this container. */
type Next = { readonly done: PublishResult } | { readonly sends: number }

type HeldFailure = GraphFailure | InvalidMedia | OutcomeUnknown | PublishBusy | StoreUnavailable

type Intended = Extract<Progress, { state: "intended" }>

const published = (containerId: string, mediaId: string | undefined): Progress => ({
  state: "published",
  containerId,
  mediaId,
})

/** Records a post that exists. A journal that cannot be written is logged only: the next run finds the post by looking. */
const recordPublished = (session: PublishSession, containerId: string, mediaId: string | undefined) =>
  session
    .update(() => ({ progress: published(containerId, mediaId) }))
    .pipe(
      Effect.retry({ times: 2 }),
      Effect.catch((failure) =>
        Effect.logError("A post was published and could not be recorded").pipe(
          Effect.annotateLogs({ containerId, mediaId, code: failure.code }),
        ),
      ),
      Effect.as<PublishResult>({ state: "published", containerId, mediaId }),
    )

type Sent =
  | { readonly done: PublishResult }
  | { readonly failure: GraphFailure; readonly again: "later" | "look" | "no" }

/**
 * Makes the publish call, the only place that does. Writing the intent, the call and writing its outcome are one piece
 * that cannot be interrupted. A crash inside leaves the intent in the journal, and the next run then looks at the
 * container before it does anything.
 */
const sendPublish = Effect.fnUntraced(function* (session: PublishSession, containerId: string, sends: number) {
  const graph = yield* MediaGraphPort
  const pacing = yield* GraphPacing
  const { accountId } = session.entry()
  yield* pacing.admit(accountId, "publish")
  const sinceMs = yield* Clock.currentTimeMillis
  const intended = (lookOnly: boolean): Progress => ({ state: "intended", containerId, sends, sinceMs, lookOnly })
  // After a refusal the state before this call is written back: an earlier call whose answer was lost stays in doubt.
  const before = session.entry().progress
  const piece = Effect.gen(function* (): Effect.fn.Return<Sent, Effect.Error<ReturnType<PublishSession["update"]>>> {
    yield* session.update(() => ({ progress: intended(false) }))
    const result = yield* Effect.result(graph.publishContainer({ accountId, containerId }))
    if (Result.isSuccess(result)) {
      yield* pacing.note(accountId, result.success)
      return { done: yield* recordPublished(session, containerId, result.success.value) }
    }
    const { failure } = result
    yield* pacing.note(accountId, failure)
    const reaction = publishReaction(failure, sends)
    if (reaction === "look") return { failure, again: "look" }
    if (reaction === "look-only") {
      yield* session.update(() => ({ progress: intended(true) }))
      return { failure, again: "look" }
    }
    yield* session.update(() => ({ progress: before }))
    return { failure, again: reaction === "later" ? "later" : "no" }
  })
  return yield* Effect.uninterruptible(piece)
})

/**
 * Finds out what became of a publish call whose answer is missing.
 *
 * @returns whether the container may be sent again
 * @fails {OutcomeUnknown} when the graph does not tell; nothing was sent
 */
const reconcile = Effect.fnUntraced(function* (
  session: PublishSession,
  intended: Intended,
  sentNow: number,
): Effect.fn.Return<Next, OutcomeUnknown | PublishBusy | StoreUnavailable, MediaGraphPort | GraphPacing> {
  const { containerId, sends, sinceMs, lookOnly } = intended
  for (;;) {
    const status = yield* Effect.result(containerStatus(containerId))
    const seen = Result.isSuccess(status) ? status.success.state : "unreadable"
    const elapsedMs = (yield* Clock.currentTimeMillis) - sinceMs
    const decision = decideReconcile(seen, { elapsedMs, sentNow, lookOnly })
    switch (decision.next) {
      case "published":
        return { done: yield* recordPublished(session, containerId, undefined) }
      case "send-again":
        return { sends: sends + 1 }
      case "unknown":
        return yield* new OutcomeUnknown({ containerId, seen: decision.seen })
      case "look-again":
        yield* session.update(() => ({}))
        yield* Effect.sleep(decision.pauseMs)
    }
  }
})

/** Waits until a container for which no publish call was made can be published. */
const whenReady = Effect.fnUntraced(function* (
  session: PublishSession,
  containerId: string,
  options: PublishOptions,
): Effect.fn.Return<Next, GraphFailure | InvalidMedia, MediaGraphPort | GraphPacing> {
  const onLook: WaitOptions["onLook"] = (look) =>
    Effect.andThen(
      // Each look prolongs the hold. Losing the hold does not end the wait: the next step of the post fails with it.
      Effect.ignore(session.update(() => ({}))),
      options.onLook?.(look) ?? Effect.void,
    )
  const waited = yield* waitUntilReady(containerId, { ...options, onLook })
  if (waited.state === "published") return { done: yield* recordPublished(session, containerId, undefined) }
  return waited.state === "ready" ? { sends: 1 } : { done: { state: "still-processing", containerId } }
})

/**
 * Publishes the container of a held post, once.
 *
 * @fails {GraphFailure} when the graph certainly made no post
 * @fails {OutcomeUnknown} when it may have made one and does not tell
 */
export const publishHeld = Effect.fnUntraced(function* (
  session: PublishSession,
  wanted: string,
  options: PublishOptions,
): Effect.fn.Return<PublishResult, HeldFailure, MediaGraphPort | GraphPacing> {
  for (let tries = 1, sentNow = 0; ; tries++, sentNow++) {
    const { progress } = session.entry()
    if (progress.state === "published")
      return { state: "published", containerId: progress.containerId, mediaId: progress.mediaId }
    const containerId = progress.state === "intended" ? progress.containerId : wanted
    const next: Next = yield* progress.state === "intended"
      ? reconcile(session, progress, sentNow)
      : whenReady(session, containerId, options)
    if ("done" in next) return next.done
    const sent = yield* sendPublish(session, containerId, next.sends)
    if ("done" in sent) return sent.done
    if (sent.again === "look") continue
    const pauseMs = sent.failure.retryAfterMs ?? LATER_PAUSE_MS * 2 ** (tries - 1)
    const { pauseMaxMs } = yield* MediaPolicy
    if (sent.again === "no" || tries >= LATER_TRIES || pauseMs > pauseMaxMs) return yield* sent.failure
    yield* Effect.sleep(pauseMs)
  }
})

/**
 * Publishes a container that exists, at most once, however often and from wherever this is called.
 *
 * @param call.kind what it holds, when known: a video alone is refused here
 * @param options.waiting `budgetMs` 0 looks once; the time also bounds the wait for another run
 * @fails {InvalidMedia} for a standalone video, unless forced; nothing was sent
 * @fails {QuotaExhausted} before the call, {GraphFailure} when certainly nothing was published
 * @fails {OutcomeUnknown} when something may have been published and the graph does not tell
 * @fails {PublishBusy} when another run works on it
 * @fails {StoreUnavailable} when the journal cannot be read or written; then nothing is sent
 */
export const publish = Effect.fn("publish")(function* (
  call: { readonly accountId: string; readonly containerId: string; readonly kind?: MediaKind },
  options: PublishOptions = {},
) {
  const { accountId, containerId, kind } = call
  yield* checkIds({ accountId, containerId })
  yield* checkPublishable(kind, options.force)
  const waitMs = options.waiting?.budgetMs ?? DEFAULT_WAITING.budgetMs
  return yield* withPublishSession({ key: `container:${containerId}`, accountId, waitMs }, (session) =>
    Effect.gen(function* () {
      if (session.entry().progress.state === "preparing") yield* checkQuota(accountId)
      return yield* publishHeld(session, containerId, options)
    }),
  )
})
