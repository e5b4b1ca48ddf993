// Publishing case by case: what a caller is told, and how many calls and posts it took.
import { deepEqual, equal, ok } from "node:assert/strict"
import { describe } from "node:test"
import { Clock, Effect, Exit, Fiber, Layer, Logger, Option } from "effect"
import { createContainer } from "../../../application/media/containers.ts"
import { publish } from "../../../application/media/publish.ts"
import { publishPost } from "../../../application/media/publish_post.ts"
import { GraphFailure } from "../../../domain/media/graph_failure.ts"
import { PublishJournal } from "../../../domain/media/publish_journal.ts"
import { GRACE_MS } from "../../../domain/media/reconcile.ts"
import { StoreUnavailable } from "../../../domain/store_unavailable.ts"
import type { Fault, ModelAnswer } from "../../support/graph_model.ts"
import { mediaTest, mediaTestWith } from "../../support/media_test.ts"
import {
  ACCOUNT,
  CAROUSEL,
  failFirst,
  graphError,
  IMAGE,
  image,
  type MediaWorld,
  REEL,
  unavailable,
} from "../../support/media_world.ts"

const post = (key: string, more: object = REEL) => publishPost({ key, accountId: ACCOUNT, post: more })
const ready = Effect.map(createContainer(ACCOUNT, { kind: "image", ...IMAGE }), ({ containerId }) => ({
  accountId: ACCOUNT,
  containerId,
}))
const publishFaults = (world: MediaWorld, ...faults: ReadonlyArray<Fault | undefined>): void => {
  const left = [...faults]
  world.model.setFault(({ operation }) => (operation === "publish" ? left.shift() : undefined))
}
const answered = (answer: ModelAnswer, applied = false): Fault => ({ kind: "answer", answer, applied })
const sends = (world: MediaWorld): ReadonlyArray<string> =>
  world.model.calls
    .filter(({ operation }) => operation === "publish")
    .map(({ parameters }) => parameters["creation_id"] ?? "")

describe("publish()", () => {
  mediaTest("81 publishes, and says the same ever after without a call", function* (world) {
    const call = yield* ready
    const result = yield* publish(call)
    ok(result.state === "published")
    equal(result.mediaId, world.model.posts[0]?.mediaId)
    const calls = world.calls()
    deepEqual(yield* publish(call), result)
    equal(world.calls(), calls)
    equal(world.model.posts.length, 1)
  })

  mediaTestWith({ processingMs: 0 }, "81 after 9007 waits and publishes the same container", function* (world) {
    const call = yield* ready
    publishFaults(world, answered(graphError(400, 9007, 2207027)))
    equal((yield* publish(call)).state, "published")
    deepEqual(sends(world), [call.containerId, call.containerId])
    equal(world.model.posts.length, 1)
  })

  for (const [name, fault] of [
    ["a lost answer", { kind: "lose-answer" }],
    ["503", answered(unavailable, true)],
    ["an answer cut off", answered({ status: 200, body: '{"id":"178' }, true)],
    ["60 a block that was none", answered(graphError(400, 4, 2207051), true)],
    ["a temporary error of the publishing", answered(graphError(400, 24, 2207008), true)],
  ] as const) {
    mediaTest(`82 ${name}, and the post is there: success after one call`, function* (world) {
      const call = yield* ready
      publishFaults(world, fault)
      deepEqual(yield* publish(call), { state: "published", containerId: call.containerId, mediaId: undefined })
      equal(sends(world).length, 1)
      equal(world.model.posts.length, 1)
    })
  }

  for (const [name, fault] of [
    ["lost", { kind: "lose-request" }],
    ["answered with a temporary error of the publishing", answered(graphError(400, 24, 2207008))],
  ] as const) {
    mediaTest(
      `83 a call that was ${name} is made once more, for the same container, after the whole grace`,
      function* (world) {
        const call = yield* ready
        publishFaults(world, fault)
        ok((yield* publish(call)).state === "published")
        deepEqual(sends(world), [call.containerId, call.containerId])
        const [first, second] = world.model.calls.filter(({ operation }) => operation === "publish")
        ok((second?.atMs ?? 0) - (first?.atMs ?? 0) >= GRACE_MS)
        equal(world.model.posts.length, 1)
      },
    )
  }

  mediaTest("83 runs that are cut short add up: the grace goes on from one to the next", function* (world) {
    const call = yield* ready
    publishFaults(world, { kind: "lose-request" })
    let runs = 0
    for (; runs < 30; runs++) {
      const cut = yield* Effect.timeoutOption(publish(call), "15 seconds")
      if (Option.isSome(cut)) break
    }
    ok(runs >= 4 && runs < 12, `${runs}`)
    deepEqual(sends(world), [call.containerId, call.containerId])
    equal(world.model.posts.length, 1)
  })

  mediaTest("84 nobody tells: outcome unknown, and a second run asks again and does not publish", function* (world) {
    const call = yield* ready
    let sent = false
    world.model.setFault(({ operation }) => {
      if (operation === "publish") {
        sent = true
        return { kind: "lose-answer" }
      }
      return sent && operation === "status" ? answered(graphError(400, 100, 33)) : undefined
    })
    for (let run = 0; run < 2; run++) {
      const error = yield* Effect.flip(publish(call))
      ok(error._tag === "OutcomeUnknown")
      equal(error.seen, "unreadable")
      equal(sends(world).length, 1)
    }
    world.model.setFault(() => undefined)
    equal((yield* publish(call)).state, "published")
    equal(sends(world).length, 1)
    equal(world.model.posts.length, 1)
  })

  mediaTest("60 a block that was one: one call, unknown, never a second", function* (world) {
    const call = yield* ready
    publishFaults(world, answered(graphError(400, 4, 2207051)))
    for (let run = 0; run < 2; run++) equal((yield* Effect.flip(publish(call)))._tag, "OutcomeUnknown")
    equal(sends(world).length, 1)
    equal(world.model.posts.length, 0)
  })

  for (const [code, subcode, tag] of [
    [190, 463, "GRAPH_TOKEN_INVALID"],
    [10, undefined, "GRAPH_PERMISSION"],
    [9, 2207042, "GRAPH_DAILY_QUOTA"],
    [100, 2207089, "GRAPH_INVALID_INPUT"],
    [368, undefined, "GRAPH_BLOCKED"],
  ] as const) {
    mediaTest(`a refusal ${code}/${subcode} is said, and the container stays usable`, function* (world) {
      const call = yield* ready
      publishFaults(world, answered(graphError(400, code, subcode)))
      const failure = yield* Effect.flip(publish(call))
      ok(failure instanceof GraphFailure)
      equal(failure.code, tag)
      equal(sends(world).length, 1)
      equal((yield* publish(call)).state, "published")
      equal(world.model.posts.length, 1)
    })
  }

  mediaTest("a rate limit is waited for, the container looked at again", function* (world) {
    const call = yield* ready
    publishFaults(world, answered({ ...graphError(400, 4), headers: { "retry-after": "90" } }))
    const startedAt = yield* Clock.currentTimeMillis
    equal((yield* publish(call)).state, "published")
    ok((yield* Clock.currentTimeMillis) - startedAt >= 90_000)
    deepEqual(sends(world), [call.containerId, call.containerId])
  })

  mediaTestWith({ processingMs: 3_600_000 }, "W9 what is still processing is a value, and no call", function* (world) {
    const { containerId } = yield* createContainer(ACCOUNT, { kind: "reel", videoUrl: REEL.videoUrl })
    const result = yield* publish({ accountId: ACCOUNT, containerId }, { waiting: { budgetMs: 0 } })
    deepEqual(result, { state: "still-processing", containerId })
    equal(sends(world).length, 0)
  })

  mediaTestWith({ processingMs: 0 }, "87 a video alone is refused here; forced, by the platform", function* (world) {
    const { containerId, warnings } = yield* createContainer(ACCOUNT, { kind: "video", videoUrl: REEL.videoUrl })
    deepEqual(
      warnings.map(({ rule }) => rule),
      ["standalone-video"],
    )
    const calls = world.calls()
    const call = { accountId: ACCOUNT, containerId, kind: "video" } as const
    equal((yield* Effect.flip(publish(call)))._tag, "InvalidMedia")
    equal((yield* Effect.flip(post("k", { kind: "video", videoUrl: REEL.videoUrl })))._tag, "InvalidMedia")
    equal(world.calls(), calls)
    const failure = yield* Effect.flip(publish(call, { force: true }))
    ok(failure instanceof GraphFailure)
    equal(failure.subcode, 2207089)
  })

  mediaTestWith({ quotaTotal: 0 }, "88 a quota used up is refused before the call", function* (world) {
    const error = yield* Effect.flip(publish(yield* ready))
    ok(error._tag === "QuotaExhausted")
    deepEqual([error.used, error.total, error.retryAfterMs], [0, 0, 3_600_000])
    equal(sends(world).length, 0)
  })

  mediaTest("88 a quota that cannot be read is no reason to stop", function* (world) {
    failFirst(world.model, "limit", 9, unavailable)
    equal((yield* publish(yield* ready)).state, "published")
    equal(world.calls("limit"), 1)
  })

  mediaTest("sends nothing when the journal cannot be written", function* (world) {
    const call = yield* ready
    const unavailableStore = new StoreUnavailable({
      store: { user: "-", host: "file", database: "x" },
      reason: "full",
    })
    const journal = yield* PublishJournal
    const broken = Layer.succeed(PublishJournal, { ...journal, put: () => Effect.fail(unavailableStore) })
    equal((yield* Effect.flip(Effect.provide(publish(call), broken)))._tag, "StoreUnavailable")
    equal(sends(world).length, 0)
  })

  mediaTest("says published when only the record of it could not be written, and finds it again", function* (world) {
    const call = yield* ready
    const journal = yield* PublishJournal
    const failing = Layer.succeed(PublishJournal, {
      ...journal,
      put: (entry, version) =>
        world.model.posts.length > 0
          ? Effect.fail(new StoreUnavailable({ store: { user: "-", host: "-", database: "-" }, reason: "full" }))
          : journal.put(entry, version),
    })
    // The failure to record is logged as an error, which is not this test's to show.
    const result = yield* publish(call).pipe(Effect.provide(failing), Effect.provide(Logger.layer([])))
    ok(result.state === "published" && result.mediaId !== undefined)
    equal((yield* publish(call)).state, "published")
    equal(world.model.posts.length, 1)
  })
})

describe("publishPost()", () => {
  mediaTest("86 two at once with one key: one call, the same answer", function* (world) {
    const results = yield* Effect.all([post("k"), post("k"), post("k")], { concurrency: "unbounded" })
    equal(sends(world).length, 1)
    equal(new Set(results.map((each) => each.state === "published" && each.mediaId)).size, 1)
    equal(world.model.containers.size, 1)
    yield* post("other")
    equal(world.model.posts.length, 2)
  })

  mediaTestWith({ processingMs: 60_000 }, "86 whoever will not wait is told of the other run", function* (world) {
    const first = yield* Effect.forkChild(post("k"))
    yield* Effect.sleep("10 seconds")
    const calls = world.calls()
    const call = publishPost({ key: "k", accountId: ACCOUNT, post: REEL }, { waiting: { budgetMs: 0 } })
    const error = yield* Effect.flip(call)
    ok(error._tag === "PublishBusy")
    ok(error.retryAfterMs > 0)
    equal(world.calls(), calls)
    equal((yield* Fiber.join(first)).state, "published")
  })

  mediaTestWith({ processingMs: 60_000 }, "W13 an interrupted run lets go, and the next goes on", function* (world) {
    const first = yield* Effect.forkChild(post("k"))
    yield* Effect.sleep("10 seconds")
    yield* Fiber.interrupt(first)
    const startedAt = yield* Clock.currentTimeMillis
    equal((yield* post("k")).state, "published")
    ok((yield* Clock.currentTimeMillis) - startedAt < 120_000)
    equal(world.model.containers.size, 1)
  })

  mediaTest("74 the second run of a carousel creates only what is missing", function* (world) {
    const carousel = { kind: "carousel", ...CAROUSEL, items: [1, 2, 3, 4, 5].map(image) }
    world.model.setFault(({ parameters }) =>
      parameters["image_url"]?.endsWith("/3.jpg") ? answered(graphError(400, 36003, 2207009)) : undefined,
    )
    equal((yield* Effect.flip(post("k", carousel)))._tag, "CarouselIncomplete")
    equal(world.calls("create"), 5)
    world.model.setFault(() => undefined)
    equal((yield* post("k", carousel)).state, "published")
    equal(world.calls("create"), 7, "one unit and the parent")
    equal(world.model.posts.length, 1)
  })

  const stuck = (world: MediaWorld) => {
    publishFaults(world, answered(graphError(400, 10)))
    return Effect.flip(post("k"))
  }

  mediaTest("89 a container with less than an hour to live is made anew", function* (world) {
    yield* stuck(world)
    yield* Effect.sleep("22 hours")
    yield* stuck(world)
    equal(world.model.containers.size, 1)
    yield* Effect.sleep("90 minutes")
    world.model.setFault(() => undefined)
    equal((yield* post("k")).state, "published")
    equal(world.model.containers.size, 2)
  })

  mediaTest("89 another caption asks for another container, another signature does not", function* (world) {
    const file = (signature: string) => ({ ...REEL, videoUrl: `${REEL.videoUrl}?X-Amz-Signature=${signature}` })
    publishFaults(world, answered(graphError(400, 10)), answered(graphError(400, 10)))
    yield* Effect.flip(post("k", file("a")))
    yield* Effect.flip(post("k", file("b")))
    equal(world.model.containers.size, 1)
    equal((yield* post("k", { ...file("c"), caption: "edited" })).state, "published")
    equal(world.model.containers.size, 2)
    equal(world.model.containers.get(world.model.posts[0]?.containerId ?? "")?.parameters["caption"], "edited")
  })

  mediaTest("a container the platform gave up is made anew once", function* (world) {
    let first = true
    world.model.setFault(({ operation, subject }) => {
      if (operation === "status" && first)
        world.model.force(subject, { status_code: "ERROR", status: "error code 2207082" })
      if (operation === "status") first = false
      return undefined
    })
    equal((yield* post("k")).state, "published")
    equal(world.model.containers.size, 2)
    equal(world.model.posts.length, 1)
  })

  mediaTestWith({ publishedLagMs: 200_000 }, "a container gone after a lost call is not made anew", function* (world) {
    publishFaults(world, { kind: "lose-answer" })
    equal((yield* post("k")).state, "published")
    ok(sends(world).length >= 2)
    equal(world.model.containers.size, 1)
    equal(world.model.posts.length, 1)
  })

  mediaTest("refuses what cannot be a key or a post, and a key of another account; nothing is sent", function* (world) {
    for (const key of ["", "a b", "ä", "x".repeat(201), undefined, 7])
      equal((yield* Effect.flip(publishPost({ key, accountId: ACCOUNT, post: REEL })))._tag, "InvalidMedia")
    for (const wrong of [null, [], {}, { kind: "carousel" }, { kind: "image", ...IMAGE, isCarouselItem: true }])
      equal((yield* Effect.flip(publishPost({ key: "k", accountId: ACCOUNT, post: wrong })))._tag, "InvalidMedia")
    equal(world.calls(), 0)
    yield* post("k")
    const calls = world.calls()
    const exit = yield* Effect.exit(publishPost({ key: "k", accountId: "42", post: REEL }))
    ok(Exit.isFailure(exit))
    equal(world.calls(), calls)
  })
})
