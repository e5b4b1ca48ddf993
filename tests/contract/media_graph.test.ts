// What every MediaGraphPort promises: the graph in memory, and the HTTP adapter over a socket to the scripted graph.
// What only the wire can show (the graph's codes, its headers, lost answers) is asserted on the HTTP adapter alone.
import { expect } from "bun:test"
import { describe } from "node:test"
import { Clock, Effect, Layer, Redacted, type Scope } from "effect"
import { TestClock } from "effect/testing"
import type { Placement } from "../../adapters/driven/media_graph/graph_requests.ts"
import * as memory from "../../adapters/driven/media_graph/memory.ts"
import type { Container } from "../../domain/media/container.ts"
import type { GraphFailure } from "../../domain/media/graph_failure.ts"
import { MediaGraphPort } from "../../domain/media/media_graph_port.ts"
import { effectTest } from "../support/effect_test.ts"
import { type GraphModel, makeGraphModel } from "../support/graph_model.ts"
import { graphServer } from "../support/graph_server.ts"
import { ACCOUNT, graphError } from "../support/media_world.ts"
import { graphOverHttp } from "../support/watched_graph.ts"

type Graph = MediaGraphPort["Service"]
type Steps = Generator<Effect.Effect<unknown, unknown, TestClock.TestClock | Scope.Scope>, unknown, never>

const overHttp = (model: GraphModel, placement: Placement): Layer.Layer<MediaGraphPort> =>
  Layer.unwrap(
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const server = yield* graphServer(model, () => clock.currentTimeMillisUnsafe())
      return graphOverHttp(server.url, { placement })
    }),
  )

const QUERY: Placement = { parameters: "query", token: "query" }
const FORM: Placement = { parameters: "form", token: "query" }

type Options = { readonly processingMs: number; readonly quotaTotal: number }

const ADAPTERS: ReadonlyArray<readonly [name: string, layer: (options: Options) => Layer.Layer<MediaGraphPort>]> = [
  ["memory", memory.layer],
  ["http", (options) => overHttp(makeGraphModel(options), QUERY)],
  ["http, as a form", (options) => overHttp(makeGraphModel(options), FORM)],
  ["http, token in a header", (options) => overHttp(makeGraphModel(options), { ...QUERY, token: "header" })],
]

const image: Container = { kind: "image", imageUrl: "https://cdn.example.com/a.jpg?x=1&y=a%2Bb", caption: "😀 & ünï\n" }
const reel: Container = { kind: "reel", videoUrl: "https://cdn.example.com/r.mp4" }
const video: Container = { kind: "video", videoUrl: "https://cdn.example.com/v.mp4", isCarouselItem: true }
const item: Container = { kind: "image", imageUrl: "https://cdn.example.com/1.jpg", isCarouselItem: true }

const create = (graph: Graph, container: Container) =>
  Effect.map(graph.createContainer({ accountId: ACCOUNT, container }), ({ value }) => value)
const state = (graph: Graph, id: string) => Effect.map(graph.readContainer(id), ({ value }) => value.state)
const publish = (graph: Graph, containerId: string) => graph.publishContainer({ accountId: ACCOUNT, containerId })
/** The kind of a failure that says the graph certainly did nothing. */
const refusal = <A>(call: Effect.Effect<A, { readonly _tag: string } | GraphFailure>) =>
  Effect.map(Effect.flip(call), (failure) => {
    expect(failure).toMatchObject({ _tag: "GraphFailure", applied: "no" })
    return "kind" in failure ? failure.kind : undefined
  })

for (const [name, layerOf] of ADAPTERS)
  describe(`MediaGraphPort: ${name}`, () => {
    const promises = (promise: string, program: (graph: Graph) => Steps, options: Partial<Options> = {}): void =>
      effectTest(promise, () =>
        Effect.flatMap(MediaGraphPort, (graph) => Effect.gen(() => program(graph))).pipe(
          Effect.provide(layerOf({ processingMs: 30_000, quotaTotal: 50, ...options })),
        ),
      )

    promises("creates containers whose ids keep all their digits", function* (graph) {
      const ids = [yield* create(graph, image), yield* create(graph, image)]
      for (const id of ids) expect(id).toMatch(/^\d{17}$/)
      expect(new Set(ids).size).toBe(2)
    })

    promises("shows a container through its life", function* (graph) {
      const id = yield* create(graph, reel)
      expect(yield* state(graph, id)).toBe("in-progress")
      expect(yield* refusal(publish(graph, id))).toBe("NotReady")
      yield* TestClock.adjust("30 seconds")
      expect(yield* state(graph, id)).toBe("finished")
      yield* TestClock.adjust("24 hours")
      expect(yield* state(graph, id)).toBe("expired")
      // The platform's answer does not say whether an earlier call made a post, so this is not a certain refusal.
      expect(yield* Effect.flip(publish(graph, id))).toMatchObject({ _tag: "GraphFailure", kind: "ContainerGone" })
    })

    promises("publishes a finished container once, for its account", function* (graph) {
      const id = yield* create(graph, image)
      expect(yield* state(graph, id)).toBe("finished")
      expect(yield* refusal(graph.publishContainer({ accountId: "42", containerId: id }))).toBe("ContainerGone")
      const { value: mediaId } = yield* publish(graph, id)
      expect(mediaId).toMatch(/^\d{17}$/)
      expect(mediaId).not.toBe(id)
      expect(yield* state(graph, id)).toBe("published")
      expect(yield* refusal(publish(graph, id))).toBe("ContainerGone")
      expect((yield* graph.readPublishingLimit(ACCOUNT)).value.used).toBe(1)
      expect((yield* graph.readPublishingLimit("42")).value.used).toBe(0)
    })

    promises("makes a carousel of items that are ready, and of nothing else", function* (graph) {
      const children = [yield* create(graph, item), yield* create(graph, video)]
      expect(yield* refusal(create(graph, { kind: "carousel", children }))).toBe("NotReady")
      yield* TestClock.adjust("30 seconds")
      const id = yield* create(graph, { kind: "carousel", children })
      expect(yield* state(graph, id)).toBe("finished")
      const alone = yield* create(graph, image)
      for (const others of [
        [alone, id],
        [...children, "17999999999999999"],
      ])
        expect(yield* refusal(create(graph, { kind: "carousel", children: others }))).toBe("InvalidInput")
    })

    promises(
      "publishes no video that is no reel",
      function* (graph) {
        expect(yield* refusal(publish(graph, yield* create(graph, video)))).toBe("InvalidInput")
      },
      { processingMs: 0 },
    )

    promises(
      "tells the quota, refuses above it, and gives it back after a day",
      function* (graph) {
        yield* publish(graph, yield* create(graph, image))
        expect((yield* graph.readPublishingLimit(ACCOUNT)).value).toEqual({ used: 1, total: 1, periodS: 86_400 })
        expect(yield* refusal(publish(graph, yield* create(graph, image)))).toBe("DailyQuota")
        yield* TestClock.adjust("24 hours")
        yield* publish(graph, yield* create(graph, image))
      },
      { quotaTotal: 1 },
    )

    promises("knows nothing of a container nobody made: no token problem, and nothing to publish", function* (graph) {
      expect(yield* refusal(graph.readContainer("17999999999999999"))).toBe("StatusUnavailable")
      expect(yield* refusal(publish(graph, "17999999999999999"))).toBe("ContainerGone")
    })

    promises("exchanges app id and secret for a token that does not show itself", function* (graph) {
      const { value } = yield* graph.requestAppToken({ appId: "123", appSecret: Redacted.make("s&c/r=t+") })
      expect(Redacted.value(value)).toStartWith("123|")
      expect(`${value} ${JSON.stringify(value)}`).not.toContain("123|")
      for (const [appId, secret] of [
        ["", "x"],
        ["123", ""],
      ] as const)
        expect(yield* refusal(graph.requestAppToken({ appId, appSecret: Redacted.make(secret) }))).toBe("TokenInvalid")
    })
  })

for (const placement of [QUERY, FORM])
  describe(`MediaGraphPort over HTTP, parameters in the ${placement.parameters}`, () => {
    const shows = (promise: string, program: (graph: Graph, model: GraphModel) => Steps): void => {
      const model = makeGraphModel()
      effectTest(promise, () =>
        Effect.flatMap(MediaGraphPort, (graph) => Effect.gen(() => program(graph, model))).pipe(
          Effect.provide(overHttp(model, placement)),
        ),
      )
    }

    shows("the graph gets the text that was given", function* (graph, model) {
      const id = yield* create(graph, image)
      expect(model.containers.get(id)).toMatchObject({
        accountId: ACCOUNT,
        parameters: { image_url: "https://cdn.example.com/a.jpg?x=1&y=a%2Bb", caption: "😀 & ünï\n" },
      })
    })

    shows("a refusal keeps the graph's own numbers", function* (graph, model) {
      const failure = yield* Effect.flip(publish(graph, yield* create(graph, reel)))
      expect(failure).toMatchObject({ kind: "NotReady", status: 400, graphCode: 9007, subcode: 2207027 })
      expect(model.posts).toHaveLength(0)
    })

    shows("nobody knows what became of a lost answer", function* (graph, model) {
      const id = yield* create(graph, image)
      model.setFault(({ operation }) => (operation === "publish" ? { kind: "lose-answer" } : undefined))
      expect(yield* Effect.flip(publish(graph, id))).toMatchObject({ kind: "Network", applied: "unknown" })
      expect(model.posts).toHaveLength(1)
      expect(yield* state(graph, id)).toBe("published")
    })

    shows("how much of the budget is used, and when access comes back", function* (graph, model) {
      model.setHeaders({ "x-app-usage": '{"call_count":80}' })
      expect((yield* graph.createContainer({ accountId: ACCOUNT, container: image })).usage).toEqual({
        appPercent: 80,
      })
      const business = '{"1":[{"call_count":100,"estimated_time_to_regain_access":19}]}'
      const answer = { ...graphError(400, 80002), headers: { "x-business-use-case-usage": business } }
      model.setFault(() => ({ kind: "answer", answer }))
      const failure = yield* Effect.flip(graph.readContainer("1"))
      expect(failure).toMatchObject({ kind: "Throttled", retryAfterMs: 1_140_000, usage: { accountPercent: 100 } })
    })

    shows("a request target that no server would read is not sent; a form has none", function* (graph, model) {
      const sent = yield* Effect.result(create(graph, { ...image, caption: "界".repeat(2200) }))
      if (placement.parameters === "form") return expect(sent._tag).toBe("Success")
      expect(sent).toMatchObject({ _tag: "Failure", failure: { _tag: "RequestTargetTooLong" } })
      expect(model.calls).toHaveLength(0)
    })
  })
