// Traces and metrics as a collector receives them: OTLP/HTTP in JSON. The service, its realm and its agent are real sockets.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { createPublicKey } from "node:crypto"
import { Effect, Layer, Redacted } from "effect"
import * as httpScheduler from "../../adapters/driven/scheduler/http.ts"
import * as joseVerifier from "../../adapters/driven/token_verifier/jose.ts"
import { METRIC_NAMES } from "../../bootstrap/metric_names.ts"
import { restartsOver, schedulerAreaOver } from "../../bootstrap/scheduler_area.ts"
import { storeOf } from "../../bootstrap/store.ts"
import { telemetryLayer } from "../../bootstrap/telemetry.ts"
import { watchedStore } from "../../bootstrap/watched_ports.ts"
import { RecordRepository } from "../../domain/records/record_repository.ts"
import { StoreUnavailable } from "../../domain/store_unavailable.ts"
import { reply, startFakeAgent } from "../support/fake_agent.ts"
import { startService, type TestService } from "../support/test_service.ts"
import { KEYS, pemOf } from "../support/tokens.ts"

interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: number; readonly doubleValue?: number }
}
interface Span {
  readonly name: string
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly attributes: ReadonlyArray<Attribute>
  readonly status: { readonly code: number; readonly message?: string }
  readonly events: ReadonlyArray<unknown>
}
interface Traces {
  readonly resourceSpans: ReadonlyArray<{
    readonly resource: { readonly attributes: ReadonlyArray<Attribute> }
    readonly scopeSpans: ReadonlyArray<{ readonly spans: ReadonlyArray<Span> }>
  }>
}
interface Metrics {
  readonly resourceMetrics: ReadonlyArray<{
    readonly scopeMetrics: ReadonlyArray<{
      readonly metrics: ReadonlyArray<{ readonly name: string; readonly unit: string }>
    }>
  }>
}

const received: Array<{ readonly path: string; readonly body: string }> = []
const collector = Bun.serve({
  port: 0,
  fetch: async (request) => {
    received.push({ path: new URL(request.url).pathname, body: await request.text() })
    return new Response("{}", { headers: { "content-type": "application/json" } })
  },
})
const realm = Bun.serve({
  port: 0,
  fetch: () => {
    const key = createPublicKey(pemOf(KEYS.realm().publicKey)).export({ format: "jwk" })
    return Response.json({ keys: [{ ...key, kid: "realm-key-1", use: "sig", alg: "RS256" }] })
  },
})

const TRACE = "0af7651916cd43dd8448eb211c80319c"
const PARENT = "b7ad6b7169203331"
const AGENT_TOKEN = "agent-t0ken-value"
const HIDDEN = "secret-looking-value"
const COLLECTOR = `http://127.0.0.1:${collector.port}/`

const logs: Array<string> = []

/** The repository of a store that is away, whose driver repeats what it was given. */
const away = Layer.effect(
  RecordRepository,
  Effect.map(RecordRepository, (repository) => ({
    ...repository,
    get: () => Effect.fail(new StoreUnavailable({ store: { user: "u", host: "h", database: "d" }, reason: HIDDEN })),
    list: () => Effect.die(new Error(HIDDEN)),
  })),
).pipe(Layer.provide(storeOf("memory")))

const telemetry = () => {
  const layer = telemetryLayer({ OTEL_EXPORTER_OTLP_ENDPOINT: COLLECTOR, OTEL_SERVICE_NAME: "harbour" })
  if (layer === undefined) throw new Error("a collector was named")
  return layer
}

/** Ends a service once it has written of its last request, which it does after the answer has left. */
const ended = async (service: TestService, lastPath: string) => {
  while (!service.log().includes(`"path":"${lastPath}",`)) await Bun.sleep(1)
  await service.stop()
  logs.push(...service.log().split("\n"))
}

beforeAll(async () => {
  const agent = await startFakeAgent({ token: AGENT_TOKEN })
  const store = watchedStore(storeOf("memory"), "sqlite", true)
  const client = httpScheduler.layer({
    baseUrl: agent.url,
    token: Redacted.make(AGENT_TOKEN),
    scaleGroup: "restreamer",
  })
  const service = await startService({
    telemetry: telemetry(),
    repository: store,
    verifier: joseVerifier.layer({ jwksUrl: `http://127.0.0.1:${realm.port}/certs?key=${HIDDEN}` }),
    areas: [schedulerAreaOver(restartsOver(client, store), ["operator"])],
  })
  while ((await fetch(`${service.url}/health/ready`)).status !== 200) await Bun.sleep(10)
  await service.create({ name: HIDDEN })
  // Twice: the second one meets a token that is remembered.
  for (let round = 0; round < 2; round++)
    await service.send("/api/products/1", { headers: { traceparent: `00-${TRACE}-${PARENT}-01` } })
  await service.send("/api/products/99")
  await service.send(`/api/products/99?note=${HIDDEN}`)
  await fetch(`${service.url}/api/products/7`, { headers: { authorization: `Bearer ${HIDDEN}` } })
  await fetch(`${service.url}/nowhere`)
  agent.script(reply(500, HIDDEN))
  const headers = { authorization: `Bearer ${service.token("operator")}` }
  await service.send("/scheduler/jobs/radio?region=eu", { headers })
  await ended(service, "/scheduler/jobs/radio")
  await agent.stop()

  const broken = await startService({ telemetry: telemetry(), repository: away })
  await broken.send("/api/products/5")
  await broken.send("/api/products")
  await ended(broken, "/api/products")
})
afterAll(() => Promise.all([collector.stop(true), realm.stop(true)]))

const traces = (): ReadonlyArray<Traces["resourceSpans"][number]> =>
  received.filter(({ path }) => path === "/v1/traces").flatMap(({ body }) => (JSON.parse(body) as Traces).resourceSpans)

const spans = (): ReadonlyArray<Span> =>
  traces().flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans))

const attributesOf = ({ attributes }: Pick<Span, "attributes">): Readonly<Record<string, unknown>> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))

const KIND = { internal: 1, server: 2, client: 3 }
const STATUS = { ok: 1, error: 2 }

/** The request spans of a route, with the status that each was answered with. */
const served = (name: string): ReadonlyArray<Span & Readonly<Record<string, unknown>>> =>
  spans()
    .filter((span) => span.kind === KIND.server && span.name === name)
    .map((span) => ({ ...span, ...attributesOf(span) }))

const below = ({ spanId, traceId }: Span) =>
  spans().filter((span) => span.traceId === traceId && span.parentSpanId === spanId)

describe("traces", () => {
  test("one span a request, named by its route, under the caller's span, refusals too", () => {
    const called = served("GET /api/products/:id").filter(({ traceId }) => traceId === TRACE)
    expect(called).toHaveLength(2)
    for (const span of called) {
      expect(span.parentSpanId).toBe(PARENT)
      expect(span).toMatchObject({
        "http.request.method": "GET",
        "http.route": "/api/products/:id",
        "url.path": "/api/products/1",
        "http.response.status_code": 200,
        status: { code: STATUS.ok },
      })
    }
    const statuses = (name: string) => served(name).map((span) => span["http.response.status_code"])
    expect(statuses("GET /api/products/:id").sort()).toEqual([200, 200, 400, 401, 404, 503])
    expect(statuses("POST /api/products")).toEqual([201])
    expect(statuses("GET unmatched")).toEqual([404])
    expect(statuses("GET /api/products")).toEqual([500])
  })

  test("the failure of the service is one of its span, by kind alone; the caller's is not", () => {
    const [failed] = served("GET /api/products")
    expect(failed).toMatchObject({ "error.type": "500", status: { code: STATUS.error, message: "500" } })
    for (const span of served("GET /api/products/:id"))
      expect([span["http.response.status_code"], span.status.code]).toEqual([
        span["http.response.status_code"],
        span["http.response.status_code"] === 503 ? STATUS.error : STATUS.ok,
      ])
  })

  test("the store's work lies beneath the request; a record that is not there is an answer", () => {
    for (const span of served("GET /api/products/:id").filter(
      (each) => Number(each["http.response.status_code"]) < 500,
    )) {
      const [call, ...others] = below(span)
      expect(others).toEqual([])
      if ([400, 401].includes(Number(span["http.response.status_code"]))) expect(call).toBeUndefined()
      else {
        expect(call).toMatchObject({ name: "get products", kind: KIND.client, status: { code: STATUS.ok } })
        expect(attributesOf(call ?? { attributes: [] })).toEqual({
          "db.system.name": "sqlite",
          "db.operation.name": "get",
          "db.collection.name": "products",
        })
      }
    }
  })

  test("so does the scheduler's, and what is sent to the agent, without query and token", () => {
    const [request] = served("GET /scheduler/jobs/:id")
    expect(request).toMatchObject({ "http.response.status_code": 502 })
    const [call] = request === undefined ? [] : below(request)
    expect(call).toMatchObject({ name: "scheduler getDefinition", kind: KIND.internal })
    const [sent] = call === undefined ? [] : below(call)
    expect(sent).toMatchObject({ name: "GET", kind: KIND.client, status: { code: STATUS.error, message: "500" } })
    expect(attributesOf(sent ?? { attributes: [] })).toMatchObject({
      "http.request.method": "GET",
      "server.address": "127.0.0.1",
      "url.full": expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/v1\/job\/radio$/),
      "http.response.status_code": 500,
      "error.type": "500",
    })
  })

  test("fetching the realm's keys is a span of its own", () => {
    const fetched = spans().filter((span) => attributesOf(span)["url.full"] === `http://127.0.0.1:${realm.port}/certs`)
    expect(fetched.length).toBeGreaterThan(0)
    for (const span of fetched) expect(span).toMatchObject({ name: "GET", kind: KIND.client })
  })

  test("the service has the configured name", () => {
    for (const { resource } of traces()) expect(attributesOf(resource)).toMatchObject({ "service.name": "harbour" })
  })
})

describe("the log", () => {
  const linesAbout = (path: string) =>
    logs
      .filter((line) => line !== "")
      .map((line): Readonly<Record<string, unknown>> => JSON.parse(line))
      .filter((line) => line["path"] === path)

  test("names the trace of every request", () => {
    for (const line of linesAbout("/api/products/1")) expect(line["trace_id"]).toBe(TRACE)
    expect(linesAbout("/nowhere")[0]?.["trace_id"]).toBe(served("GET unmatched")[0]?.traceId ?? "")
  })

  test("and of what a request ran into", () => {
    const [request] = linesAbout("/api/products/5")
    const [failure] = logs.filter((line) => line.includes('"level":"ERROR"') && line.includes("Cannot use the store"))
    expect(JSON.parse(failure ?? "{}")["trace_id"]).toBe(request?.["trace_id"])
  })
})

describe("metrics", () => {
  test("are exported under their names, durations in seconds", () => {
    const metrics = received
      .filter(({ path }) => path === "/v1/metrics")
      .flatMap(({ body }) => (JSON.parse(body) as Metrics).resourceMetrics)
      .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics))
    const units = new Map(metrics.map(({ name, unit }) => [name, unit]))
    const here = Object.keys(METRIC_NAMES).filter((name) => name !== "portolan.posts")
    expect(here.filter((name) => !units.has(name))).toEqual([])
    for (const name of ["http.server.request.duration", "db.client.operation.duration", "process.cpu.time"])
      expect([name, units.get(name)]).toEqual([name, "s"])
  })
})

test("no token, no query and no submitted value is in what leaves, nor a text of a failure", () => {
  const all = received.map(({ body }) => body).join()
  for (const hidden of ["Bearer", "eyJ", HIDDEN, AGENT_TOKEN, "Cannot use the store", ".ts:"])
    expect(all).not.toContain(hidden)
})

test("nothing is exported when no collector is named", () => {
  expect(telemetryLayer({ OTEL_EXPORTER_OTLP_ENDPOINT: undefined, OTEL_SERVICE_NAME: "x" })).toBeUndefined()
})
