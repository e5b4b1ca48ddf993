// The feed of changes over a socket: what it tells, whom it refuses, and what ends it.
import { afterEach, describe, expect, test } from "bun:test"
import { Context, Effect, Layer } from "effect"
import Type from "typebox"
import * as memoryRecords from "../../adapters/driven/record_repository/memory.ts"
import { setupCollection } from "../../adapters/driving/http/collection_routes.ts"
import { openRecords } from "../../bootstrap/records.ts"
import { defineCollection } from "../../domain/records/collection.ts"
import { ChangesUnsupported } from "../../domain/records/errors.ts"
import { products } from "../../domain/records/products.ts"
import { RecordRepository } from "../../domain/records/record_repository.ts"
import { type EventReader, readEvents } from "../support/event_reader.ts"
import { expectProblem, expectRefusal } from "../support/expect_problem.ts"
import { sharedService, startService, type TestService } from "../support/test_service.ts"
import { KEYS, pemOf, tokenKit } from "../support/tokens.ts"

const PATH = "/api/charts/changes"
const charts = defineCollection({
  name: "charts",
  fields: Type.Object({ name: Type.String({ minLength: 1, maxLength: 200 }) }),
  changes: true,
})
const logs = defineCollection({ ...charts, name: "logs", roles: { list: ["reader"] } })
const collections = [charts, logs, products]
const service = await sharedService({ collections })

const create = async (name: string, to: TestService = service) =>
  (
    (await (
      await to.send("/api/charts", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ name }),
      })
    ).json()) as { readonly data: { readonly id: number } }
  ).data

const remove = (id: number) => service.send(`/api/charts/${id}`, { method: "DELETE" })

const readers: Array<EventReader> = []
afterEach(() => Promise.all(readers.splice(0).map((reader) => reader.cancel())))

/** A feed that has been opened, and the block that it begins with. */
const follow = async (init: RequestInit = {}, path = PATH, from: TestService = service) => {
  const response = await from.send(path, init)
  expect(response.status).toBe(200)
  const reader = readEvents(response)
  readers.push(reader)
  const [start] = await reader.take(1)
  return { response, reader, position: start?.id ?? "", start }
}

describe("a feed", () => {
  test("begins with its position, and tells creates and deletes as they come", async () => {
    await create("before")
    const { response, reader, start } = await follow()
    expect(response.headers.get("content-type")).toBe("text/event-stream")
    expect(response.headers.get("cache-control")).toBe("no-store")
    expect(response.headers.get("x-request-id")).toMatch(/^[\w-]{36}$/)
    expect(start).toEqual({ retry: "2000", id: expect.stringMatching(/^[\w-]+\.\d+$/) })
    const record = await create("a\nline")
    await remove(record.id)
    expect(await reader.take(2)).toEqual([
      { event: "create", id: expect.any(String), data: record },
      { event: "delete", id: expect.any(String), data: { id: record.id } },
    ])
  })

  test("goes on after the position that it gave, by header or by address; the header wins", async () => {
    const { reader, position } = await follow()
    const records = [await create("a"), await create("b"), await create("c")]
    const events = await reader.take(3)
    await reader.cancel()
    const after = (at: number) => events[at]?.id ?? ""
    const rest = async (init: RequestInit, path: string) => {
      const again = await follow(init, path)
      const told = await again.reader.take(1)
      return told.map(({ data }) => data)
    }
    expect(await rest({}, `${PATH}?after=${position}`)).toEqual([records[0]])
    expect(await rest({ headers: { "last-event-id": after(0) } }, PATH)).toEqual([records[1]])
    expect(await rest({ headers: { "last-event-id": after(1) } }, `${PATH}?after=${position}`)).toEqual([records[2]])
    expect(await rest({ headers: { "last-event-id": "" } }, `${PATH}?after=${after(1)}`)).toEqual([records[2]])
  })

  test("is sent as it is to who takes gzip", async () => {
    const { response } = await follow({ headers: { "accept-encoding": "gzip" } })
    expect(response.headers.get("content-encoding")).toBeNull()
  })

  test("is only announced to HEAD", async () => {
    const response = await service.send(PATH, { method: "HEAD" })
    expect([response.status, response.headers.get("content-type"), await response.text()]).toEqual([
      200,
      "text/event-stream",
      "",
    ])
  })
})

describe("a feed is refused", () => {
  test.each([
    [400, "INVALID_QUERY", `${PATH}?after=`, {}, "'after'"],
    [400, "INVALID_QUERY", `${PATH}?after=SUBMITTED%20x`, {}, "'after'"],
    [400, "INVALID_QUERY", `${PATH}?after=${"x".repeat(1025)}`, {}, "'after'"],
    [400, "INVALID_QUERY", `${PATH}?after=a.1&after=a.2`, {}, "'after'"],
    [400, "INVALID_QUERY", `${PATH}?since=SUBMITTED`, {}, "'since'"],
    [400, "INVALID_HEADER", PATH, { "last-event-id": "SUBMITTED'" }, "'Last-Event-ID'"],
    [401, "UNAUTHENTICATED", PATH, { authorization: "Bearer a.b.c" }, ""],
    [403, "FORBIDDEN", "/api/logs/changes", {}, ""],
  ] as const)("with %d %s for %s", async (status, code, path, headers, named) => {
    const { detail } = await expectRefusal(service, () => service.send(path, { headers }), status, code)
    expect(detail).toContain(named)
    expect(detail).not.toContain("SUBMITTED")
  })

  test("for a position that the log does not have", async () => {
    for (const position of ["4f1c09d2ab7e.1", "SUBMITTED"])
      await expectProblem(await service.send(`${PATH}?after=${position}`), 410, "POSITION_GONE")
  })

  test("by a store that cannot tell changes", async () => {
    const layer = Layer.effect(
      RecordRepository,
      Effect.map(Layer.build(memoryRecords.layer), (context) => ({
        ...Context.get(context, RecordRepository),
        changes: (collection) => Effect.fail(new ChangesUnsupported({ collection, reason: "the server has none" })),
      })),
    )
    const without = await startService({ collections, repository: layer })
    const { detail } = await expectProblem(await without.send(PATH), 501, "CHANGES_UNSUPPORTED")
    expect(detail).not.toContain("server has none")
    await without.stop()
  })

  test("where the collection declares none: the path is that of no record, as ever", async () => {
    await expectProblem(await service.send("/api/products/changes"), 404, "RECORD_NOT_FOUND")
  })

  test("with another method", async () => {
    const response = await service.send(PATH, { method: "POST" })
    expect(response.headers.get("allow")).toBe("GET, HEAD")
    await expectProblem(response, 405, "METHOD_NOT_ALLOWED")
  })
})

test("whoever may list may follow, unless the collection says otherwise", async () => {
  const authorization = `Bearer ${service.token("reader")}`
  await follow({ headers: { authorization } }, "/api/logs/changes")
})

describe("open feeds", () => {
  test("are bounded, and a place is free again when the client has gone", async () => {
    const small = await startService({ collections, maxFeeds: 2 })
    for (let round = 0; round < 3; round++) {
      const feeds = [await follow({}, PATH, small), await follow({}, PATH, small)]
      const refused = await small.send(PATH)
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0)
      await expectProblem(refused, 503, "TOO_MANY_FEEDS")
      // What opens no feed takes no place.
      expect((await small.send(`${PATH}?after=x.1`)).status).toBe(503)
      for (const { reader } of feeds) await reader.cancel()
      while ((await small.send(PATH, { method: "HEAD" })).status === 503) await Bun.sleep(5)
    }
    for (let round = 0; round < 5; round++) {
      expect((await small.send(PATH, { method: "HEAD" })).status).toBe(200)
      expect((await small.send(`${PATH}?after=x.1`)).status).toBe(410)
    }
    await small.stop()
  })

  test("take no place of the requests that may run at a time", async () => {
    const narrow = await startService({ collections, maxInFlight: 1 })
    const feeds = [await follow({}, PATH, narrow), await follow({}, PATH, narrow), await follow({}, PATH, narrow)]
    const record = await create("a", narrow)
    for (const { reader } of feeds) expect((await reader.take(1)).map(({ data }) => data)).toEqual([record])
    await narrow.stop()
  })

  test("end when the service stops, which waits for none of them", async () => {
    const ending = await startService({ collections })
    const { reader } = await follow({}, PATH, ending)
    // They end as a stream ends: the listener would cut them off, after 10 s.
    await Promise.all([ending.stop(), reader.ended()])
  }, 30_000)

  test("end with their token", async () => {
    const nowS = Math.floor(Date.now() / 1000)
    const authorization = `Bearer ${tokenKit(nowS).access({ exp: nowS + 2 })}`
    const { reader } = await follow({ headers: { authorization } })
    await reader.ended()
    expect(Date.now() / 1000).toBeGreaterThanOrEqual(nowS + 2)
    await expectProblem(await service.send(PATH, { headers: { authorization } }), 401, "UNAUTHENTICATED")
  }, 30_000)
})

describe("the library", () => {
  test("closes its feeds, tells the runtime's server that they take long, and mounts them anywhere", async () => {
    const records = await openRecords({ store: "memory", realm: { keys: pemOf(KEYS.realm().publicKey) } })
    const { handler, service } = setupCollection(charts, records)
    const patient: Array<number> = []
    const server = { timeout: (_request: Request, seconds: number) => void patient.push(seconds) }
    const request = new Request("http://localhost/anywhere")
    const response = await handler.changes({ request, set: { headers: {} }, server })
    if (typeof response === "string") throw new Error(response)
    const reader = readEvents(response)
    await reader.take(1)
    const record = await Effect.runPromise(service.create({ name: "a" }))
    expect((await reader.take(1)).map(({ data }) => data)).toEqual([record])
    expect(patient).toEqual([0])
    await Promise.all([records.close(), reader.ended()])
  })
})
