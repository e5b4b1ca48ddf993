// Lists of the client against the real service: conditions, orders, selections and cursors arrive as they were meant.
import { describe, expect, test } from "bun:test"
import { createClient, type Where } from "../../bootstrap/client.ts"
import type { products } from "../../domain/records/products.ts"
import { sharedService } from "../support/test_service.ts"

const service = await sharedService()
const client = createClient<typeof products, "price">({
  url: `${service.url}/api/products`,
  token: service.token("user"),
})

/** Names that mean something in a query, in a list of values, or in an address. */
const NAMES = [
  "a,b",
  'q"uote',
  "back\\slash",
  "(brackets)",
  "per%cent+plus",
  "海图 🗺️",
  "chart*",
  "chart one",
  "a&b=c#d",
]
for (const [price, name] of NAMES.entries()) await client.create({ name, price })

const names = async (where: Where<{ id: number; name: string; price: number }>) =>
  (await client.list({ where })).records.map(({ name }) => name)

describe("a list of the client", () => {
  test.each(NAMES)("finds %j by itself and among others", async (name) => {
    expect(await names({ name })).toEqual([name])
    expect(await names({ name: { in: [name, "none"] } })).toEqual([name])
  })

  test("compares, sorts and chooses", async () => {
    expect(await names({ name: { in: NAMES } })).toEqual(NAMES)
    expect(await names({ name: { like: "chart*" } })).toEqual(["chart*", "chart one"])
    expect(await names({ price: { gte: 2, lt: 4 } })).toEqual(["back\\slash", "(brackets)"])
    expect(await names({ name: { is: null } })).toEqual([])
    const { records } = await client.list({ order: ["price.desc", "id"], limit: 2, select: ["price"] })
    expect<unknown>(records).toEqual([{ price: 8 }, { price: 7 }])
    const { total, more } = await client.list({ where: { price: { gt: 3 } }, limit: 1, count: true })
    expect([total, more]).toEqual([5, true])
  })

  test("walks by cursors in any order", async () => {
    const all = await Array.fromAsync(client.all({ limit: 2, order: ["price.desc"], where: { price: { neq: 3 } } }))
    expect(all.map(({ price }) => price)).toEqual([8, 7, 6, 5, 4, 2, 1, 0])
  })
})
