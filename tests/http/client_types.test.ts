// What the client's types let through and what they refuse: a wrong one here does not compile.
import { test } from "bun:test"
import type { CollectionClient } from "../../bootstrap/client.ts"
import type { products } from "../../domain/records/products.ts"

type Client = CollectionClient<typeof products, "price">

/** True only for one and the same type. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <_A extends true>(): void => {}

/** Never called: only its types are of interest. */
const neverCalled = async (client: Client): Promise<void> => {
  const record = await client.get(1)
  same<Same<typeof record, Readonly<{ id: number } & { name: string; price: number }>>>()
  const name: string = record.name
  const { records } = await client.list({
    where: { name: { like: `${name}*` }, price: { gte: 1, lt: 2 } },
    order: ["price.desc", "id"],
  })
  const price: number | undefined = records[0]?.price
  const chosen = await client.list({ select: ["id", "name"], count: true, start: 5 })
  same<Same<keyof (typeof chosen.records)[number], "id" | "name">>()
  for await (const { name } of client.all({ where: { id: { in: [1, 2] }, name: "x" } })) name.toUpperCase()
  await client.create({ name, price: price ?? 0 })
  await client.create({ name })
  await client.patch(1, { price: null })
  for await (const change of client.changes()) {
    if (change.kind === "create") change.record.name.toUpperCase()
    if (change.kind === "delete") change.record.id.toFixed()
    // @ts-expect-error the start has no record
    if (change.kind === "start") change.record.id.toFixed()
  }
  // @ts-expect-error a name is required
  await client.create({ price: 1 })
  // @ts-expect-error the server assigns the id
  await client.create({ id: 1, name })
  // @ts-expect-error no such field
  await client.list({ where: { colour: "red" } })
  // @ts-expect-error a price is a number
  await client.list({ where: { price: { gte: "1" } } })
  // @ts-expect-error only texts are like something
  await client.list({ where: { price: { like: "1*" } } })
  // @ts-expect-error no such field to sort by
  await client.list({ order: ["colour.desc"] })
  // @ts-expect-error no such direction
  await client.list({ order: ["price.down"] })
  // @ts-expect-error no such field to choose
  await client.list({ select: ["colour"] })
  // @ts-expect-error not chosen
  chosen.records[0]?.price
  // @ts-expect-error a name is a text
  await client.patch(1, { name: 7 })
}

test("the client's types are those of the collection", () => void neverCalled)
