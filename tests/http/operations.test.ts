// What operators see: health, metrics, the log, and answers while something behind the service is broken.
import { describe, expect, test } from "bun:test"
import { Context, Effect, Layer } from "effect"
import * as memoryRecords from "../../adapters/driven/record_repository/memory.ts"
import * as joseVerifier from "../../adapters/driven/token_verifier/jose.ts"
import { RecordRepository } from "../../domain/records/record_repository.ts"
import { StoreUnavailable } from "../../domain/store_unavailable.ts"
import manifest from "../../package.json" with { type: "json" }
import { expectProblem } from "../support/expect_problem.ts"
import { sharedService, startService, type TestService } from "../support/test_service.ts"

const PASSWORD = "hunter2-of-the-store"
const DRIVER_TEXT = "connect ECONNREFUSED 10.9.8.7:27017"

/** A repository every call of which ends like this. */
const alwaysEnds = (call: Effect.Effect<never, StoreUnavailable>) =>
  Layer.succeed(
    RecordRepository,
    RecordRepository.of({
      prepare: () => Effect.void,
      list: () => call,
      get: () => call,
      create: () => call,
      createAll: () => call,
      replace: () => call,
      remove: () => call,
      count: () => call,
      changes: () => call,
      ready: call,
    }),
  )

const away = alwaysEnds(
  Effect.suspend(() =>
    Effect.fail(
      new StoreUnavailable({
        store: { user: "catalogue", host: "db.internal:27017", database: "charts" },
        reason: DRIVER_TEXT,
      }),
    ),
  ),
)

const defective = alwaysEnds(Effect.die(new Error(`boom mongodb://catalogue:${PASSWORD}@db.internal/charts`)))

const record = { method: "POST", body: '{"name":"a"}', headers: { "content-type": "application/json" } }
const OPERATIONS = [
  ["list", "/api/products", {}],
  ["list with a count", "/api/products", { headers: { prefer: "count=exact" } }],
  ["get", "/api/products/1", {}],
  ["create", "/api/products", record],
  ["delete", "/api/products/1", { method: "DELETE" }],
] as const satisfies ReadonlyArray<readonly [string, string, RequestInit]>

const linesOf = (service: TestService): ReadonlyArray<Readonly<Record<string, unknown>>> =>
  service
    .log()
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line))

const service = await sharedService()
const broken = await sharedService({ repository: away })
const failing = await sharedService({ repository: defective })

describe("health", () => {
  test("live and ready need no token", async () => {
    for (const [path, body] of [
      ["live", { status: "live", version: manifest.version }],
      ["ready", { status: "ready" }],
    ] as const) {
      const response = await fetch(`${service.url}/health/${path}`)
      expect([response.status, await response.json()]).toEqual([200, body])
      expect(response.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/)
    }
  })

  test.each(["/health/live", "/health/ready", "/metrics"])("%s answers to GET and HEAD alone", async (path) => {
    for (const method of ["POST", "PUT", "DELETE"]) {
      const response = await service.send(path, { method })
      expect([method, response.headers.get("allow")]).toEqual([method, "GET, HEAD"])
      await expectProblem(response, 405, "METHOD_NOT_ALLOWED")
    }
  })

  test("a process whose store is away is live, but not ready", async () => {
    expect((await fetch(`${broken.url}/health/live`)).status).toBe(200)
    const response = await fetch(`${broken.url}/health/ready`)
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0)
    const text = await response.clone().text()
    await expectProblem(response, 503, "STORE_UNAVAILABLE")
    expect(text).not.toContain("db.internal")
  })
})

test("readiness asks the store at most once a second, however often it is asked itself", async () => {
  let asked = 0
  const asking = Layer.effect(
    RecordRepository,
    Effect.gen(function* () {
      const repository = Context.get(yield* Layer.build(memoryRecords.layer), RecordRepository)
      return { ...repository, ready: Effect.sync(() => void asked++) }
    }),
  )
  const service = await startService({ repository: asking })
  const startedAt = performance.now()
  for (let round = 0; round < 10; round++)
    await Promise.all(Array.from({ length: 10 }, () => fetch(`${service.url}/health/ready`)))
  expect(asked).toBeGreaterThan(0)
  expect(asked).toBeLessThanOrEqual(1 + (performance.now() - startedAt) / 1000)
  await service.stop()
})

test("a process that never saw its realm's keys is live, but not ready", async () => {
  const service = await startService({ verifier: joseVerifier.layer({ jwksUrl: "http://127.0.0.1:1/certs" }) })
  expect((await fetch(`${service.url}/health/live`)).status).toBe(200)
  await expectProblem(await fetch(`${service.url}/health/ready`), 503, "KEYS_UNAVAILABLE")
  await service.stop()
})

describe("the store is away", () => {
  test.each(OPERATIONS)("%s: 503, and only the log says where", async (_what, path, init) => {
    const response = await broken.send(path, init)
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0)
    const { detail, title, requestId } = await expectProblem(response, 503, "STORE_UNAVAILABLE")
    expect([title, detail]).toEqual(["Store unavailable", "The store cannot be reached now"])
    const [line, ...others] = linesOf(broken).filter(
      (each) => each["requestId"] === requestId && each["level"] === "ERROR",
    )
    expect(others).toEqual([])
    expect(line?.["message"]).toBe(
      `Cannot use the store as user 'catalogue' at 'db.internal:27017', database 'charts': ${DRIVER_TEXT}`,
    )
  })

  test("a caller without a token learns nothing of it", async () => {
    await expectProblem(await fetch(`${broken.url}/api/products`), 401, "UNAUTHENTICATED")
  })
})

describe("something unexpected", () => {
  test.each(OPERATIONS)(
    "%s: 500 with a fixed text, the story in the log under the request's id",
    async (_what, path, init) => {
      const response = await failing.send(path, init)
      const text = await response.clone().text()
      const { requestId, detail } = await expectProblem(response, 500, "INTERNAL")
      expect(detail).toBe("Something unexpected happened; the service's log knows it by the request id")
      for (const hidden of ["boom", PASSWORD, "db.internal", "at ", ".ts"]) expect(text).not.toContain(hidden)
      const lines = linesOf(failing).filter((each) => each["requestId"] === requestId && each["level"] === "ERROR")
      expect(lines).toHaveLength(1)
      expect(JSON.stringify(lines)).toContain("boom")
    },
  )

  test("no password of a connection string reaches the log", () => {
    expect(failing.log()).toContain("boom")
    expect(failing.log()).not.toContain(PASSWORD)
  })
})

describe("the access log", () => {
  test("has one line per request, with its id, its path without the query, and nothing else of it", async () => {
    const marker = "MARKER-7d1f"
    const answers = [
      await service.send("/api/products?limit=1", { headers: { cookie: marker } }),
      await service.create({ name: marker }),
      await service.create({ nome: marker }),
      await service.send(`/api/products?limit=${marker}`),
      await service.send("/nowhere"),
      await fetch(`${service.url}/api/products`, { headers: { authorization: `Bearer ${marker}` } }),
      await service.send("/api/products", { method: "HEAD" }),
    ]
    const about = (id: string | null) =>
      linesOf(service).filter((line) => line["message"] === "request" && line["requestId"] === id)
    for (const { status, headers } of answers) {
      const id = headers.get("x-request-id")
      // A line is written after its answer has left.
      while (about(id).length === 0) await Bun.sleep(1)
      const [line, ...others] = about(id)
      expect(others).toEqual([])
      expect(line).toMatchObject({ level: "INFO", status, path: expect.stringMatching(/^\/[^?]*$/) })
      expect(Object.keys(line ?? {}).sort()).toEqual(
        ["durationMs", "level", "message", "method", "path", "requestId", "status", "time"].sort(),
      )
    }
    expect(service.log()).not.toContain(marker)
  })
})

describe("metrics", () => {
  const metrics = async () => (await service.send("/metrics")).text()
  const seriesOf = (text: string) => text.split("\n").filter((line) => line.startsWith("http_requests_total{"))

  test("are behind the token on the public listener", async () => {
    await expectProblem(await fetch(`${service.url}/metrics`), 401, "UNAUTHENTICATED")
    const response = await service.send("/metrics")
    expect(response.status).toBe(200)
    expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8")
  })

  test("count requests by method, route and status", async () => {
    await service.create({ name: "a" })
    await service.send("/api/products/1")
    await service.send("/api/products/1")
    const text = await metrics()
    const series = seriesOf(text).find((line) => line.includes('{method="GET",route="/api/products/:id",status="200"}'))
    expect(Number(series?.split(" ").at(-1))).toBeGreaterThanOrEqual(2)
    expect(text).toContain("http_server_request_duration_seconds_bucket")
  })

  test("strange methods, paths and ids make no series of their own", async () => {
    await metrics()
    const ask = async (round: number) => {
      for (const method of ["PROPFIND", "MKCOL", "SEARCH", "PURGE"]) await service.send("/api/products", { method })
      for (let at = 0; at < 20; at++) {
        await service.send(`/api/products/${round}${at}`)
        await service.send(`/api/unknown-${round}-${at}`)
        await fetch(`${service.url}/stranger-${round}-${at}`)
      }
    }
    await ask(1)
    const before = seriesOf(await metrics())
    await ask(2)
    const after = seriesOf(await metrics())
    expect(after).toHaveLength(before.length)
    expect(after.join("\n")).not.toContain("unknown-")
    expect(after.join("\n")).not.toContain("stranger-")
    expect(after.join("\n")).toContain('method="other"')
    expect(after.join("\n")).not.toContain("PROPFIND")
  })

  test("with a listener of their own they are not on the public one", async () => {
    const separate = await startService({ separateAdmin: true })
    for (const path of ["/metrics", "/health/live", "/health/ready"])
      await expectProblem(await separate.send(path), 404, "ROUTE_NOT_FOUND")
    await separate.stop()
  })
})
