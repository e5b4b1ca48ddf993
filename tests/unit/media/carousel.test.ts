// Carousels all or nothing: the use case over the graph in memory.
import { deepEqual, equal, ok } from "node:assert/strict"
import { describe } from "node:test"
import { Effect, Layer } from "effect"
import { createCarouselFromItems } from "../../../application/media/carousel.ts"
import { createContainer } from "../../../application/media/containers.ts"
import { planMedia } from "../../../application/media/plan.ts"
import { MediaGraphPort } from "../../../domain/media/media_graph_port.ts"
import { DEFAULT_MEDIA_RULES, MediaPolicy, type MediaRules } from "../../../domain/media/policy.ts"
import type { ModelCall } from "../../support/graph_model.ts"
import { mediaTest, mediaTestWith } from "../../support/media_test.ts"
import { ACCOUNT, graphError, image, type MediaWorld, video } from "../../support/media_world.ts"

const images = (count: number) => Array.from({ length: count }, (_, at) => image(at))

/** Meets the creation of the n-th picture. */
const meet = (world: MediaWorld, n: number, answer: ReturnType<typeof graphError>) =>
  world.model.setFault((call) =>
    call.parameters["image_url"]?.endsWith(`/${n}.jpg`) ? { kind: "answer", answer } : undefined,
  )

const isParent = ({ operation, parameters }: ModelCall): boolean =>
  operation === "create" && parameters["media_type"] === "CAROUSEL"
const parents = ({ model }: MediaWorld): number => model.calls.filter(isParent).length

const withRules = (change: Partial<MediaRules>) =>
  Effect.provideService(MediaPolicy, { ...DEFAULT_MEDIA_RULES, ...change })

describe("createCarouselFromItems()", () => {
  mediaTest("78 gives units no text and no place, and the carousel both", function* (world) {
    const post = { caption: "trip", locationId: "7", items: [image(1), video(2), image(3)] }
    const result = yield* createCarouselFromItems(ACCOUNT, post)
    ok(result.state === "created")
    const made = [...world.model.containers.values()].map(({ parameters }) => parameters)
    deepEqual(
      made.slice(0, 3).map((each) => [each["is_carousel_item"], each["caption"], each["location_id"]]),
      [
        ["true", undefined, undefined],
        ["true", undefined, undefined],
        ["true", undefined, undefined],
      ],
    )
    deepEqual(made[3], {
      media_type: "CAROUSEL",
      caption: "trip",
      location_id: "7",
      children: result.items.map(({ containerId }) => containerId).join(","),
    })
  })

  mediaTest("73 keeps at most two in flight, and the units' order although answers come reversed", function* (world) {
    let inFlight = 0
    let most = 0
    const graph = yield* MediaGraphPort
    const lazy = Layer.succeed(MediaGraphPort, {
      ...graph,
      createContainer: (call) =>
        Effect.gen(function* () {
          most = Math.max(most, ++inFlight)
          const n = call.container.kind === "image" ? Number(/(\d+)\.jpg/.exec(call.container.imageUrl)?.[1]) : 0
          yield* Effect.sleep(10_000 - n * 1_000)
          inFlight--
          return yield* graph.createContainer(call)
        }),
    })
    const result = yield* createCarouselFromItems(ACCOUNT, { items: images(5) }).pipe(
      Effect.provide(lazy),
      withRules({ childConcurrency: 2 }),
    )
    equal(most, 2)
    ok(result.state === "created")
    const children = world.model.containers.get(result.containerId)?.parameters["children"]?.split(",") ?? []
    deepEqual(
      children.map((id) => world.model.containers.get(id)?.parameters["image_url"]),
      images(5).map(({ imageUrl }) => imageUrl),
    )
    ok(children.join() !== [...children].sort().join(), "the answers came in another order")
  })

  mediaTest("74 reports a failed unit with the ids of the others, and makes no parent", function* (world) {
    meet(world, 2, graphError(400, 36003, 2207009))
    const error = yield* Effect.flip(createCarouselFromItems(ACCOUNT, { items: images(5) }))
    ok(error._tag === "CarouselIncomplete")
    deepEqual(
      error.created.map(({ index }) => index),
      [0, 1, 3, 4],
    )
    deepEqual(
      error.failed.map(({ index, error: each }) => [index, each.code]),
      [[2, "GRAPH_MEDIA_REJECTED"]],
    )
    deepEqual(error.skipped, [])
    equal(parents(world), 0)

    world.model.setFault(() => undefined)
    const items = images(5).map((each, at) => {
      const known = error.created.find(({ index }) => index === at)
      return known === undefined ? each : { kind: "existing" as const, containerId: known.containerId }
    })
    const before = world.calls("create")
    equal((yield* createCarouselFromItems(ACCOUNT, { items })).state, "created")
    equal(world.calls("create") - before, 2, "one unit and the parent")
  })

  mediaTest("75 sends nothing when the last unit is invalid", function* (world) {
    const items = [...images(4), { kind: "image", imageUrl: "http://a.example/x" }]
    equal((yield* Effect.flip(createCarouselFromItems(ACCOUNT, { items })))._tag, "InvalidMedia")
    equal((yield* Effect.flip(createCarouselFromItems("../1", { items: images(2) })))._tag, "InvalidMedia")
    equal(world.calls(), 0)
  })

  for (const [name, answer] of [
    ["a rate limit", graphError(400, 80002)],
    ["a refused token", graphError(400, 190, 463)],
    ["a block", graphError(400, 368)],
  ] as const) {
    mediaTest(`76 starts no further unit after ${name}`, function* (world) {
      meet(world, 1, answer)
      const error = yield* createCarouselFromItems(ACCOUNT, { items: images(6) }).pipe(
        Effect.flip,
        withRules({ childConcurrency: 1, pauseMaxMs: 0 }),
      )
      ok(error._tag === "CarouselIncomplete")
      deepEqual([error.created.length, error.failed.length, error.skipped], [1, 1, [2, 3, 4, 5]])
      equal(world.calls("create"), 2)
    })
  }

  mediaTestWith({ processingMs: 40_000 }, "77 makes the parent only when the videos are ready", function* (world) {
    const result = yield* createCarouselFromItems(ACCOUNT, { items: [image(1), video(2)] })
    equal(result.state, "created")
    const at = world.model.calls.find(isParent)?.atMs ?? 0
    ok(at - (world.model.calls[0]?.atMs ?? 0) >= 40_000)
    const looks = world.model.calls.filter(({ operation }) => operation === "status")
    ok(looks.length >= 3)
    equal(new Set(looks.map(({ subject }) => subject)).size, 1, "pictures are not looked at")
    equal(parents(world), 1)
  })

  mediaTestWith({ processingMs: 0 }, "77 names a video whose processing failed", function* (world) {
    world.model.setFault(({ operation, subject }) => {
      if (operation === "status")
        world.model.force(subject, { status_code: "ERROR", status: "Error: error code 2207082" })
      return undefined
    })
    const error = yield* Effect.flip(createCarouselFromItems(ACCOUNT, { items: [image(1), video(2)] }))
    ok(error._tag === "CarouselIncomplete")
    deepEqual(
      error.failed.map(({ index, error: each }) => [index, "subcode" in each && each.subcode]),
      [[1, 2207082]],
    )
    deepEqual(
      error.created.map(({ index }) => index),
      [0],
    )
    equal(parents(world), 0)
  })

  mediaTestWith({ processingMs: 3_600_000 }, "gives units back when time is up, and takes them", function* (world) {
    const result = yield* createCarouselFromItems(ACCOUNT, { items: [image(1), video(2)] })
    equal(result.state, "still-processing")
    deepEqual(
      result.items.map(({ index }) => index),
      [0, 1],
    )
    equal(parents(world), 0)
    yield* Effect.sleep("1 hour")
    const items = result.items.map(({ containerId }) => ({ kind: "existing", containerId }))
    equal((yield* createCarouselFromItems(ACCOUNT, { items })).state, "created")
    equal(world.model.containers.size, 3)
  })

  mediaTest("planMedia() names the containers of a carousel and asks the graph nothing", function* (world) {
    const items = [image(1), video(2), { kind: "existing", containerId: "7" }]
    const { creations, warnings } = yield* planMedia(ACCOUNT, { kind: "carousel", caption: "c", items })
    deepEqual(creations, [
      { accountId: ACCOUNT, container: { ...image(1), isCarouselItem: true } },
      { accountId: ACCOUNT, container: { ...video(2), isCarouselItem: true } },
      { accountId: ACCOUNT, container: { kind: "carousel", caption: "c", children: ["ITEM0", "ITEM1", "7"] } },
    ])
    deepEqual(warnings, [])
    deepEqual(
      (yield* planMedia(ACCOUNT, video(1))).warnings.map(({ rule }) => rule),
      ["standalone-video"],
    )
    equal((yield* Effect.flip(planMedia(ACCOUNT, { kind: "image" })))._tag, "InvalidMedia")
    equal((yield* Effect.flip(planMedia("../1", image(1))))._tag, "InvalidMedia")
    equal(world.calls(), 0)
  })

  mediaTest("a carousel takes ids that exist", function* (world) {
    const items = yield* createCarouselFromItems(ACCOUNT, { items: images(2) })
    const children = items.items.map(({ containerId }) => containerId)
    equal((yield* createContainer(ACCOUNT, { kind: "carousel", children })).kind, "carousel")
    equal(parents(world), 2)
  })
})
