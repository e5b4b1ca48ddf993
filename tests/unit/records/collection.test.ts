// The one judgement over submitted records, without HTTP: what a direct caller gets is what a request gets.
import { deepEqual, equal, notEqual, ok, throws } from "node:assert/strict"
import { describe, test } from "node:test"
import { Effect, Result } from "effect"
import fc from "fast-check"
import Type from "typebox"
import { Compile } from "typebox/compile"
import type { Issue } from "../../../domain/issue.ts"
import { defineCollection } from "../../../domain/records/collection.ts"
import { InvalidCollectionSetup, type InvalidRecord } from "../../../domain/records/errors.ts"
import { cleanJson, DEPTH_MAX, ISSUES_MAX } from "../../../domain/records/json_hygiene.ts"
import { products } from "../../../domain/records/products.ts"

const judge = <F extends object>(
  collection: { readonly check: (input: unknown) => Effect.Effect<F, InvalidRecord> },
  input: unknown,
) => Effect.runSync(Effect.result(collection.check(input)))

const refusalOf = (input: unknown, collection = products): InvalidRecord => {
  const result = judge(collection, input)
  if (Result.isSuccess(result)) throw new Error("The record was accepted")
  return result.failure
}

const nested = (depth: number): unknown => (depth === 0 ? 1 : { a: nested(depth - 1) })

describe("a product", () => {
  for (const [what, input, fields] of [
    ["with both fields", { name: "Buoy", price: 2.5 }, { name: "Buoy", price: 2.5 }],
    ["without a price", { name: "Buoy" }, { name: "Buoy", price: 0 }],
    ["with a price of -0", { name: "Buoy", price: -0 }, { name: "Buoy", price: 0 }],
    ["with blanks around its name", { name: " Buoy " }, { name: " Buoy ", price: 0 }],
    ["with the longest name", { name: "a".repeat(1000) }, { name: "a".repeat(1000), price: 0 }],
  ] as const)
    test(`${what} is taken`, () => {
      // deepEqual of node:assert/strict tells -0 from 0.
      deepEqual(judge(products, input), Result.succeed(fields))
    })

  for (const [what, input, pointers] of [
    ["null", null, [""]],
    ["an array", [], [""]],
    ["a string", "a", [""]],
    ["undefined", undefined, [""]],
    ["no name", {}, ["/name"]],
    ["an empty name", { name: "" }, ["/name"]],
    ["a blank name", { name: "\u00a0\u200b\t" }, ["/name"]],
    ["a name too long", { name: "a".repeat(1001) }, ["/name"]],
    ["a name with NUL", { name: "a\0" }, ["/name"]],
    ["a name with a lone surrogate", { name: "a\ud800" }, ["/name"]],
    ["an id", { name: "a", id: 1 }, ["/id"]],
    ["two unknown fields", { name: "a", b: 1, c: 2 }, ["/b", "/c"]],
    ["a field with a hostile name", { name: "a", "<script>": 1 }, [""]],
    ["a price as text", { name: "a", price: "1" }, ["/price"]],
    ["a price below 0", { name: "a", price: -1 }, ["/price"]],
    ["a price of NaN", { name: "a", price: Number.NaN }, ["/price", "/price"]],
    ["every field broken", { name: 1, price: null, id: 1 }, ["/id", "/name", "/price"]],
    ["an operator", { name: { $gt: "" } }, ["/name", "/name/$gt"]],
    ["a reserved key", JSON.parse('{"name":"a","__proto__":{"admin":true}}'), ["/__proto__"]],
  ] as const)
    test(`${what} is refused at ${pointers.join(" and ") || "the whole"}`, () => {
      const refusal = refusalOf(input)
      equal(refusal._tag, "InvalidRecord")
      deepEqual(refusal.issues.map(({ pointer }) => pointer).toSorted(), pointers)
      ok(refusal.issues.every(({ message }) => message !== ""))
    })

  test("the deepest nesting is judged by its schema, one deeper by its depth", () => {
    const said = (depth: number) => refusalOf({ name: "a", x: nested(depth) }).issues.map(({ message }) => message)
    const tooDeep = `must not be nested deeper than ${DEPTH_MAX} levels`
    ok(!said(DEPTH_MAX - 1).includes(tooDeep))
    ok(said(DEPTH_MAX).includes(tooDeep))
  })

  test(`at most ${ISSUES_MAX} broken rules are listed`, () => {
    const input = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`$${at}`, at]))
    equal(refusalOf(input).issues.length, ISSUES_MAX)
  })

  test("what was submitted stays as it was, and is not what is stored", () => {
    const input = Object.freeze({ name: "a" })
    const result = judge(products, input)
    ok(Result.isSuccess(result))
    notEqual(result.success, input)
    deepEqual(Object.keys(input), ["name"])
  })
})

describe("defineCollection()", () => {
  const fields = Type.Object({ name: Type.String() })
  for (const name of ["", "Charts", "1charts", "charts/x", "charts x", "a".repeat(64)])
    test(`refuses the name '${name.slice(0, 10)}'`, () =>
      throws(() => defineCollection({ name, fields }), InvalidCollectionSetup))

  test("refuses a field 'id'", () =>
    throws(() => defineCollection({ name: "charts", fields: Type.Object({ id: Type.Integer() }) }), /'charts'.*'id'/))

  test("fills defaults in nested objects, anew for every record", () => {
    const charts = defineCollection({
      name: "charts",
      fields: Type.Object({
        scale: Type.Object({ unit: Type.String({ default: "m" }) }),
        tags: Type.Array(Type.String(), { default: [] }),
      }),
    })
    const [first, second] = [judge(charts, { scale: {} }), judge(charts, { scale: {} })]
    deepEqual(first, Result.succeed({ scale: { unit: "m" }, tags: [] }))
    ok(Result.isSuccess(first) && Result.isSuccess(second) && first.success.tags !== second.success.tags)
  })
})

/** Brackets no key of a pointer and no message may have: where they show, a submitted string showed. */
const marked = (text: string): string => `«${text}»`

const HOSTILE_KEYS = ["__proto__", "constructor", "prototype", "_bsontype", "$where", "a.b", "a\0b", "\ud800"]

const key = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom("name", "price", "tags", "place", "lat", "notes") },
  { weight: 1, arbitrary: fc.constantFrom(...HOSTILE_KEYS, "id", "toString", "length") },
  { weight: 1, arbitrary: fc.string().map(marked) },
)

const leaf = fc.oneof(
  fc.oneof(fc.string(), fc.constantFrom("", " ", "\0", "\ud800", "\udc00a", "\u200b")).map((text) => marked(text)),
  fc.constantFrom("", " ", "Buoy"),
  fc.double(),
  fc.integer(),
  fc.constantFrom(-0, 0, Number.MAX_VALUE),
  fc.boolean(),
  fc.constant(null),
)

/** As JSON.parse makes objects: `__proto__` is a key like any other. */
const objectOf = (entries: ReadonlyArray<readonly [string, unknown]>): object => {
  const made = {}
  for (const [name, value] of entries)
    Object.defineProperty(made, name, { value, enumerable: true, configurable: true, writable: true })
  return made
}

const { value: json } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "medium" },
    leaf,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie("value")), { maxLength: 6 }).map(objectOf),
  ),
}))

const deep = fc
  .tuple(json, fc.integer({ min: 1, max: 40 }), fc.boolean())
  .map(([value, depth, inArrays]) =>
    Array.from({ length: depth }).reduce((inner: unknown) => (inArrays ? [inner] : { notes: inner }), value),
  )

const submitted = fc.oneof({ weight: 4, arbitrary: json }, { weight: 1, arbitrary: deep })

const open = defineCollection({
  name: "open",
  fields: Type.Object({
    name: Type.String({ minLength: 1 }),
    price: Type.Number({ minimum: 0, default: 0 }),
    tags: Type.Optional(Type.Array(Type.String())),
    place: Type.Optional(Type.Object({ lat: Type.Number({ minimum: -90, maximum: 90 }) })),
    notes: Type.Optional(Type.Unknown()),
  }),
})
const schema = Compile(open.fields)

/** Everything inside a value: its keys, and its members that are no objects. */
const contents = function* (value: unknown): Generator<{ readonly key?: string; readonly value?: unknown }> {
  if (typeof value !== "object" || value === null) yield { value }
  else
    for (const [name, member] of Object.entries(value)) {
      if (!Array.isArray(value)) yield { key: name }
      yield* contents(member)
    }
}

const expectHarmless = (record: unknown) => {
  for (const { key: name, value } of contents(record)) {
    if (name !== undefined) ok(!HOSTILE_KEYS.includes(name), `key ${JSON.stringify(name)}`)
    if (typeof value === "number") ok(Number.isFinite(value) && !Object.is(value, -0), `number ${value}`)
    if (typeof value === "string") ok(value.isWellFormed() && !value.includes("\0"), `text ${JSON.stringify(value)}`)
  }
}

describe("whatever is submitted", () => {
  const records = fc.oneof(
    submitted,
    // Mostly right, so that the accepting side is met as well.
    fc
      .tuple(submitted, fc.boolean())
      .map(([notes, priced]) => ({ name: "Buoy", notes, ...(priced ? { price: 1 } : {}) })),
  )

  test("the judgement gives a harmless record of the schema, or at least one broken rule", () => {
    const met = { taken: 0, refused: 0 }
    fc.assert(
      fc.property(records, (input) => {
        const result = judge(open, input)
        if (Result.isSuccess(result)) {
          met.taken++
          ok(schema.Check(result.success))
          expectHarmless(result.success)
        } else {
          met.refused++
          ok(result.failure.issues.length >= 1 && result.failure.issues.length <= ISSUES_MAX)
        }
      }),
      { numRuns: 500 },
    )
    ok(met.taken > 20 && met.refused > 20, JSON.stringify(met))
  })

  test("no submitted text shows in what is said about it", () => {
    fc.assert(
      fc.property(records, (input) => {
        const result = judge(open, input)
        if (Result.isFailure(result)) ok(!/[«»]/.test(JSON.stringify([result.failure.message, result.failure.issues])))
      }),
      { numRuns: 500 },
    )
  })

  test("cleaning twice gives what cleaning once gave, and what was clean is unchanged", () => {
    fc.assert(
      fc.property(submitted, (input) => {
        const issues: Array<Issue> = []
        const once = cleanJson(input, issues)
        deepEqual(cleanJson(once, []), once)
        if (issues.length === 0) deepEqual(JSON.stringify(once), JSON.stringify(input))
      }),
      { numRuns: 500 },
    )
  })
})
