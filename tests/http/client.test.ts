// The client against the real service, in every runtime it is for.
import { afterAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ApiError, createClient } from "../../bootstrap/client.ts"
import { defineCollection } from "../../domain/records/collection.ts"
import { products as plainProducts } from "../../domain/records/products.ts"
import { sharedService } from "../support/test_service.ts"

const products = defineCollection({ ...plainProducts, updates: ["replace", "patch"], changes: true })
const service = await sharedService({ collections: [products] })
const url = `${service.url}/api/products`
const client = createClient<typeof products, "price">({ url, token: service.token("user") })

const folder = mkdtempSync(join(tmpdir(), "portolan-client-"))
afterAll(() => rmSync(folder, { recursive: true }))

const refusal = async (call: Promise<unknown>): Promise<ApiError> => {
  const failure: unknown = await call.then(
    () => undefined,
    (failure) => failure,
  )
  if (!(failure instanceof ApiError)) throw failure
  return failure
}

describe("the client", () => {
  test("creates, reads, lists and removes", async () => {
    const record = await client.create({ name: "Anchor chain" })
    expect(record).toEqual({ id: expect.any(Number), name: "Anchor chain", price: 0 })
    expect(await client.get(record.id)).toEqual(record)
    const page = await client.list({ limit: 1, count: true })
    expect(page).toEqual({ records: [expect.anything()], more: true, total: expect.any(Number) })
    expect(await client.remove(record.id)).toEqual(record)
    expect(await refusal(client.get(record.id))).toMatchObject({ status: 404, code: "RECORD_NOT_FOUND" })
  })

  test("creates several records, all or none, and once for a key", async () => {
    const records = await client.createAll([{ name: "a" }, { name: "b", price: 2 }], { idempotencyKey: "twice" })
    expect(records.map(({ name, price }) => [name, price])).toEqual([
      ["a", 0],
      ["b", 2],
    ])
    expect(await client.createAll([{ name: "a" }, { name: "b", price: 2 }], { idempotencyKey: "twice" })).toEqual(
      records,
    )
    const { total } = await client.list({ limit: 1, count: true })
    const wrong = await refusal(client.createAll([{ name: "c" }, { name: "" }]))
    expect(wrong).toMatchObject({ status: 422, errors: [{ pointer: "/1/name" }] })
    expect((await client.list({ limit: 1, count: true })).total).toBe(total)
  })

  test("replaces and patches a record that nobody else has changed", async () => {
    const { id } = await client.create({ name: "a".repeat(900), price: 1 })
    const { record, tag } = await client.getTagged(id)
    expect(await client.patch(id, { price: 5 }, { ifMatch: tag ?? "" })).toEqual({ ...record, price: 5 })
    expect(await refusal(client.replace(id, { name: "lost" }, { ifMatch: tag ?? "" }))).toMatchObject({ status: 412 })
    expect(await client.patch(id, { price: null })).toEqual({ ...record, price: 0 })
    expect(await client.replace(id, { name: "b", price: 3 })).toEqual({ id, name: "b", price: 3 })
    expect(await refusal(client.remove(id, { ifMatch: tag ?? "" }))).toMatchObject({ status: 412 })
  })

  test("tells what is wrong with a record, and with a token", async () => {
    const wrong = await refusal(client.create({ name: "" }))
    expect(wrong).toMatchObject({ status: 422, code: "INVALID_RECORD", errors: [{ pointer: "/name" }] })
    expect(wrong.requestId).toMatch(/^[\w-]{36}$/)
    const stranger = createClient<typeof products>({ url, token: "a.b.c" })
    expect(await refusal(stranger.get(1))).toMatchObject({ status: 401, code: "UNAUTHENTICATED" })
    expect(await refusal(Array.fromAsync(stranger.changes()).then(() => {}))).toMatchObject({ status: 401 })
  })

  test("follows the changes", async () => {
    const ending = new AbortController()
    const told: Array<unknown> = []
    for await (const change of client.changes({ signal: ending.signal })) {
      told.push(change.kind === "start" ? change.kind : [change.kind, change.record])
      if (change.kind === "start") await client.remove((await client.create({ name: "seen" })).id)
      if (change.kind === "delete") ending.abort()
    }
    const [, [, created] = []] = told as ReadonlyArray<ReadonlyArray<{ readonly id: number }>>
    expect(told).toEqual([
      "start",
      ["create", { id: expect.any(Number), name: "seen", price: 0 }],
      ["delete", { id: created?.id }],
    ])
  })
})

test("its bundle is small, and runs under Node alone", async () => {
  const built = await Bun.build({
    entrypoints: [join(import.meta.dir, "../../bootstrap/client.ts")],
    target: "browser",
    minify: true,
  })
  const [bundle] = built.outputs
  const code = (await bundle?.text()) ?? ""
  expect(code).not.toMatch(/\bimport\b|require\(|node:|Bun\.|Effect|elysia/i)
  expect(code.length).toBeLessThan(8_192)
  writeFileSync(join(folder, "client.mjs"), code)
  writeFileSync(
    join(folder, "main.mjs"),
    `import { createClient } from "./client.mjs"
const [url, token] = process.argv.slice(2)
const client = createClient({ url, token })
const ending = new AbortController()
for await (const change of client.changes({ signal: ending.signal })) {
  if (change.kind === "start") await client.create({ name: "from Node" })
  else {
    process.stdout.write(change.record.name)
    ending.abort()
  }
}`,
  )
  const node = Bun.spawn(["node", "main.mjs", url, service.token("user")], {
    cwd: folder,
    stdout: "pipe",
    stderr: "pipe",
  })
  const [stdout, stderr, code_] = [await node.stdout.text(), await node.stderr.text(), await node.exited]
  expect({ stdout, stderr, code: code_ }).toEqual({ stdout: "from Node", stderr: "", code: 0 })
}, 60_000)
