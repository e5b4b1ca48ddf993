// PUT, PATCH, entity tags and conditions over a real socket.
import { describe, expect, test } from "bun:test"
import Type from "typebox"
import { defineCollection } from "../../domain/records/collection.ts"
import { products } from "../../domain/records/products.ts"
import { dataOf } from "../support/data_of.ts"
import { expectProblem, expectRefusal } from "../support/expect_problem.ts"
import { sharedService } from "../support/test_service.ts"

const fields = Type.Object({
  title: Type.String({ minLength: 1 }),
  scale: Type.Integer({ minimum: 1, default: 50_000 }),
  measures: Type.Optional(Type.Object({ depth: Type.Optional(Type.Number()), unit: Type.String({ default: "m" }) })),
})
const charts = defineCollection({ name: "charts", fields, updates: ["replace", "patch"] })
const logs = defineCollection({ name: "logs", fields, updates: ["patch"], requireMatch: true, timestamps: true })
const plans = defineCollection({
  name: "plans",
  fields,
  updates: ["replace", "patch"],
  roles: { get: ["reader"], create: ["writer"], replace: ["editor"], patch: ["editor", "mender"] },
})

const vessels = defineCollection({
  name: "vessels",
  fields: Type.Object({ call: Type.Optional(Type.String({ minLength: 1 })) }),
  updates: ["replace", "patch"],
  unique: ["call"],
})

const service = await sharedService({ collections: [products, charts, logs, plans, vessels] })

interface Chart {
  readonly id: number
  readonly title: string
  readonly scale: number
  readonly measures?: object
}

const JSON_TYPE = "application/json"
const PATCH_TYPE = "application/merge-patch+json"

const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  service.send(path, {
    method,
    headers: body === undefined ? headers : { "content-type": method === "PATCH" ? PATCH_TYPE : JSON_TYPE, ...headers },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  })

/** A new record: its path, its tag, and itself. */
const created = async (collection = "charts", record: object = { title: "Elbe" }) => {
  const response = await send("POST", `/api/${collection}`, record)
  expect(response.status).toBe(201)
  const data = await dataOf<Chart>(response)
  return { path: `/api/${collection}/${data.id}`, tag: response.headers.get("etag") ?? "", data }
}

const stored = async (path: string): Promise<Chart> => dataOf<Chart>(await service.send(path))

describe("an entity tag", () => {
  test("is strong, the same wherever the record is shown, and another one after every change", async () => {
    const { path, tag } = await created()
    expect(tag).toMatch(/^"[\w-]{22}"$/)
    const tagOf = async (response: Promise<Response>) => (await response).headers.get("etag")
    expect(await tagOf(send("GET", path))).toBe(tag)
    expect(await tagOf(send("HEAD", path))).toBe(tag)
    const second = await tagOf(send("PUT", path, { title: "Weser" }))
    expect(second).not.toBe(tag)
    expect(await tagOf(send("GET", path))).toBe(second)
    const third = await tagOf(send("PATCH", path, { scale: 2 }))
    expect(await tagOf(send("GET", path))).toBe(third)
    expect(new Set([tag, second, third]).size).toBe(3)
  })

  test("is there for every record, of a collection without updates too", async () => {
    const { path, tag } = await created("products", { name: "Buoy" })
    const response = await service.send(path)
    expect(response.headers.get("etag")).toBe(tag)
    expect((await send("GET", path, undefined, { "if-none-match": tag })).status).toBe(304)
  })
})

describe("a compressed answer", () => {
  test("has a tag that conditions take", async () => {
    const { path } = await created("charts", { title: "a".repeat(5000) })
    const gzip = { "accept-encoding": "gzip" }
    const coded = (await send("GET", path, undefined, gzip)).headers.get("etag") ?? ""
    expect(coded).toEndWith('-gzip"')
    const plain = await send("GET", path, undefined, { "accept-encoding": "identity" })
    expect(plain.headers.get("etag")).toBe(coded.replace("-gzip", ""))
    const again = await send("GET", path, undefined, { ...gzip, "if-none-match": coded })
    expect([again.status, again.headers.get("etag")]).toEqual([304, coded])
    expect((await send("PATCH", path, { scale: 2 }, { "if-match": coded })).status).toBe(200)
    await expectProblem(await send("PATCH", path, { scale: 3 }, { "if-match": coded }), 412, "RECORD_CHANGED")
  })
})

describe("GET with If-None-Match", () => {
  test("answers 304 without a body when the client has the record", async () => {
    const { path, tag } = await created()
    for (const value of [tag, `W/${tag}`, `"other", ${tag}`, `,"a,b" , W/${tag} ,`, "*"])
      for (const method of ["GET", "HEAD"]) {
        const response = await send(method, path, undefined, { "if-none-match": value })
        expect([value, response.status]).toEqual([value, 304])
        expect(response.headers.get("etag")).toBe(tag)
        expect(response.headers.get("content-type")).toBeNull()
        // Where the length is said, it is that of the answer that the client has.
        const length = (await (await send("GET", path)).arrayBuffer()).byteLength
        expect(response.headers.get("content-length") ?? String(length)).toBe(String(length))
        expect(response.headers.get("x-request-id")).not.toBeNull()
        expect(await response.text()).toBe("")
      }
  })

  test("answers 200 otherwise, also to what is no list of tags", async () => {
    const { path, tag, data } = await created()
    for (const value of [
      '"other"',
      'W/"other"',
      tag.slice(1, -1),
      `"${tag}`,
      tag.toLowerCase().replace('"', "w/"),
      "",
      "x",
    ]) {
      const response = await send("GET", path, undefined, { "if-none-match": value })
      expect([value, response.status]).toEqual([value, 200])
      expect(await dataOf<Chart>(response)).toEqual(data)
    }
  })

  test("is no answer for what is not there", async () => {
    await expectProblem(
      await send("GET", "/api/charts/99999", undefined, { "if-none-match": "*" }),
      404,
      "RECORD_NOT_FOUND",
    )
  })
})

describe("PUT", () => {
  test("replaces the whole record and shows it as it is stored", async () => {
    const { path, data } = await created("charts", { title: "Elbe", scale: 1, measures: { depth: 3 } })
    const response = await send("PUT", path, { title: "Weser" })
    expect(response.status).toBe(200)
    expect(response.headers.get("content-type")).toBe(JSON_TYPE)
    const replaced = { id: data.id, title: "Weser", scale: 50_000 }
    expect(await dataOf<Chart>(response)).toEqual(replaced)
    expect(await stored(path)).toEqual(replaced)
    expect(await dataOf<ReadonlyArray<Chart>>(await service.send("/api/charts?limit=1000"))).toContainEqual(replaced)
  })

  test.each([
    ["its id, as it was read", { id: 1, title: "a" }, "/id"],
    ["no title", { scale: 1 }, "/title"],
    ["an unknown field", { title: "a", colour: "red" }, "/colour"],
    ["an operator", { title: { $gt: "" } }, "/title"],
    ["a list", [{ title: "a" }], ""],
    ["null", null, ""],
  ])("refuses %s", async (_what, body, pointer) => {
    const { path, data } = await created()
    const problem = await expectRefusal(service, () => send("PUT", path, body), 422, "INVALID_RECORD")
    expect(problem.errors?.map((error) => error.pointer)).toContain(pointer)
    expect(await stored(path)).toEqual(data)
  })

  test.each([
    ["{", JSON_TYPE, 400, "INVALID_JSON"],
    ["", JSON_TYPE, 400, "INVALID_JSON"],
    ['{"title":"a"}', PATCH_TYPE, 415, "UNSUPPORTED_MEDIA_TYPE"],
    ['{"title":"a"}', "text/plain", 415, "UNSUPPORTED_MEDIA_TYPE"],
  ])("refuses the body %p as %s", async (body, type, status, code) => {
    const { path } = await created()
    await expectRefusal(service, () => send("PUT", path, body, { "content-type": type }), status, code)
  })

  test.each(["99999", "0", "01", "abc", "9007199254740992"])("finds no record %s, and makes none", async (id) => {
    await expectProblem(await send("PUT", `/api/charts/${id}`, { title: "a" }), 404, "RECORD_NOT_FOUND")
    await expectProblem(await send("GET", `/api/charts/${id}`), 404, "RECORD_NOT_FOUND")
  })
})

describe("PATCH", () => {
  test("changes what it names", async () => {
    const { path, data } = await created("charts", { title: "Elbe", scale: 7, measures: { depth: 3, unit: "ft" } })
    const response = await send("PATCH", path, { measures: { depth: null } })
    expect(response.status).toBe(200)
    expect(await dataOf<Chart>(response)).toEqual({ ...data, measures: { unit: "ft" } })
    expect(await stored(path)).toEqual({ ...data, measures: { unit: "ft" } })
  })

  for (const type of ["APPLICATION/merge-patch+json", 'application/merge-patch+json; charset="utf-8"'])
    test(`takes Content-Type ${type}`, async () => {
      const { path } = await created()
      expect((await send("PATCH", path, { scale: 3 }, { "content-type": type })).status).toBe(200)
    })

  test.each([
    JSON_TYPE,
    "application/json-patch+json",
    "application/merge-patchXjson",
    "text/plain",
    "application/merge-patch+json; charset=latin1",
  ])("refuses %s, and says what it takes", async (type) => {
    const { path } = await created()
    const patch = () => send("PATCH", path, { scale: 3 }, { "content-type": type })
    await expectRefusal(service, patch, 415, "UNSUPPORTED_MEDIA_TYPE")
    expect((await patch()).headers.get("accept-patch")).toBe(PATCH_TYPE)
  })

  test.each([
    ["the id", { id: 1 }, "/id"],
    ["the id, to be removed", { id: null }, "/id"],
    ["an operator", { title: { $set: "a" } }, "/title/$set"],
    ["a list", [], ""],
  ])("refuses %s before the store is called", async (_what, patch, pointer) => {
    const { path } = await created()
    const problem = await expectRefusal(service, () => send("PATCH", path, patch), 422, "INVALID_RECORD")
    expect(problem.errors?.map((error) => error.pointer)).toEqual([pointer])
  })

  test.each([
    ["a required field that is to be removed", { title: null }, "/title"],
    ["a value that breaks a rule", { scale: 0 }, "/scale"],
    ["an unknown field", { colour: "red" }, "/colour"],
  ])("refuses %s, and changes nothing", async (_what, patch, pointer) => {
    const { path, data } = await created()
    const problem = await expectProblem(await send("PATCH", path, patch), 422, "INVALID_RECORD")
    expect(problem.errors?.map((error) => error.pointer)).toEqual([pointer])
    expect(await stored(path)).toEqual(data)
  })

  test("finds no record that is not there", async () => {
    for (const id of ["99999", "0", "x"])
      await expectProblem(await send("PATCH", `/api/charts/${id}`, {}), 404, "RECORD_NOT_FOUND")
  })
})

describe.each([
  ["PUT", { title: "new" }],
  ["PATCH", { title: "new" }],
  ["DELETE", undefined],
] as const)("%s with a condition", (method, body) => {
  const change = (path: string, headers: Record<string, string>) => send(method, path, body, headers)

  test.each([
    ["If-Match", (tag: string) => tag],
    ["If-Match", (tag: string) => `"other" , ${tag}`],
    ["If-Match", () => "*"],
    ["If-Match", () => " * "],
    ["If-None-Match", () => '"other"'],
  ])("is done when %s holds", async (header, value) => {
    const { path, tag } = await created()
    expect((await change(path, { [header]: value(tag) })).status).toBe(200)
    const left = await service.send(path)
    expect(method === "DELETE" ? left.status : (await dataOf<Chart>(left)).title).toBe(
      method === "DELETE" ? 404 : "new",
    )
  })

  test.each([
    ["If-Match", (_tag: string) => '"other"'],
    ["If-Match", (tag: string) => `W/${tag}`],
    ["If-None-Match", (tag: string) => tag],
    ["If-None-Match", (tag: string) => `W/${tag}`],
    ["If-None-Match", () => "*"],
  ])("is 412 when %s does not hold, and changes nothing", async (header, value) => {
    const { path, tag, data } = await created()
    await expectProblem(await change(path, { [header]: value(tag) }), 412, "RECORD_CHANGED")
    expect(await stored(path)).toEqual(data)
  })

  test("is 412 with the tag of a state that is over", async () => {
    const { path, tag } = await created()
    await send("PATCH", path, { scale: 2 })
    await expectProblem(await change(path, { "if-match": tag }), 412, "RECORD_CHANGED")
    expect((await stored(path)).scale).toBe(2)
  })

  test("is 404 for what is not there, whatever the condition", async () => {
    await expectProblem(await change("/api/charts/99999", { "if-match": "*" }), 404, "RECORD_NOT_FOUND")
    await expectProblem(await change("/api/charts/99999", { "if-none-match": "*" }), 404, "RECORD_NOT_FOUND")
  })

  test.each(["abc", "", '"', '"a" "b"', 'w/"a"', "*, *", '"a', "W/a", '"a\tb"', ","])(
    "refuses the condition %p, which is no list of tags",
    async (value) => {
      const { path, data } = await created()
      for (const header of ["If-Match", "If-None-Match"]) {
        const problem = await expectRefusal(service, () => change(path, { [header]: value }), 400, "INVALID_CONDITION")
        expect(problem.detail).toContain(`'${header}'`)
      }
      expect(await stored(path)).toEqual(data)
    },
  )
})

describe("a collection that demands If-Match", () => {
  test("takes no change without it, whatever the method", async () => {
    const { path, data } = await created("logs")
    for (const [method, body] of [
      ["PATCH", { scale: 3 }],
      ["PATCH", "{"],
      ["DELETE", undefined],
    ] as const)
      for (const headers of [{}, { "if-none-match": '"other"' }])
        await expectRefusal(service, () => send(method, path, body, headers), 428, "CONDITION_REQUIRED")
    expect(await stored(path)).toEqual(data)
  })

  test("takes it with the tag, and shows when the record was changed", async () => {
    const { path, tag, data } = await created("logs")
    expect<unknown>(data).toEqual({
      id: data.id,
      title: "Elbe",
      scale: 50_000,
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updatedAt: expect.stringMatching(/Z$/),
    })
    const response = await send("PATCH", path, { scale: 3 }, { "if-match": tag })
    expect(response.status).toBe(200)
    expect(await dataOf<Chart>(response)).toMatchObject({
      scale: 3,
      createdAt: (data as { createdAt?: string }).createdAt,
    })
    const now = response.headers.get("etag") ?? ""
    await expectProblem(await send("DELETE", path, undefined, { "if-match": tag }), 412, "RECORD_CHANGED")
    expect((await send("DELETE", path, undefined, { "if-match": now })).status).toBe(200)
  })
})

describe("methods", () => {
  test.each([
    ["products", "PUT", "GET, HEAD, DELETE"],
    ["products", "PATCH", "GET, HEAD, DELETE"],
    ["charts", "POST", "GET, HEAD, PUT, PATCH, DELETE"],
    ["logs", "PUT", "GET, HEAD, PATCH, DELETE"],
  ])("of %s: %s is not among them", async (collection, method, allow) => {
    const { path } = await created(collection, collection === "products" ? { name: "a" } : { title: "a" })
    const before = service.storeCalls()
    const response = await send(method, path, "{}")
    expect(response.headers.get("allow")).toBe(allow)
    await expectProblem(response, 405, "METHOD_NOT_ALLOWED")
    expect(service.storeCalls()).toBe(before)
  })

  test("new ones are counted and logged as the others are", async () => {
    const { path } = await created()
    await send("PUT", path, { title: "a" }, { "x-request-id": "put-1" })
    await send("PATCH", path, {}, { "x-request-id": "patch-1" })
    const metrics = await (await service.send("/metrics")).text()
    for (const method of ["PUT", "PATCH"])
      expect(metrics).toMatch(new RegExp(`http_requests_total\\{.*method="${method}".*route="/api/charts/:id"`))
    const lines = service.log().split("\n")
    for (const [method, id] of [
      ["PUT", "put-1"],
      ["PATCH", "patch-1"],
    ])
      expect(
        lines.filter((line) => line.includes(`"requestId":"${id}"`)).map((line) => JSON.parse(line)),
      ).toMatchObject([{ method, path, status: 200 }])
  })
})

describe("a unique field", () => {
  const create = (body: unknown, headers = {}) => send("POST", "/api/vessels", body, headers)
  const expectTaken = async (response: Promise<Response>, pointer: string) => {
    const problem = await expectProblem(await response, 409, "NOT_UNIQUE")
    expect(problem.errors).toEqual([{ pointer, message: "must be unique, and is not" }])
    expect(JSON.stringify(problem)).not.toContain("DEAN")
  }

  test("is refused by name, however the record would get its value", async () => {
    expect((await create({ call: "DEAN" })).status).toBe(201)
    const { path } = await created("vessels", { call: "DABC" })
    await expectTaken(create({ call: "DEAN" }), "/call")
    await expectTaken(create({ call: "DEAN" }, { "idempotency-key": '"a"' }), "/call")
    await expectTaken(create([{ call: "D1" }, { call: "DEAN" }]), "/1/call")
    await expectTaken(create([{ call: "D1" }, {}, { call: "D1" }]), "/2/call")
    await expectTaken(
      service.send("/api/vessels/import", {
        method: "POST",
        headers: { "content-type": "application/x-ndjson" },
        body: '{"call":"D2"}\n{"call":"DEAN"}\n',
      }),
      "/1/call",
    )
    await expectTaken(send("PUT", path, { call: "DEAN" }), "/call")
    await expectTaken(send("PATCH", path, { call: "DEAN" }), "/call")
    expect((await send("PATCH", path, { call: "DABC" })).status).toBe(200)
    expect((await send("PATCH", path, { call: null })).status).toBe(200)
    expect((await create({ call: "DABC" })).status).toBe(201)
    expect(await dataOf<ReadonlyArray<object>>(await service.send("/api/vessels"))).toHaveLength(3)
  })
})

describe("roles", () => {
  const as = (...roles: ReadonlyArray<string>) => ({ authorization: `Bearer ${service.token(...roles)}` })

  test("of the new operations are asked for before anything else", async () => {
    const path = "/api/plans/1"
    await expectRefusal(service, () => send("PUT", path, "{", as("reader", "writer", "mender")), 403, "FORBIDDEN")
    await expectRefusal(service, () => send("PATCH", path, "{", as("reader", "writer")), 403, "FORBIDDEN")
    const response = await send("POST", "/api/plans", { title: "a" }, as("writer"))
    expect(response.status).toBe(201)
    expect((await send("PUT", path, { title: "b" }, as("editor"))).status).toBe(200)
    expect((await send("PATCH", path, { title: "c" }, as("mender"))).status).toBe(200)
    expect(await dataOf<Chart>(await send("GET", path, undefined, as("reader")))).toMatchObject({ title: "c" })
  })
})
