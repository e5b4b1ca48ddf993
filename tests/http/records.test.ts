// Specification 12, row by row, over a real socket. The store is the in-memory one; its own promises are in tests/contract.
import { describe, expect, test } from "bun:test"
import { dataOf } from "../support/data_of.ts"
import { expectProblem, expectRefusal } from "../support/expect_problem.ts"
import { sharedService, startService } from "../support/test_service.ts"

const service = await sharedService()

interface Product {
  readonly id: number
  readonly name: string
  readonly price: number
}

const created = async (fields: object = { name: "Buoy", price: 1 }): Promise<Product> =>
  dataOf<Product>(await service.create(fields))

describe("create", () => {
  test("answers 201 with Location and the record with its id", async () => {
    const response = await service.create({ name: "Anchor chain", price: 12.5 })
    expect(response.status).toBe(201)
    expect(response.headers.get("content-type")).toBe("application/json")
    const record = await dataOf<Product>(response)
    expect(record).toEqual({ id: record.id, name: "Anchor chain", price: 12.5 })
    expect(response.headers.get("location")).toBe(`/api/products/${record.id}`)
    expect(await dataOf<Product>(await service.send(`/api/products/${record.id}`))).toEqual(record)
  })

  test("price omitted becomes 0, -0 is stored as 0", async () => {
    expect((await created({ name: "a" })).price).toBe(0)
    const text = await (await service.send("/api/products", body('{"name":"a","price":-0}'))).text()
    expect(text).toContain('"price":0}')
    const { data } = JSON.parse(text) as { readonly data: Product }
    expect(Object.is((await dataOf<Product>(await service.send(`/api/products/${data.id}`))).price, 0)).toBe(true)
  })

  for (const type of [
    "application/json",
    "APPLICATION/JSON",
    "application/json; charset=utf-8",
    'application/json;charset="UTF-8"',
  ])
    test(`takes Content-Type ${type}`, async () => {
      expect((await service.create({ name: "a" }, { headers: { "content-type": type } })).status).toBe(201)
    })

  test("takes a byte order mark and the last of duplicate keys", async () => {
    const response = await service.send("/api/products", body('\uFEFF{"name":"a","price":1,"price":2}'))
    expect(response.status).toBe(201)
    expect((await dataOf<Product>(response)).price).toBe(2)
  })

  test("keeps text as sent", async () => {
    const name = "  Ankerkette 錨 🚢 \u0301 "
    expect((await created({ name })).name).toBe(name)
  })
})

const body = (text: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}): RequestInit => ({
  method: "POST",
  body: text,
  headers: { "content-type": "application/json", ...headers },
})

describe("create refuses", () => {
  const nested = (depth: number): unknown => (depth === 0 ? 1 : { a: nested(depth - 1) })

  test.each([
    ["a client-chosen id", { name: "a", id: 5 }, "/id"],
    ["_id", { name: "a", _id: 1 }, "/_id"],
    ["an unknown field", { name: "a", colour: "red" }, "/colour"],
    ["a name that is an operator", { name: { $gt: "" } }, "/name"],
    ["a key $where", { name: "a", $where: "1" }, "/$where"],
    ["a dotted key", { name: "a", "a.b": 1 }, "/a.b"],
    ["a key constructor", { name: "a", constructor: 1 }, "/constructor"],
    ["a nested _bsontype", { name: "a", x: { y: [{ _bsontype: "ObjectId" }] } }, "/x/y/0/_bsontype"],
    ["nesting over 32", { name: "a", x: nested(40) }, undefined],
  ])("%s", async (_what, fields, pointer) => {
    const problem = await expectRefusal(service, () => service.create(fields), 422, "INVALID_RECORD")
    const pointers = problem.errors?.map((error) => error.pointer)
    if (pointer !== undefined) expect(pointers).toContain(pointer)
    expect(problem.errors?.every(({ message }) => message !== "")).toBe(true)
  })

  test.each([
    ["a lone surrogate", String.raw`{"name":"a\ud800"}`],
    ["a key __proto__", '{"name":"a","__proto__":{"x":1}}'],
    ["a nested __proto__", '{"name":"a","x":{"__proto__":1}}'],
    ["a price of 1e400", '{"name":"a","price":1e400}'],
    ["a key with NUL", '{"name":"a","x\\u0000":1}'],
    ["an array", "[]"],
    ["an array in an array", '[[{"name":"a"}]]'],
    ["null", "null"],
    ["a string", '"a"'],
    ["a number", "1"],
  ])("%s", async (_what, text) => {
    await expectRefusal(service, () => service.send("/api/products", body(text)), 422, "INVALID_RECORD")
  })

  test.each([
    ["an open brace", "{"],
    ["a trailing comma", '{"name":"a",}'],
    ["a comment", '{"name":"a"}//'],
    ["single quotes", "{'name':'a'}"],
    ["NaN", '{"name":"a","price":NaN}'],
    ["trailing text", '{"name":"a"} x'],
    ["an empty body", ""],
    ["only blanks", "  "],
    ["100,000 open brackets", "[".repeat(100_000)],
    ["broken UTF-8", new Uint8Array([0x7b, 0x22, 0x6e, 0x61, 0x6d, 0x65, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d])],
  ])("%s", async (_what, text) => {
    await expectRefusal(service, () => service.send("/api/products", body(text)), 400, "INVALID_JSON")
  })

  test.each([
    ["text/plain"],
    ["text/json"],
    ["application/x-www-form-urlencoded"],
    ["multipart/form-data; boundary=x"],
    ["application/jsonx"],
    ["application/json-seq"],
    ["application/vnd.api+json"],
    ["application/json, text/plain"],
    ["application/json; charset=utf-16"],
    ["application/json; charset=latin1"],
  ])("Content-Type %s", async (type) => {
    await expectRefusal(
      service,
      () => service.create({ name: "a" }, { headers: { "content-type": type } }),
      415,
      "UNSUPPORTED_MEDIA_TYPE",
    )
  })

  test("no Content-Type, and a content coding", async () => {
    await expectRefusal(
      service,
      () => service.send("/api/products", { method: "POST", body: new Blob(['{"name":"a"}']), headers: {} }),
      415,
      "UNSUPPORTED_MEDIA_TYPE",
    )
    await expectRefusal(
      service,
      () => service.send("/api/products", body('{"name":"a"}', { "content-encoding": "gzip" })),
      415,
      "UNSUPPORTED_MEDIA_TYPE",
    )
  })

  test("a body over 1 MiB, and takes one of exactly 1 MiB as a record to judge", async () => {
    const sized = (bytes: number) => `{"name":"${"a".repeat(bytes - 11)}"}`
    expect(sized(1_048_576).length).toBe(1_048_576)
    await expectRefusal(service, () => service.send("/api/products", body(sized(1_048_577))), 413, "BODY_TOO_LARGE")
    await expectRefusal(service, () => service.send("/api/products", body(sized(1_048_576))), 422, "INVALID_RECORD")
  })
})

/** Ids that are no canonical decimal in 1..2^53-1. */
const BAD_IDS = [
  ..."0 -1 1.5 1.0 1e3 0x1 +1 007 1%0A %D9%A3 %EF%BC%91 %00 1%00 %20 %E0%A4%A %7B%22$gt%22:0%7D 1n 1_0 1;x 1%2F2".split(
    " ",
  ),
  ..."null undefined NaN Infinity [object%20Object] 9007199254740992 9007199254740993 9223372036854775807".split(" "),
  ...["18446744073709551615", "18446744073709551616", "9".repeat(5000)],
]

describe("get and delete", () => {
  test("delete answers 200 with the deleted record, then 404", async () => {
    const record = await created()
    const path = `/api/products/${record.id}`
    expect(await dataOf<Product>(await service.send(path, { method: "DELETE" }))).toEqual(record)
    await expectProblem(await service.send(path, { method: "DELETE" }), 404, "RECORD_NOT_FOUND")
    await expectProblem(await service.send(path), 404, "RECORD_NOT_FOUND")
  })

  for (const id of BAD_IDS)
    for (const method of ["GET", "DELETE"])
      test(`${method} refuses the id ${id.slice(0, 24)} as a miss, without asking the store`, async () => {
        const missing = await (await service.send("/api/products/9007199254740991")).json()
        const problem = await expectRefusal(
          service,
          () => service.send(`/api/products/${id}`, { method }),
          404,
          "RECORD_NOT_FOUND",
        )
        const { requestId: _a, instance: _b, ...shown } = problem
        const { requestId: _c, instance: _d, ...miss } = missing as typeof problem
        expect(shown).toEqual(miss)
      })

  test("the largest id is a miss like any other, and a query after the id is refused", async () => {
    const { id } = await created()
    await expectProblem(await service.send("/api/products/9007199254740991"), 404, "RECORD_NOT_FOUND")
    await expectRefusal(service, () => service.send(`/api/products/${id}?id[$gt]=`), 400, "INVALID_QUERY")
  })

  test("an empty id never deletes anything", async () => {
    await expectRefusal(service, () => service.send("/api/products/", { method: "DELETE" }), 404, "ROUTE_NOT_FOUND")
    await expectRefusal(service, () => service.send("/api/products", { method: "DELETE" }), 405, "METHOD_NOT_ALLOWED")
  })
})

const walked = await sharedService()
for (let at = 1; at <= 25; at++) await walked.create({ name: `n${at}` })

describe("list", () => {
  const ids = async (query: string): Promise<ReadonlyArray<number>> =>
    (await dataOf<ReadonlyArray<Product>>(await walked.send(`/api/products${query}`))).map(({ id }) => id)

  test("is in ascending id order, with defaults", async () => {
    expect(await ids("")).toEqual(Array.from({ length: 25 }, (_, at) => at + 1))
    expect(await ids("?start=23")).toEqual([24, 25])
    expect(await ids("?limit=2")).toEqual([1, 2])
    expect(await ids("?limit=0")).toEqual([])
    expect(await ids("?start=25")).toEqual([])
    expect(await ids("?start=9007199254740991&limit=1000")).toEqual([])
    expect(await ids("?&&")).toHaveLength(25)
  })

  test("a walk by start and limit, and one by the Link header, see each record once", async () => {
    const byStart: Array<number> = []
    for (let start = 0; start < 25; start += 7) byStart.push(...(await ids(`?start=${start}&limit=7`)))
    const byLink: Array<number> = []
    let next: string | undefined = "/api/products?limit=7"
    while (next !== undefined) {
      const response: Response = await walked.send(next)
      byLink.push(...(await dataOf<ReadonlyArray<Product>>(response)).map(({ id }) => id))
      next = /<([^>]+)>; rel="next"/.exec(response.headers.get("link") ?? "")?.[1]
    }
    const all = Array.from({ length: 25 }, (_, at) => at + 1)
    expect(byStart).toEqual(all)
    expect(byLink).toEqual(all)
  })

  test("the Link header shows the effective limit", async () => {
    const full = await startService()
    try {
      await Promise.all(Array.from({ length: 1001 }, () => full.create({ name: "a" })))
      const response = await full.send("/api/products?limit=2500")
      expect(await dataOf<ReadonlyArray<Product>>(response)).toHaveLength(1000)
      expect(response.headers.get("link")).toBe('</api/products?start=1000&limit=1000>; rel="next"')
      const last = await full.send("/api/products?start=1000&limit=2500")
      expect(last.headers.get("link")).toBe('</api/products?start=0&limit=1000>; rel="prev"')
    } finally {
      await full.stop()
    }
  })

  test("counts only on request", async () => {
    const plain = await walked.send("/api/products?limit=1")
    expect(plain.headers.get("x-total-count")).toBeNull()
    const counted = await walked.send("/api/products?limit=1", { headers: { prefer: "count=exact" } })
    expect(counted.headers.get("x-total-count")).toBe("25")
    expect(counted.headers.get("preference-applied")).toBe("count=exact")
  })

  const BAD_COUNTS = [
    "",
    ..."-1 1.5 abc NaN Infinity null true 1e2 0x10 +5 %2B5 007 %20 5%0a %D9%A3 1_000 1,2 [1,2] %7B%22a%22:1%7D".split(
      " ",
    ),
    ..."%00 %ZZ 9007199254740992 100000000000000000000".split(" "),
  ]
  for (const parameter of ["start", "limit"]) {
    for (const value of BAD_COUNTS)
      test(`refuses ${parameter}=${value}`, async () => {
        const problem = await expectRefusal(
          walked,
          () => walked.send(`/api/products?${parameter}=${value}`),
          400,
          "INVALID_QUERY",
        )
        expect(problem.detail).toContain(`'${parameter}'`)
      })
    for (const query of [`${parameter}=1&${parameter}=2`, `${parameter}[]=1`, `${parameter}[$gt]=1`, parameter])
      test(`refuses ?${query}`, async () => {
        await expectRefusal(walked, () => walked.send(`/api/products?${query}`), 400, "INVALID_QUERY")
      })
  }
})

describe("methods and paths", () => {
  test.each([
    ["PUT", "/api/products", "GET, HEAD, POST"],
    ["PATCH", "/api/products", "GET, HEAD, POST"],
    ["DELETE", "/api/products", "GET, HEAD, POST"],
    ["OPTIONS", "/api/products", "GET, HEAD, POST"],
    ["PUT", "/api/products/1", "GET, HEAD, DELETE"],
    ["PATCH", "/api/products/1", "GET, HEAD, DELETE"],
    ["POST", "/api/products/1", "GET, HEAD, DELETE"],
  ])("%s %s is not allowed", async (method, path, allow) => {
    const before = service.storeCalls()
    const response = await service.send(path, { method })
    expect(response.headers.get("allow")).toBe(allow)
    await expectProblem(response, 405, "METHOD_NOT_ALLOWED")
    expect(service.storeCalls()).toBe(before)
  })

  test("HEAD answers like GET, without a body", async () => {
    const { id } = await created()
    for (const path of ["/api/products", `/api/products/${id}`]) {
      const [get, head] = [await service.send(path), await service.send(path, { method: "HEAD" })]
      expect(head.status).toBe(200)
      expect(await head.text()).toBe("")
      expect(head.headers.get("content-type")).toBe("application/json")
      expect(head.headers.get("content-length")).toBe(String((await get.arrayBuffer()).byteLength))
    }
  })

  test.each([
    "/api/unknown",
    "/api/products/1/2",
    "/API/products",
    "//api//products",
    "/api/products/1/",
    "/api/",
    "/x",
  ])("%s is unknown", async (path) => {
    await expectRefusal(service, () => service.send(path), 404, "ROUTE_NOT_FOUND")
  })
})

describe("request ids", () => {
  test("a good one is taken over, others are replaced", async () => {
    const id = "abc-123.X_y:z"
    expect((await service.send("/api/products", { headers: { "x-request-id": id } })).headers.get("x-request-id")).toBe(
      id,
    )
    for (const bad of ["a b", "x".repeat(129), '"', "<script>", "é"]) {
      const given = (await service.send("/api/products", { headers: { "x-request-id": bad } })).headers.get(
        "x-request-id",
      )
      expect(given).toMatch(/^[0-9a-f-]{36}$/)
    }
    expect(service.log()).toContain(`"requestId":"${id}"`)
  })
})
