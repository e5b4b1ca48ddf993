// A bound on running requests: the surplus is refused before anything is looked at, and every end of a request counts.
import { describe, expect, test } from "bun:test"
import { Context, Effect, Layer } from "effect"
import * as memoryRecords from "../../adapters/driven/record_repository/memory.ts"
import { RecordRepository } from "../../domain/records/record_repository.ts"
import { expectProblem, expectRefusal } from "../support/expect_problem.ts"
import { openConnection } from "../support/raw_http.ts"
import { sharedService } from "../support/test_service.ts"

const MAX_IN_FLIGHT = 2

/** A store whose `get` waits until it is let go, and tells when one came. */
const makeGate = () => {
  const waiting: Array<() => void> = []
  let arrived = () => {}
  const layer = Layer.effect(
    RecordRepository,
    Effect.gen(function* () {
      const repository = Context.get(yield* Layer.build(memoryRecords.layer), RecordRepository)
      const wait = Effect.promise(
        () =>
          new Promise<void>((resolve) => {
            waiting.push(resolve)
            arrived()
          }),
      )
      return { ...repository, get: (collection, id) => Effect.andThen(wait, repository.get(collection, id)) }
    }),
  )
  return {
    layer,
    /** Resolves once so many wait. */
    holds: async (count: number) => {
      while (waiting.length < count)
        await new Promise<void>((resolve) => {
          arrived = resolve
        })
    },
    open: () => {
      for (const letGo of waiting.splice(0)) letGo()
    },
  }
}

const gate = makeGate()
const service = await sharedService({ repository: gate.layer, maxInFlight: MAX_IN_FLIGHT })
await service.create({ name: "anchor" })

/** Runs `during` while as many requests as may run wait for the store. */
const whileFull = async (during: () => Promise<void>) => {
  const running = Array.from({ length: MAX_IN_FLIGHT }, () => service.send("/api/products/1"))
  await gate.holds(MAX_IN_FLIGHT)
  try {
    await during()
  } finally {
    gate.open()
  }
  expect((await Promise.all(running)).map(({ status }) => status)).toEqual([200, 200])
}

const logLines = (pattern: RegExp) => service.log().match(new RegExp(pattern, "g")) ?? []

describe("while as many requests run as may", () => {
  test.each([
    ["a good token", "/api/products/1", {}],
    ["no token that anybody would accept", "/api/products/1", { headers: { authorization: "Bearer a.b.c" } }],
    ["a path that is not there", "/nowhere", {}],
    ["the API page", "/openapi", {}],
  ] as const)("%s: 503 with Retry-After, and nothing behind it is asked", (_what, path, init) =>
    whileFull(async () => {
      const lines = logLines(/"message":"request"/).length
      let answer = new Response()
      await expectRefusal(
        service,
        async () => {
          answer = await service.send(path, init)
          return answer
        },
        503,
        "OVERLOADED",
      )
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0)
      expect(logLines(/"message":"request"/)).toHaveLength(lines)
    }),
  )

  test("a body is not waited for", () =>
    whileFull(async () => {
      const { socket, write, responses } = await openConnection(service.url)
      write("POST /api/products HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n")
      expect((await responses(1)).map(({ status }) => status)).toEqual([503])
      socket.destroy()
    }))

  test("health and metrics are answered; the surplus is counted, and logged once a second at most", () =>
    whileFull(async () => {
      const startedAt = performance.now()
      const written = logLines(/"message":"Overloaded/).length
      for (let request = 0; request < 20; request++)
        expect((await service.send("/api/products?limit=1")).status).toBe(503)
      const seconds = (performance.now() - startedAt) / 1000
      expect(logLines(/"message":"Overloaded/).length - written).toBeLessThanOrEqual(1 + seconds)
      for (const path of ["/health/live", "/health/ready"])
        expect([path, (await fetch(`${service.url}${path}`)).status]).toEqual([path, 200])
      const metrics = await (await service.send("/metrics")).text()
      const counted = /^http_requests_total\{.*route="overloaded".*\} (\d+)$/m.exec(metrics)?.[1]
      expect(Number(counted)).toBeGreaterThanOrEqual(20)
    }))
})

/** Waits until a request is answered: whoever closes a connection does not learn when the service has noticed. */
const untilAnswered = async () => {
  while ((await service.send("/api/products?limit=1")).status === 503) await Bun.sleep(5)
}

describe("a place is free again after", () => {
  const create = { method: "POST", headers: { "content-type": "application/json" } }
  test.each([
    ["a success", 200, "/api/products?limit=1", {}],
    ["a create", 201, "/api/products", { ...create, body: '{"name":"a"}' }],
    ["HEAD", 200, "/api/products?limit=1", { method: "HEAD" }],
    ["a refused token", 401, "/api/products", { headers: { authorization: "Bearer a.b.c" } }],
    ["a path that is not there", 404, "/nowhere", {}],
    ["a refused method", 405, "/api/products/1", { method: "PATCH" }],
    ["a broken body", 400, "/api/products", { ...create, body: "{" }],
    ["a page that is no problem and no envelope", 200, "/openapi", {}],
    ["a refused host", 400, "/api/products", { headers: { host: "a b" } }],
  ] as const)("%s (%d)", async (_what, status, path, init) => {
    for (let round = 0; round <= MAX_IN_FLIGHT; round++) expect((await service.send(path, init)).status).toBe(status)
    await whileFull(async () => {})
  })

  test("the surplus itself", () =>
    whileFull(async () => {
      for (let round = 0; round < 10; round++) await expectProblem(await service.send("/"), 503, "OVERLOADED")
    }).then(() => whileFull(async () => {})))

  test("a client that went away while the store worked", async () => {
    const clients = Array.from({ length: MAX_IN_FLIGHT }, () => new AbortController())
    const answers = clients.map(({ signal }) => service.send("/api/products/1", { signal }))
    await gate.holds(MAX_IN_FLIGHT)
    for (const client of clients) client.abort()
    await Promise.allSettled(answers)
    gate.open()
    await untilAnswered()
    await whileFull(async () => {})
  })

  test("a client that went away in the middle of its body", async () => {
    const authorization = `Bearer ${service.token("user")}`
    const head = `POST /api/products HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\nContent-Type: application/json\r\n`
    const connections = await Promise.all(Array.from({ length: MAX_IN_FLIGHT }, () => openConnection(service.url)))
    for (const { write } of connections) write(`${head}Content-Length: 9\r\nExpect: 100-continue\r\n\r\n{`)
    for (const { responses } of connections) expect((await responses(1))[0]?.status).toBe(100)
    await expectProblem(await service.send("/api/products?limit=1"), 503, "OVERLOADED")
    for (const { socket } of connections) socket.destroy()
    await untilAnswered()
    await whileFull(async () => {})
  })
})
