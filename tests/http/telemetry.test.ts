// Traces and metrics as a collector receives them: OTLP/HTTP in JSON.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { telemetryLayer } from "../../bootstrap/telemetry.ts"
import { startService, type TestService } from "../support/test_service.ts"

interface Span {
  readonly name: string
  readonly traceId: string
  readonly parentSpanId?: string
  readonly attributes: ReadonlyArray<{ readonly key: string; readonly value: { readonly stringValue?: string } }>
}
interface Traces {
  readonly resourceSpans: ReadonlyArray<{ readonly scopeSpans: ReadonlyArray<{ readonly spans: ReadonlyArray<Span> }> }>
}

const received: Array<{ readonly path: string; readonly body: string }> = []
const collector = Bun.serve({
  port: 0,
  fetch: async (request) => {
    received.push({ path: new URL(request.url).pathname, body: await request.text() })
    return new Response("{}", { headers: { "content-type": "application/json" } })
  },
})

const TRACE = "0af7651916cd43dd8448eb211c80319c"
const PARENT = "b7ad6b7169203331"
let service: TestService

beforeAll(async () => {
  const telemetry = telemetryLayer({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.port}/` })
  service = await startService(telemetry === undefined ? {} : { telemetry })
  await service.create({ name: "secret-looking-value" })
  // Twice: the second one takes the short way.
  for (let round = 0; round < 2; round++)
    await service.send("/api/products/1", { headers: { traceparent: `00-${TRACE}-${PARENT}-01` } })
  await service.send("/api/products/99")
  await service.stop()
})
afterAll(() => collector.stop(true))

const spans = (): ReadonlyArray<Span> =>
  received
    .filter(({ path }) => path === "/v1/traces")
    .flatMap(({ body }) => (JSON.parse(body) as Traces).resourceSpans)
    .flatMap(({ scopeSpans }) => scopeSpans)
    .flatMap((scope) => scope.spans)

describe("telemetry", () => {
  test("one span a request, named by its route, under the caller's span", () => {
    expect(
      spans()
        .map(({ name }) => name)
        .sort(),
    ).toEqual(["GET /api/products/:id", "GET /api/products/:id", "GET /api/products/:id", "POST /api/products"])
    const called = spans().filter(({ traceId }) => traceId === TRACE)
    expect(called).toHaveLength(2)
    for (const span of called) {
      expect(span.parentSpanId).toBe(PARENT)
      expect(span.attributes).toContainEqual({ key: "http.route", value: { stringValue: "/api/products/:id" } })
    }
  })

  test("metrics are exported, too", () => {
    const metrics = received.filter(({ path }) => path === "/v1/metrics").map(({ body }) => body)
    expect(metrics.join()).toContain("http_requests_total")
  })

  test("no token and no submitted value is in what leaves", () => {
    const all = received.map(({ body }) => body).join()
    expect(all).not.toContain("Bearer")
    expect(all).not.toContain("eyJ")
    expect(all).not.toContain("secret-looking-value")
  })

  test("nothing is exported when no collector is named", () => {
    expect(telemetryLayer({ OTEL_EXPORTER_OTLP_ENDPOINT: undefined })).toBeUndefined()
  })
})
