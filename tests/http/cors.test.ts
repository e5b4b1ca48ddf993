// CORS: pages of the listed origins may ask and read, refusals too; nobody else gets a header for it.
import { describe, expect, test } from "bun:test"
import { expectProblem } from "../support/expect_problem.ts"
import { sharedService, type TestService } from "../support/test_service.ts"

const PAGE = "https://app.example.com"
const listed = await sharedService({ corsOrigins: [PAGE, "http://localhost:5173"] })
const anybody = await sharedService({ corsOrigins: ["*"] })
const none = await sharedService()
/** Refuses every request for its load. */
const full = await sharedService({ corsOrigins: [PAGE], maxInFlight: 0 })

const from = (origin: string, headers: Readonly<Record<string, string>> = {}) => ({ headers: { ...headers, origin } })

/** What a browser asks before it lets a page send such a request: no token, no body. */
const preflight = (service: TestService, origin: string, path = "/api/products/1", method = "DELETE") =>
  fetch(`${service.url}${path}`, {
    method: "OPTIONS",
    headers: { origin, "access-control-request-method": method, "access-control-request-headers": "authorization" },
  })

const corsHeaders = ({ headers }: Response) => [...headers.keys()].filter((name) => name.startsWith("access-control-"))

describe("an answer to a page of a listed origin", () => {
  test.each([
    [200, "/api/products", {}],
    [401, "/api/products", { authorization: "Bearer a.b.c" }],
    [404, "/api/products/77", {}],
    [404, "/nowhere", {}],
    [400, "/api/products?limit=x", {}],
    [200, "/openapi.json", {}],
  ] as const)("%d from %s can be read", async (status, path, headers) => {
    const answer = await listed.send(path, from(PAGE, headers))
    expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([status, PAGE])
    expect(answer.headers.get("vary")).toStartWith("Origin")
    const exposed = answer.headers.get("access-control-expose-headers")?.split(", ")
    for (const name of ["Link", "ETag", "Location", "X-Total-Count", "Retry-After", "X-Request-Id"])
      expect(exposed).toContain(name)
    expect(answer.headers.has("access-control-allow-credentials")).toBe(false)
  })

  test("503 of a service that is busy can be read", async () => {
    const answer = await full.send("/api/products", from(PAGE))
    expect(answer.headers.get("access-control-allow-origin")).toBe(PAGE)
    await expectProblem(answer, 503, "OVERLOADED")
  })
})

describe("a preflight", () => {
  test.each(["/api/products/1", "/nowhere", "/openapi.json"])(
    "of a listed origin for %s is answered without a token, and asks neither guard nor store",
    async (path) => {
      const before = listed.storeCalls()
      const answer = await preflight(listed, PAGE, path)
      expect([answer.status, await answer.text()]).toEqual([204, ""])
      expect(answer.headers.get("access-control-allow-origin")).toBe(PAGE)
      expect(answer.headers.get("access-control-allow-methods")).toContain("DELETE")
      const allowed = answer.headers.get("access-control-allow-headers")?.toLowerCase().split(", ")
      for (const name of ["authorization", "content-type", "if-match", "idempotency-key", "last-event-id"])
        expect(allowed).toContain(name)
      expect(Number(answer.headers.get("access-control-max-age"))).toBeGreaterThan(0)
      expect(answer.headers.has("access-control-allow-credentials")).toBe(false)
      expect(answer.headers.has("x-request-id")).toBe(true)
      expect(listed.storeCalls()).toBe(before)
    },
  )

  test("is in the log and in the metrics, under a route of its own", async () => {
    await preflight(listed, PAGE)
    expect(listed.log()).toMatch(/"method":"OPTIONS".*"path":"\/api\/products\/1"/)
    const metrics = await (await listed.send("/metrics")).text()
    expect(metrics).toMatch(/^http_requests_total\{.*method="OPTIONS".*route="preflight".*\} \d+$/m)
  })

  test("is answered while the service is busy, or the page could not read that it is", async () => {
    expect((await preflight(full, PAGE)).status).toBe(204)
  })

  test("is an ordinary request without the method that it asks for", async () => {
    await expectProblem(
      await fetch(`${listed.url}/api/products`, { method: "OPTIONS", ...from(PAGE) }),
      401,
      "UNAUTHENTICATED",
    )
  })
})

/** Look-alikes of a listed origin, and keys that every object has. */
const STRANGERS = [
  "https://evil.example",
  "http://app.example.com",
  "https://app.example.com:8443",
  "https://app.example.com.evil.example",
  "https://sub.app.example.com",
  "https://APP.example.com",
  "app.example.com",
  "null",
  "*",
  "constructor",
  "https://app.example.com, https://evil.example",
]

describe("an origin that is not listed", () => {
  test.each(STRANGERS)(
    "%s gets no header, and its preflight is refused like any request without a token",
    async (origin) => {
      const answer = await listed.send("/api/products", from(origin))
      expect([answer.status, corsHeaders(answer)]).toEqual([200, []])
      expect(answer.headers.get("vary")).toStartWith("Origin")
      const refused = await preflight(listed, origin)
      expect([refused.status, corsHeaders(refused)]).toEqual([401, []])
    },
  )

  test("without CORS_ORIGINS that is every origin, and no cache is told of it", async () => {
    const answer = await none.send("/api/products", from(PAGE))
    expect([answer.status, corsHeaders(answer), answer.headers.get("vary")]).toEqual([200, [], null])
    expect((await preflight(none, PAGE)).status).toBe(401)
  })
})

test("a request of no page gets no header, and tells caches that pages do", async () => {
  const answer = await listed.send("/api/products")
  expect([corsHeaders(answer), answer.headers.get("vary")]).toEqual([[], "Origin"])
})

test("* lets every page in, never with credentials, and the answer is the same for all of them", async () => {
  const answer = await anybody.send("/api/products", from("https://anybody.example"))
  expect(answer.headers.get("access-control-allow-origin")).toBe("*")
  expect(answer.headers.has("access-control-allow-credentials")).toBe(false)
  expect(answer.headers.get("vary")).toBeNull()
  const asked = await preflight(anybody, "https://anybody.example")
  expect([asked.status, asked.headers.get("access-control-allow-origin")]).toEqual([204, "*"])
})
