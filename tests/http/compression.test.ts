// gzip: for who asks, over 1 KiB, with caches and entity tags told.
import { describe, expect, test } from "bun:test"
import { gunzipSync } from "node:zlib"
import { Elysia } from "elysia"
import Type from "typebox"
import { acceptsGzip, compression, uncodedTag } from "../../adapters/driving/http/compression.ts"
import { defineCollection } from "../../domain/records/collection.ts"
import { sharedService, startService } from "../support/test_service.ts"

const service = await sharedService()
for (let at = 0; at < 40; at++) await service.create({ name: `Anchor chain ${at}`, price: at })

/** The answer as it is on the wire: `fetch` would unpack it. */
const ask = async (path: string, encoding: string | undefined, init: RequestInit = {}) => {
  const headers = new Headers(init.headers)
  headers.set("accept-encoding", encoding ?? "identity")
  const plain: BunFetchRequestInit = { ...init, headers, decompress: false }
  const answer = await service.send(path, plain)
  return { answer, bytes: new Uint8Array(await answer.arrayBuffer()) }
}

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes)

describe("Accept-Encoding", () => {
  test.each([
    ["gzip", true],
    ["GZIP", true],
    ["x-gzip", true],
    ["gzip, deflate, br, zstd", true],
    ["br;q=1.0, gzip;q=0.8, *;q=0.1", true],
    ["*", true],
    ["gzip;q=0.001", true],
    [" gzip ; q=1 ", true],
    [null, false],
    ["", false],
    ["identity", false],
    ["br", false],
    ["gzip;q=0", false],
    ["gzip;q=0.000", false],
    ["gzip;q=0, *", false],
    ["*;q=0", false],
    ["gzipped", false],
    ["gzip;q=x", false],
    ["gzip;level=9;q=0", false],
  ] as const)("%j: %j", (header, expected) => {
    expect(acceptsGzip(header)).toBe(expected)
  })
})

describe("a large answer", () => {
  test("is compressed for who asks, with the same content, type, status and links", async () => {
    const plain = await ask("/api/products?limit=40", undefined)
    const { answer, bytes } = await ask("/api/products?limit=40", "gzip")
    expect(answer.headers.get("content-encoding")).toBe("gzip")
    expect(text(gunzipSync(bytes))).toBe(text(plain.bytes))
    expect(bytes.length).toBeLessThan(plain.bytes.length / 2)
    for (const name of ["content-type", "link", "vary"])
      expect([name, answer.headers.get(name)]).toEqual([name, plain.answer.headers.get(name)])
    expect([answer.status, answer.headers.get("content-length")]).toEqual([200, String(bytes.length)])
    expect(answer.headers.get("x-request-id")).toMatch(/^[\w-]{36}$/)
  })

  test.each([undefined, "br", "gzip;q=0"])(
    "is sent as it is with %j, and says that it depends on it",
    async (encoding) => {
      const { answer, bytes } = await ask("/api/products?limit=40", encoding)
      expect([answer.headers.get("content-encoding"), answer.headers.get("vary")]).toEqual([null, "Accept-Encoding"])
      expect(JSON.parse(text(bytes)).data).toHaveLength(40)
    },
  )

  test("has the same head when only that is asked for", async () => {
    const get = await ask("/api/products?limit=40", "gzip")
    const { answer, bytes } = await ask("/api/products?limit=40", "gzip", { method: "HEAD" })
    expect(bytes.length).toBe(0)
    for (const name of ["content-encoding", "content-length", "content-type", "link", "vary"])
      expect([name, answer.headers.get(name)]).toEqual([name, get.answer.headers.get(name)])
  })

  test("may be a problem", async () => {
    const fields = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`unknown_field_${at}`, 1]))
    const { answer, bytes } = await ask("/api/products", "gzip", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(fields),
    })
    expect([answer.status, answer.headers.get("content-encoding")]).toEqual([422, "gzip"])
    expect(JSON.parse(text(gunzipSync(bytes))).code).toBe("INVALID_RECORD")
  })

  test("may be the description of the API", async () => {
    const { answer, bytes } = await ask("/openapi.json", "gzip")
    expect(answer.headers.get("content-encoding")).toBe("gzip")
    expect(JSON.parse(text(gunzipSync(bytes))).openapi).toMatch(/^3\.1/)
  })
})

describe("a record whose answer was compressed", () => {
  const notes = defineCollection({
    name: "notes",
    fields: Type.Object({ text: Type.String({ maxLength: 10_000 }) }),
    updates: ["replace"],
  })
  const json = { "content-type": "application/json" }

  test("is changed, and known to be unchanged, by the tag that came with it", async () => {
    const noted = await startService({ collections: [notes] })
    const body = JSON.stringify({ text: "a".repeat(2_000) })
    await noted.send("/api/notes", { method: "POST", headers: json, body })
    const tagOf = async (headers: Record<string, string>) => {
      const answer = await noted.send("/api/notes/1", { headers })
      return [answer.status, answer.headers.get("etag") ?? ""] as const
    }
    const [, plain] = await tagOf({ "accept-encoding": "identity" })
    const [, coded] = await tagOf({ "accept-encoding": "gzip" })
    expect(coded).toBe(plain.replace(/"$/, '-gzip"'))
    for (const tag of [plain, coded])
      expect(await tagOf({ "accept-encoding": "gzip", "if-none-match": tag })).toEqual([304, tag])
    const replace = async (tag: string, text: string) =>
      (
        await noted.send("/api/notes/1", {
          method: "PUT",
          headers: { ...json, "if-match": tag },
          body: JSON.stringify({ text }),
        })
      ).status
    expect([await replace(coded, "b"), await replace(coded, "c"), await replace(plain, "d")]).toEqual([200, 412, 412])
    await noted.stop()
  })
})

describe("1 KiB", () => {
  const app = new Elysia()
    .use(compression())
    .get("/:bytes", async ({ params }) => "a".repeat(Number(params.bytes)))
    .get("/wide/:characters", async ({ params }) => "海".repeat(Number(params.characters)))
  const codingOf = async (path: string) =>
    (await app.handle(new Request(`http://localhost${path}`, { headers: { "accept-encoding": "gzip" } }))).headers.get(
      "content-encoding",
    )
  test.each([
    ["/1024", null],
    ["/1025", "gzip"],
    ["/wide/341", null],
    ["/wide/342", "gzip"],
  ])("%s: %j", async (path, coding) => expect(await codingOf(path)).toBe(coding))
})

describe("the entity tag", () => {
  const TAG = '"5f3a"'
  const app = new Elysia()
    .use(compression())
    .get("/strong", async ({ set }) => {
      set.headers["etag"] = TAG
      return "a".repeat(5000)
    })
    .get("/weak", async ({ set }) => {
      set.headers["etag"] = `W/${TAG}`
      return "a".repeat(5000)
    })
    .get("/unchanged", async ({ set }) => {
      set.headers["etag"] = TAG
      set.status = 304
      return ""
    })
  const tagOf = async (path: string, headers: Record<string, string>) =>
    (await app.handle(new Request(`http://localhost${path}`, { headers }))).headers.get("etag")

  test("of compressed content is another strong one, which leads back to the first", async () => {
    const coded = await tagOf("/strong", { "accept-encoding": "gzip" })
    expect(coded).toBe('"5f3a-gzip"')
    expect(uncodedTag(coded ?? "")).toBe(TAG)
    expect(uncodedTag(TAG)).toBe(TAG)
  })

  test("of plain content and a weak one stay", async () => {
    expect(await tagOf("/strong", {})).toBe(TAG)
    expect(await tagOf("/weak", { "accept-encoding": "gzip" })).toBe(`W/${TAG}`)
  })

  test("in 304 is the one that the client has", async () => {
    expect(await tagOf("/unchanged", { "accept-encoding": "gzip", "if-none-match": '"5f3a-gzip"' })).toBe('"5f3a-gzip"')
    expect(await tagOf("/unchanged", { "accept-encoding": "gzip", "if-none-match": TAG })).toBe(TAG)
  })
})
