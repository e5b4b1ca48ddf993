// What every MediaGraphPort promises. The HTTP adapter talks to the model behind a server, so one list proves both.
import { expect } from "bun:test"
import { describe } from "node:test"
import { Clock, Effect, Layer, Redacted, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { type GraphModel, makeGraphModel } from "../../adapters/driven/media_graph/graph_model.ts"
import * as http from "../../adapters/driven/media_graph/http.ts"
import * as memory from "../../adapters/driven/media_graph/memory.ts"
import type { Container } from "../../domain/media/container.ts"
import { makeGraphAddress } from "../../domain/media/graph_address.ts"
import type { GraphFailure } from "../../domain/media/graph_failure.ts"
import { MediaGraphPort } from "../../domain/media/media_graph_port.ts"
import { effectTest } from "../support/effect_test.ts"
import { graphServer } from "../support/graph_server.ts"
import { ACCOUNT, graphError } from "../support/media_world.ts"

type Graph = MediaGraphPort["Service"]

const overHttp =
  (placement: http.HttpGraphOptions["placement"]) =>
  (model: GraphModel): Layer.Layer<MediaGraphPort> =>
    Layer.unwrap(
      Effect.gen(function* () {
        const clock = yield* Clock.Clock
        const server = yield* graphServer(model, () => clock.currentTimeMillisUnsafe())
        const address = yield* Effect.orDie(makeGraphAddress({ graphUrl: server.url, apiVersion: "v25.0" }))
        const accessToken = Effect.succeed(Redacted.make("TKN-s3cr3t|x"))
        return http.layer({ address, accessToken, placement, timeoutMs: 5_000, targetBytesMax: 15_000 })
      }),
    )

const ADAPTERS: ReadonlyArray<readonly [name: string, layer: (model: GraphModel) => Layer.Layer<MediaGraphPort>]> = [
  ["memory", memory.layer],
  ["http", overHttp({ parameters: "query", token: "query" })],
  ["http, as a form", overHttp({ parameters: "form", token: "query" })],
  ["http, token in a header", overHttp({ parameters: "query", token: "header" })],
]

const image: Container = { kind: "image", imageUrl: "https://cdn.example.com/a.jpg?x=1&y=a%2Bb", caption: "😀 & ünï\n" }
const reel: Container = { kind: "reel", videoUrl: "https://cdn.example.com/r.mp4" }
const item = (n: number): Container => ({
  kind: "image",
  imageUrl: `https://cdn.example.com/${n}`,
  isCarouselItem: true,
})

for (const [name, layerOf] of ADAPTERS)
  describe(`MediaGraphPort: ${name}`, () => {
    const promises = (
      promise: string,
      program: (graph: Graph, model: GraphModel) => Effect.Effect<unknown, unknown, TestClock.TestClock | Scope.Scope>,
      options: Parameters<typeof makeGraphModel>[0] = {},
    ): void => {
      const model = makeGraphModel(options)
      effectTest(promise, () =>
        Effect.flatMap(MediaGraphPort, (graph) => program(graph, model)).pipe(Effect.provide(layerOf(model))),
      )
    }
    const create = (graph: Graph, container: Container) =>
      Effect.map(graph.createContainer({ accountId: ACCOUNT, container }), ({ value }) => value)
    const state = (graph: Graph, id: string) => Effect.map(graph.readContainer(id), ({ value }) => value.state)
    const publish = (graph: Graph, containerId: string) => graph.publishContainer({ accountId: ACCOUNT, containerId })
    const refusal = <A>(call: Effect.Effect<A, GraphFailure>) =>
      Effect.map(Effect.flip(call), ({ kind, applied, graphCode, subcode }) => ({ kind, applied, graphCode, subcode }))

    promises("creates a container whose id keeps all its digits, from the text that was given", (graph, model) =>
      Effect.gen(function* () {
        const id = yield* create(graph, image)
        expect(id).toBe("17900000000000001")
        expect(model.containers.get(id)?.parameters).toEqual({
          image_url: "https://cdn.example.com/a.jpg?x=1&y=a%2Bb",
          caption: "😀 & ünï\n",
        })
        expect(model.containers.get(id)?.accountId).toBe(ACCOUNT)
      }),
    )

    promises("shows a container through its life", (graph) =>
      Effect.gen(function* () {
        const id = yield* create(graph, reel)
        expect(yield* state(graph, id)).toBe("in-progress")
        yield* TestClock.adjust("30 seconds")
        expect(yield* state(graph, id)).toBe("finished")
        yield* TestClock.adjust("24 hours")
        expect(yield* state(graph, id)).toBe("expired")
        expect(yield* refusal(publish(graph, id))).toEqual({
          kind: "ContainerGone",
          applied: "no",
          graphCode: 24,
          subcode: 2207008,
        })
      }),
    )

    promises("publishes a finished container once", (graph, model) =>
      Effect.gen(function* () {
        const id = yield* create(graph, image)
        const { value: mediaId } = yield* publish(graph, id)
        expect(mediaId).not.toBe(id)
        expect(model.posts.map((post) => [post.mediaId, post.containerId])).toEqual([[mediaId, id]])
        expect(yield* state(graph, id)).toBe("published")
        expect((yield* refusal(publish(graph, id))).kind).toBe("ContainerGone")
        expect(model.posts).toHaveLength(1)
      }),
    )

    promises("refuses to publish what is not ready", (graph, model) =>
      Effect.gen(function* () {
        const id = yield* create(graph, reel)
        expect(yield* refusal(publish(graph, id))).toEqual({
          kind: "NotReady",
          applied: "no",
          graphCode: 9007,
          subcode: 2207027,
        })
        expect(model.posts).toHaveLength(0)
      }),
    )

    promises("makes a carousel of items, and of nothing else", (graph, model) =>
      Effect.gen(function* () {
        const children = [yield* create(graph, item(1)), yield* create(graph, item(2))]
        const id = yield* create(graph, { kind: "carousel", children })
        expect(model.containers.get(id)?.parameters["children"]).toBe(children.join(","))
        const alone = yield* create(graph, image)
        const wrong = graph.createContainer({
          accountId: ACCOUNT,
          container: { kind: "carousel", children: [alone, id] },
        })
        expect((yield* Effect.flip(wrong))._tag).toBe("GraphFailure")
      }),
    )

    promises(
      "tells the quota, and is refused above it",
      (graph) =>
        Effect.gen(function* () {
          yield* publish(graph, yield* create(graph, image))
          expect((yield* graph.readPublishingLimit(ACCOUNT)).value).toEqual({ used: 1, total: 1, periodS: 86_400 })
          expect((yield* refusal(publish(graph, yield* create(graph, image)))).kind).toBe("DailyQuota")
        }),
      { quotaTotal: 1 },
    )

    promises("reads a container nobody knows as unreadable, not as a token problem", (graph) =>
      Effect.gen(function* () {
        expect((yield* refusal(graph.readContainer("17999999999999999"))).kind).toBe("StatusUnavailable")
      }),
    )

    promises("exchanges app id and secret for a token that does not show itself", (graph) =>
      Effect.gen(function* () {
        const app = { appId: "123", appSecret: Redacted.make("s&c/r=t+") }
        const { value } = yield* graph.requestAppToken(app)
        expect(Redacted.value(value)).toBe("123|model-app-token")
        expect(`${value} ${JSON.stringify(value)}`).not.toContain("model-app-token")
        const refused = graph.requestAppToken({ appId: "", appSecret: Redacted.make("x") })
        expect((yield* refusal(refused)).kind).toBe("TokenInvalid")
      }),
    )

    promises("does not know what became of a lost answer", (graph, model) =>
      Effect.gen(function* () {
        const id = yield* create(graph, image)
        model.setFault(({ operation }) => (operation === "publish" ? { kind: "lose-answer" } : undefined))
        expect(yield* refusal(publish(graph, id))).toMatchObject({ kind: "Network", applied: "unknown" })
        expect(model.posts).toHaveLength(1)
        expect(yield* state(graph, id)).toBe("published")
      }),
    )

    promises("tells how much of the budget is used, and when access comes back", (graph, model) =>
      Effect.gen(function* () {
        model.setHeaders({ "x-app-usage": '{"call_count":80}' })
        expect((yield* graph.createContainer({ accountId: ACCOUNT, container: image })).usage).toEqual({
          appPercent: 80,
        })
        const business = '{"1":[{"call_count":100,"estimated_time_to_regain_access":19}]}'
        const answer = { ...graphError(400, 80002), headers: { "x-business-use-case-usage": business } }
        model.setFault(() => ({ kind: "answer", answer }))
        const failure = yield* Effect.flip(graph.readContainer("1"))
        expect(failure).toMatchObject({ kind: "Throttled", retryAfterMs: 1_140_000, usage: { accountPercent: 100 } })
      }),
    )

    promises("refuses a request target no server would read, before anything is sent", (graph, model) =>
      Effect.gen(function* () {
        const long: Container = { ...image, caption: "界".repeat(2200) }
        const sent = yield* Effect.result(graph.createContainer({ accountId: ACCOUNT, container: long }))
        if (name.includes("form")) return expect(sent._tag).toBe("Success")
        expect(sent).toMatchObject({ _tag: "Failure", failure: { _tag: "RequestTargetTooLong" } })
        expect(model.calls).toHaveLength(0)
      }),
    )

    promises("previews a creation without sending it, secrets masked", (graph, model) =>
      Effect.gen(function* () {
        const signed: Container = { kind: "image", imageUrl: "https://s3.example.com/k?X-Amz-Signature=S3CR3T&id=9" }
        const preview = yield* graph.preview({ accountId: ACCOUNT, container: signed })
        const shown = preview.body ?? preview.target
        expect(shown).toContain("image_url=https%3A%2F%2Fs3.example.com%2Fk%3FX-Amz-Signature%3D<redacted>%26id%3D9")
        expect(JSON.stringify(preview)).not.toMatch(/S3CR3T|s3cr3t/)
        expect(model.calls).toHaveLength(0)
      }),
    )
  })
