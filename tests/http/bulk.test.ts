// Several records in one request, as an array or as lines, and creates that happen once, over a real socket.
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { dataOf } from "../support/data_of.ts"
import { expectProblem, expectRefusal } from "../support/expect_problem.ts"
import { sharedService, startService } from "../support/test_service.ts"

// A service on a real socket, on a machine under heavy load.
setDefaultTimeout(60_000)

const service = await sharedService()

interface Product {
  readonly id: number
  readonly name: string
  readonly price: number
}

const LINES = "application/x-ndjson"
const COUNTED = { headers: { prefer: "count=exact" } }

const count = async (from = service): Promise<number> =>
  Number((await from.send("/api/products?limit=0", COUNTED)).headers.get("x-total-count"))

const importLines = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
  service.send("/api/products/import", { method: "POST", body, headers: { "content-type": LINES, ...headers } })

const keyed = (key: string, fields: unknown, from = service): Promise<Response> =>
  from.create(fields, { headers: { "idempotency-key": key } })

const numbered = (length: number) => Array.from({ length }, (_, at) => ({ name: `item ${at}` }))

describe("POST of an array", () => {
  test("creates all, in order, with defaults filled in", async () => {
    const response = await service.create([{ name: "a", price: 1 }, { name: "b" }])
    expect(response.status).toBe(201)
    expect(response.headers.get("location")).toBeNull()
    const [first, second] = await dataOf<ReadonlyArray<Product>>(response)
    expect(first).toEqual({ id: first?.id ?? 0, name: "a", price: 1 })
    expect(second).toEqual({ id: (first?.id ?? 0) + 1, name: "b", price: 0 })
    expect(await dataOf<Product>(await service.send(`/api/products/${second?.id}`))).toEqual(second as Product)
  })

  test("takes 1000", async () => {
    const created = await dataOf<ReadonlyArray<Product>>(await service.create(numbered(1000)))
    expect(created.map(({ name }) => name)).toEqual(numbered(1000).map(({ name }) => name))
  })

  test.each([
    ["none", [], [""]],
    ["1001", numbered(1001), [""]],
    ["one bad among good ones", [{ name: "a" }, { name: "b" }, { price: -1 }], ["/2/name", "/2/price"]],
    ["a client-chosen id", [{ name: "a", id: 1 }], ["/0/id"]],
    ["scalars and arrays", [1, null, "a", []], ["/0", "/1", "/2", "/3"]],
    ["a reserved key in the depth", [{ name: "a" }, { name: "a", x: { $gt: 1 } }], ["/1/x/$gt", "/1/x"]],
  ])("refuses %s, and stores nothing", async (_what, body, pointers) => {
    const problem = await expectRefusal(service, () => service.create(body), 422, "INVALID_RECORD")
    expect(problem.errors?.map(({ pointer }) => pointer)).toEqual(pointers)
  })

  test("reports 50 broken rules at most", async () => {
    const bad = Array.from({ length: 900 }, () => ({ price: "x", nameless: true }))
    const problem = await expectRefusal(service, () => service.create(bad), 422, "INVALID_RECORD")
    expect(problem.errors).toHaveLength(50)
  })
})

describe("import", () => {
  test("creates one record a line and answers with their ids", async () => {
    const before = await count()
    const response = await importLines('{"name":"a"}\n{"name":"b","price":2}\r\n\n{"name":"c"}')
    expect(response.status).toBe(201)
    const { created, firstId, lastId } = await dataOf<{ created: number; firstId: number; lastId: number }>(response)
    expect([created, lastId - firstId]).toEqual([3, 2])
    expect((await dataOf<Product>(await service.send(`/api/products/${lastId}`))).name).toBe("c")
    expect(await count()).toBe(before + 3)
  })

  test.each([
    ["a line that is no JSON", '{"name":"a"}\n{"name":\n{"name":"c"}', "Line 2 of the body is not valid JSON"],
    ["an empty body", "", "The body is empty"],
    ["broken UTF-8", new Uint8Array([0x7b, 0xff, 0x7d]), "The body is not valid UTF-8"],
  ])("refuses %s", async (_what, body, detail) => {
    const problem = await expectRefusal(service, () => importLines(body), 400, "INVALID_JSON")
    expect(problem.detail).toBe(detail)
  })

  test("refuses lines that break rules by their place, too many, and none", async () => {
    const bad = await expectRefusal(service, () => importLines('{"name":"a"}\n{"price":1}'), 422, "INVALID_RECORD")
    expect(bad.errors).toEqual([{ pointer: "/1/name", message: "is required" }])
    const many = numbered(1001).map((each) => JSON.stringify(each))
    await expectRefusal(service, () => importLines(many.join("\n")), 422, "INVALID_RECORD")
    await expectRefusal(service, () => importLines("\n \n"), 422, "INVALID_RECORD")
  })

  test("refuses other media types, and bodies over 1 MiB", async () => {
    const other = () => importLines('{"name":"a"}', { "content-type": "application/json" })
    await expectRefusal(service, other, 415, "UNSUPPORTED_MEDIA_TYPE")
    await expectRefusal(service, () => importLines("a".repeat(1_048_577)), 413, "BODY_TOO_LARGE")
  })

  test("is a POST alone", async () => {
    for (const method of ["GET", "PUT", "DELETE"]) {
      const response = await service.send("/api/products/import", { method })
      expect(response.headers.get("allow")).toBe("POST")
      await expectProblem(response, 405, "METHOD_NOT_ALLOWED")
    }
  })
})

describe("Idempotency-Key", () => {
  test("the same key and body give the first answer, and one record", async () => {
    const first = await keyed("one", { name: "a", price: 3 })
    expect(first.status).toBe(201)
    const before = await count()
    const again = await keyed('"one"', { name: "a", price: 3 })
    expect(again.status).toBe(201)
    expect(again.headers.get("location")).toBe(first.headers.get("location"))
    expect(await again.text()).toBe(await first.text())
    expect(await count()).toBe(before)
  })

  test("the first answer is given also after the record is deleted", async () => {
    const first = await dataOf<Product>(await keyed("gone", { name: "a" }))
    await service.send(`/api/products/${first.id}`, { method: "DELETE" })
    expect(await dataOf<Product>(await keyed("gone", { name: "a" }))).toEqual(first)
    await expectProblem(await service.send(`/api/products/${first.id}`), 404, "RECORD_NOT_FOUND")
  })

  test("arrays and imports have it too", async () => {
    const first = await (await keyed("many", numbered(3))).text()
    const lines = () => importLines('{"name":"a"}\n{"name":"b"}', { "idempotency-key": "lines" })
    const imported = await (await lines()).text()
    const before = await count()
    expect(await (await keyed("many", numbered(3))).text()).toBe(first)
    expect(await (await lines()).text()).toBe(imported)
    expect(await count()).toBe(before)
  })

  test("another body, also one that differs in its form alone, is 422", async () => {
    await keyed("form", [{ name: "a" }])
    const before = await count()
    await expectProblem(await keyed("form", [{ name: "b" }]), 422, "KEY_REUSED")
    await expectProblem(await keyed("form", { name: "a" }), 422, "KEY_REUSED")
    const asLines = await importLines('{"name":"a"}', { "idempotency-key": "form" })
    await expectProblem(asLines, 422, "KEY_REUSED")
    expect(await count()).toBe(before)
  })

  test("a body that is refused leaves the key free", async () => {
    await expectProblem(await keyed("free", { price: 1 }), 422, "INVALID_RECORD")
    expect((await keyed("free", { name: "a" })).status).toBe(201)
  })

  test("belongs to the caller", async () => {
    const { tokenKit } = await import("../support/tokens.ts")
    const kit = tokenKit(Math.floor(Date.now() / 1000))
    const by = (sub: string) => ({
      headers: { "idempotency-key": "shared", authorization: `Bearer ${kit.access({ sub })}` },
    })
    const alices = await dataOf<Product>(await service.create({ name: "a" }, by("alice")))
    const bobs = await dataOf<Product>(await service.create({ name: "a" }, by("bob")))
    expect(bobs.id).not.toBe(alices.id)
    expect(await dataOf<Product>(await service.create({ name: "a" }, by("alice")))).toEqual(alices)
  })

  test.each([[""], [" "], ['""'], ['"a'], ['a"'], ['"a" "b"'], ['"a", "b"'], ["a, b"], ["a b"], ['"a\\b"'], ["é"]])(
    "refuses %p as a key, before the body is read",
    async (key) => {
      await expectRefusal(service, () => keyed(key, { name: "a" }), 400, "INVALID_IDEMPOTENCY_KEY")
    },
  )

  test("takes 255 characters, escapes and all, and not 256", async () => {
    expect((await keyed("k".repeat(255), { name: "a" })).status).toBe(201)
    await expectRefusal(service, () => keyed("k".repeat(256), { name: "a" }), 400, "INVALID_IDEMPOTENCY_KEY")
    const first = await keyed('"a \\"quoted\\" key, \\\\ $gt"', { name: "a" })
    expect(first.status).toBe(201)
    expect(await (await keyed('"a \\"quoted\\" key, \\\\ $gt"', { name: "a" })).text()).toBe(await first.text())
  })

  test("needs a token like every create", async () => {
    const headers = { "idempotency-key": "k", authorization: "Bearer no" }
    await expectRefusal(service, () => service.create({ name: "a" }, { headers }), 401, "UNAUTHENTICATED")
  })
})

test("one request reaches the store once", async () => {
  const other = await startService()
  const calls = async (request: () => Promise<Response>) => {
    const before = other.storeCalls()
    expect((await request()).status).toBe(201)
    return other.storeCalls() - before
  }
  expect(await calls(() => other.create({ name: "a" }))).toBe(1)
  expect(await calls(() => other.create(numbered(100)))).toBe(1)
  expect(await calls(() => keyed("k", { name: "a" }, other))).toBe(1)
  await other.stop()
})
