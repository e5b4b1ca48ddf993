// Filters, orders, cursors and selections over a real socket. What the stores make of a query is in tests/contract.
import { describe, expect, test } from "bun:test"
import { Context, Effect, Layer } from "effect"
import fc from "fast-check"
import * as memory from "../../adapters/driven/record_repository/memory.ts"
import { defineCollection } from "../../domain/records/collection.ts"
import type { WantedCondition, WantedList } from "../../domain/records/list_query.ts"
import { isOfKind, type Query } from "../../domain/records/query.ts"
import { type Fields, RecordRepository, type Stored } from "../../domain/records/record_repository.ts"
import { dataOf } from "../support/data_of.ts"
import { expectProblem, expectRefusal } from "../support/expect_problem.ts"
import { arraySays, CHART_FIELDS, chart, KNOWN_FIELDS, list } from "../support/record_queries.ts"
import { sharedService } from "../support/test_service.ts"

const PROPERTY_MS = 60_000

/** Every query that reached the store. */
const asked: Array<Query> = []
const watched = Layer.effect(
  RecordRepository,
  Effect.map(Layer.build(memory.layer), (context) => {
    const repository = Context.get(context, RecordRepository)
    return {
      ...repository,
      list: (collection, query) => {
        asked.push(query)
        return repository.list(collection, query)
      },
      count: (collection, where = []) => {
        asked.push({ start: 0, limit: 0, where })
        return repository.count(collection, where)
      },
    } satisfies RecordRepository["Service"]
  }),
)

const service = await sharedService({
  repository: watched,
  collections: ["charts", "others", "random"].map((name) => defineCollection({ name, fields: CHART_FIELDS })),
})

const post = async (collection: string, fields: Fields): Promise<Stored> =>
  dataOf<Stored>(
    await service.send(`/api/${collection}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(fields),
    }),
  )

const RECORDS = [
  { name: "chart of the north", "größe-2": 10, sold: true },
  { name: "Chart", "größe-2": 2.5 },
  { name: "a,b", "größe-2": -1, sold: false },
  { name: 'say "yes" (\\)' },
  { "größe-2": 10, name: null },
  { name: "100%*", tags: ["x"] },
] as const
for (const each of RECORDS) await post("charts", each)

const send = (query: string, init?: RequestInit) => service.send(`/api/charts?${query}`, init)
const idsOf = async (query: string) => (await dataOf<ReadonlyArray<Stored>>(await send(query))).map(({ id }) => id)

describe("a list", () => {
  test.each([
    ["name=eq.Chart", [2]],
    ["name=neq.Chart", [1, 3, 4, 6]],
    ["name=like.chart*", [1]],
    ["name=like.*h*", [1, 2]],
    ["name=like.*%25\\*", [6]],
    ["name=eq.100%25*", [6]],
    ["name=eq.chart+of%20the+north", [1]],
    ["name=in.(Chart,100%25*)", [2, 6]],
    ['name=in.("a,b",Chart)', [2, 3]],
    ['name=in.("say \\"yes\\" (\\\\)")', [4]],
    ["name=eq.", []],
    ["name=gt.C&name=lt.a,b", [2]],
    ["name=is.null", [5]],
    ["sold=eq.true", [1]],
    ["sold=in.(true,false)", [1, 3]],
    ["sold=is.null", [2, 4, 5, 6]],
    ["größe-2=gte.2.5", [1, 2, 5]],
    ["gr%C3%B6%C3%9Fe-2=lt.25e-1", [3]],
    ["größe-2=eq.1e1", [1, 5]],
    ["größe-2=in.(-1,10)", [1, 3, 5]],
    ["größe-2=is.null&name=like.*", [4, 6]],
    ["id=gt.4", [5, 6]],
    ["id=in.(1,6,99)", [1, 6]],
    ["order=name", [5, 6, 2, 3, 1, 4]],
    ["order=name.desc", [4, 1, 3, 2, 6, 5]],
    ["order=größe-2.desc", [5, 1, 2, 3, 6, 4]],
    ["order=größe-2.desc,id", [1, 5, 2, 3, 4, 6]],
    ["order=sold,größe-2.asc", [4, 6, 2, 5, 3, 1]],
    ["order=id.desc,name", [6, 5, 4, 3, 2, 1]],
    ["order=id.desc&start=1&limit=2", [5, 4]],
    ["größe-2=gte.0&order=größe-2&limit=1", [2]],
  ])("?%s", async (query, ids) => {
    expect(await idsOf(query)).toEqual(ids)
  })

  test.each([
    ["colour=eq.red", "colour"],
    ["tags=eq.x", "tags"],
    ["limt=5", "limt"],
    ["name[eq]=x", undefined],
    ["<script>=1", undefined],
    ["=1", undefined],
    ["name", "name"],
    ["name=", "name"],
    ["name=Chart", "name"],
    ["name=EQ.Chart", "name"],
    ["name=ilike.x", "name"],
    ["name=not.eq.x", "name"],
    ["name=is.NULL", "name"],
    ["name=is.true", "name"],
    ["name=in.x", "name"],
    ["name=in.()", "name"],
    ["name=in.(a,)", "name"],
    ["name=in.(,a)", "name"],
    ['name=in.("a)', "name"],
    ['name=in.("a"b)', "name"],
    ['name=in.(a"b)', "name"],
    [`name=in.(${"a,".repeat(100)}a)`, "name"],
    ["name=like.a*b*c*d*", "name"],
    ["name=like.a\\", "name"],
    ["name=like.a\\b", "name"],
    ["name=eq.%00", "name"],
    ["name=eq.%FF", "name"],
    ["name=eq.%E0%A4%A", "name"],
    ["name=eq.%ED%A0%80", "name"],
    [`name=eq.${"x".repeat(1001)}`, "name"],
    [Array(21).fill("name=gt.a").join("&"), "name"],
    ["größe-2=eq.", "größe-2"],
    ["größe-2=eq.ten", "größe-2"],
    ["größe-2=eq.0x10", "größe-2"],
    ["größe-2=eq.+1", "größe-2"],
    ["größe-2=eq.01", "größe-2"],
    ["größe-2=eq.1e400", "größe-2"],
    ["größe-2=eq.NaN", "größe-2"],
    ["größe-2=in.(1,b)", "größe-2"],
    ["größe-2=like.1*", "größe-2"],
    ["sold=eq.1", "sold"],
    ["sold=eq.TRUE", "sold"],
    ["id=eq.x", "id"],
    ["order=", "order"],
    ["order=colour", "order"],
    ["order=tags", "order"],
    ["order=name.up", "order"],
    ["order=name.desc.asc", "order"],
    ["order=name,name.desc", "order"],
    ["order=name,", "order"],
    ["order=-name", "order"],
    ["order=name&order=id", "order"],
    ["select=", "select"],
    ["select=colour", "select"],
    ["select=name,,id", "select"],
    ["select=constructor", "select"],
    ["select=name&select=id", "select"],
    ["after=x", "after"],
    ["after=&after=", "after"],
    ["after=&start=0", "start"],
  ])("refuses ?%s", async (query, parameter) => {
    const problem = await expectRefusal(service, () => send(query), 400, "INVALID_QUERY")
    expect(problem.detail).toStartWith(
      parameter === undefined ? "A query parameter " : `Query parameter '${parameter}' `,
    )
    expect(JSON.stringify(problem)).not.toContain("Chart")
  })

  test("takes as many conditions, values and wildcards as it says", async () => {
    expect(await idsOf(Array(20).fill("id=gt.4").join("&"))).toEqual([5, 6])
    expect(await idsOf(`id=in.(${Array.from({ length: 100 }, (_, at) => at + 5)})`)).toEqual([5, 6])
    expect(await idsOf("name=like.*a*t*")).toEqual([1, 2])
    expect(await idsOf(`name=neq.${"%F0%9F%98%80".repeat(1000)}`)).toHaveLength(5)
    expect(await idsOf("order=sold,größe-2,name,id.desc&limit=1")).toEqual([6])
  })

  test("counts what its filter lets through", async () => {
    const counted = await send("größe-2=gte.2.5&limit=1&order=name", { headers: { prefer: "count=exact" } })
    expect(counted.headers.get("x-total-count")).toBe("3")
    expect(counted.headers.get("link")).toBe(
      '</api/charts?gr%C3%B6%C3%9Fe-2=gte.2.5&order=name&start=1&limit=1>; rel="next"',
    )
  })

  test("answers with the selected fields, in their order, as far as a record has them", async () => {
    expect(await dataOf<unknown>(await send("select=größe-2,id,tags&id=in.(1,4,6)"))).toEqual([
      { "größe-2": 10, id: 1 },
      { id: 4 },
      { id: 6, tags: ["x"] },
    ])
    expect(await (await send("select=name,id,name&id=eq.2")).text()).toBe(
      '{"response":"OK","data":[{"name":"Chart","id":2}]}',
    )
    expect(await dataOf<unknown>(await service.send("/api/charts/2?select=name"))).toEqual({ name: "Chart" })
  })
})

describe("one record", () => {
  test.each([
    ["select=colour", "select"],
    ["name=eq.Chart", "name"],
    ["start=0", "start"],
    ["x=1", "x"],
  ])("refuses ?%s", async (query, parameter) => {
    const problem = await expectRefusal(service, () => service.send(`/api/charts/2?${query}`), 400, "INVALID_QUERY")
    expect(problem.detail).toStartWith(`Query parameter '${parameter}' `)
  })
})

const nextOf = (response: Response): string | undefined =>
  /^<([^>]+)>; rel="next"$/.exec(response.headers.get("link") ?? "")?.[1]
const cursorOf = (link: string | undefined): string => new URL(link ?? "", service.url).searchParams.get("after") ?? ""

describe("a walk by cursor", () => {
  const walk = async (first: string): Promise<ReadonlyArray<number>> => {
    const ids: Array<number> = []
    for (let next: string | undefined = first; next !== undefined; ) {
      const response: Response = await service.send(next)
      ids.push(...(await dataOf<ReadonlyArray<Stored>>(response)).map(({ id }) => id))
      next = nextOf(response)
    }
    return ids
  }

  test.each([
    ["", [1, 2, 3, 4, 5, 6]],
    ["&order=name", [5, 6, 2, 3, 1, 4]],
    ["&order=größe-2.desc", [5, 1, 2, 3, 6, 4]],
    ["&order=sold.desc,name.asc&größe-2=gte.-1", [1, 3, 5, 2]],
  ])("by its links: after=%s", async (rest, ids) => {
    for (const limit of [1, 2, 4, 100]) expect(await walk(`/api/charts?after=${rest}&limit=${limit}`)).toEqual(ids)
  })

  test("keeps the selection and the effective limit in its links", async () => {
    const response = await send("after=&select=id&limit=5000&id=gt.0")
    expect(nextOf(response)).toBeUndefined()
    const next = nextOf(await send("select=name&after=&limit=2"))
    expect(next).toStartWith("/api/charts?select=name&limit=2&after=")
    expect(await dataOf<unknown>(await service.send(next ?? ""))).toEqual([{ name: "a,b" }, { name: 'say "yes" (\\)' }])
  })

  test("goes on behind records that came and went", async () => {
    const records = [await post("others", { name: "b" }), await post("others", { name: "d" }), await post("others", {})]
    const first = await service.send("/api/others?order=name&after=&limit=2")
    await service.send(`/api/others/${records[0]?.id}`, { method: "DELETE" })
    await post("others", { name: "a" })
    const late = await post("others", { name: "c" })
    const rest = await dataOf<ReadonlyArray<Stored>>(await service.send(nextOf(first) ?? ""))
    expect(rest.map(({ id }) => id)).toEqual([late.id, records[1]?.id ?? 0])
  })

  test("refuses a cursor of another collection, order or filter, a changed one, and what is none", async () => {
    const cursor = cursorOf(nextOf(await send("order=name&id=gt.0&name=like.*&after=&limit=2")))
    expect((await send(`name=like.*&after=${cursor}&order=name&id=gt.0`)).status).toBe(200)
    const forged = (place: ReadonlyArray<unknown>) => {
      const [fingerprint] = JSON.parse(Buffer.from(cursor, "base64url").toString()) as [string]
      return Buffer.from(JSON.stringify([fingerprint, ...place])).toString("base64url")
    }
    const same = "order=name&id=gt.0&name=like.*"
    expect((await send(`${same}&after=${forged(["x", 1])}`)).status).toBe(200)
    for (const query of [
      `order=name.desc&id=gt.0&name=like.*&after=${cursor}`,
      `id=gt.0&name=like.*&after=${cursor}`,
      `order=name&id=gt.1&name=like.*&after=${cursor}`,
      `order=name&id=gt.0&after=${cursor}`,
      `${same}&after=${cursor}A`,
      `${same}&after=${cursor}%20`,
      `${same}&after=${cursor.slice(0, -2)}`,
      ...[["x"], ["x", 1, 1], [1, 1], [{ $gt: "" }, 1], ["x", "1"], ["x", null], ["x", 0], ["x", 1.5], ["a\0", 1]].map(
        (place) => `${same}&after=${forged(place)}`,
      ),
      ...["null", "[]", '"x"', "{}", "1", '["x"', ""].map(
        (text) => `${same}&after=${Buffer.from(text).toString("base64url") || "."}`,
      ),
    ])
      expect((await expectRefusal(service, () => send(query), 400, "INVALID_QUERY")).detail).toStartWith(
        "Query parameter 'after' ",
      )
    const elsewhere = `/api/others?${same}&after=${cursor}`
    await expectRefusal(service, () => service.send(elsewhere), 400, "INVALID_QUERY")
  })

  test("says so when the values it is sorted by are too long for a cursor", async () => {
    for (const length of [4_000, 5_000]) await post("others", { name: "z".repeat(length) })
    const query = "/api/others?name=like.z*&order=name&after=&limit="
    expect((await service.send(`${query}1`)).status).toBe(200)
    const problem = await expectProblem(await service.send(`${query}2`), 400, "INVALID_QUERY")
    expect(problem.detail).toStartWith("Query parameter 'order' sorts by values that are too long for a cursor")
    expect((await service.send(`${query}3`)).status).toBe(200)
  })
})

/** The text that asks for a condition. */
const textOf = (condition: WantedCondition): string => {
  const quoted = (value: unknown) => `"${String(value).replace(/["\\]/g, "\\$&")}"`
  if (condition.operator === "in") return `in.(${condition.value.map(quoted).join(",")})`
  return `${condition.operator}.${condition.value}`
}
const queryOf = ({ where = [], order, start, limit }: WantedList): string =>
  [
    ...where.map((each) => [each.field, textOf(each)]),
    ...(order === undefined
      ? []
      : [["order", order.map((each) => each.field + (each.descending ? ".desc" : "")).join()]]),
    ...(start === undefined ? [] : [["start", `${start}`]]),
    ...(limit === undefined ? [] : [["limit", `${limit}`]]),
  ]
    .map(([name, value]) => `${encodeURIComponent(name ?? "")}=${encodeURIComponent(value ?? "")}`)
    .join("&")

describe("whatever is asked", () => {
  test(
    "a query that can be written can be read: the answer is what a plain array would say",
    async () => {
      const records: Array<Stored> = []
      for (const fields of fc.sample(chart, 40)) records.push(await post("random", fields))
      await fc.assert(
        fc.asyncProperty(list, async (wanted) => {
          const { start = 0, limit = 100 } = wanted
          const response = await service.send(`/api/random?${queryOf(wanted)}`)
          expect(await dataOf<ReadonlyArray<Stored>>(response)).toEqual([
            ...arraySays(records, wanted).slice(start, start + limit),
          ])
        }),
        { numRuns: 300 },
      )
    },
    PROPERTY_MS,
  )

  const HOSTILE = [
    ..."$where|$gt|$ne|name[$gt]|__proto__|constructor|fields.name|_id|body|id|name|größe-2|sold|tags|order|select".split(
      "|",
    ),
    ...'after|start|limit|eq.|like.|in.(|)|is.null|*|\\|\'|"|;--|\' OR 1=1 --|{"$gt":""}|.*|(a+)+$|%|_|[a-z]|,|.'.split(
      "|",
    ),
    ..."true|1|-1|1e999|json_extract(body,'$')|) UNION SELECT 1,2 --|\0|\r\n|é|\u{1F600}|../|<b>|null".split("|"),
  ]
  const hostile = fc
    .array(fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ maxLength: 3 })), { maxLength: 4 })
    .map((parts) => parts.join(""))
  const parameter = fc.tuple(
    fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...KNOWN_FIELDS.keys(), "order", "select", "after") }, hostile),
    fc.oneof(
      hostile,
      fc.tuple(fc.constantFrom("eq.", "gt.", "neq.", "like."), hostile).map((parts) => parts.join("")),
      hostile.map((each) => `in.(${each})`),
    ),
  )

  test(
    "nothing but declared fields, known operators and values of their kinds reaches the store",
    async () => {
      let reached = 0
      await fc.assert(
        fc.asyncProperty(fc.array(parameter, { minLength: 1, maxLength: 2 }), async (parameters) => {
          asked.length = 0
          const query = parameters.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
          const response = await send(query.join("&"), { headers: { prefer: "count=exact" } })
          if (response.status !== 200) {
            await expectProblem(response, 400, "INVALID_QUERY")
            expect(asked).toEqual([])
            return
          }
          reached++
          expect(asked).toHaveLength(2)
          for (const { where = [], order = [], after } of asked) {
            expect(after).toBeUndefined()
            for (const { field } of [...where, ...order]) expect<unknown>(field).toEqual(KNOWN_FIELDS.get(field.name))
            for (const condition of where) {
              const { field, is, ...rest } = condition
              expect(["eq", "neq", "gt", "gte", "lt", "lte", "in", "like", "absent"]).toContain(is)
              for (const value of Object.values(rest).flat()) expect(isOfKind(value, field)).toBe(true)
            }
          }
        }),
        { numRuns: 1500 },
      )
      expect(reached).toBeGreaterThan(50)
    },
    PROPERTY_MS,
  )
})
