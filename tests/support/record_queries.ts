// Random records and random queries over them, and what a plain array says to each query.
import fc from "fast-check"
import Type from "typebox"
import { likeParts } from "../../domain/records/like_pattern.ts"
import type { WantedCondition, WantedList } from "../../domain/records/list_query.ts"
import { queryFieldsOf } from "../../domain/records/query_field.ts"
import type { Fields, Stored } from "../../domain/records/record_repository.ts"

/** Fields of each kind, that a record may do without or have as `null`. */
export const CHART_FIELDS = Type.Object({
  name: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  "größe-2": Type.Optional(Type.Union([Type.Number(), Type.Null()])),
  sold: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
  tags: Type.Optional(Type.Array(Type.String())),
})
export const KNOWN_FIELDS = queryFieldsOf({ fields: CHART_FIELDS })
export const CHART_INDEXES = ["name", "größe-2", ["sold", "name", "größe-2"], ["größe-2", "sold"]]

/** Texts that a pattern, a path, a query language or an order of UTF-16 code units would take for something else. */
export const TEXTS = [
  ..."a|A|b|ab|abab|aXb|a*b|*|?|%|_|[a]|]|^|$|.|.*|\\|\\*|'|\"|''|(|)|{}|$where|$gt|null|true|0|1e3| | a|a ".split("|"),
  ...["", "a\nb", "a\n", "é", "e\u0301", "ß", "\uFF5E", "\uD7FF", "\uE000", "\u{1F600}", "\u{1F600}b", "\u{10FFFF}"],
]
const NUMBERS = [
  ...[0, 1, -1, 2, 10, 1.5, -0.1, 0.1 + 0.2, 5e-324, 1e21, -1e300, Number.MAX_VALUE],
  ...[2 ** 31, 2 ** 53 - 1, -(2 ** 53), 2 ** 60, 2 ** 63, 136192545729044600, 136192545729044610],
]

const text = fc.oneof(fc.constantFrom(...TEXTS), fc.string({ unit: fc.constantFrom(..."ab*\u{1F600}"), maxLength: 4 }))
const number = fc.oneof(
  fc.constantFrom(...NUMBERS),
  fc.integer({ min: -3, max: 3 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
)

const maybe = <A>(value: fc.Arbitrary<A>) => fc.option(fc.option(value, { freq: 6 }), { nil: undefined, freq: 6 })

/** Through JSON once: a field that is `undefined` is not there. */
export const chart: fc.Arbitrary<Fields> = fc
  .record({ name: maybe(text), "größe-2": maybe(number), sold: maybe(fc.boolean()) })
  .map((fields) => JSON.parse(JSON.stringify(fields)))

const FIELDS = { name: text, "größe-2": number, sold: fc.boolean(), id: fc.integer({ min: -1, max: 60 }) } as const
const field = fc.constantFrom(...(Object.keys(FIELDS) as ReadonlyArray<keyof typeof FIELDS>))
const comparison = fc.constantFrom(
  "eq" as const,
  "neq" as const,
  "gt" as const,
  "gte" as const,
  "lt" as const,
  "lte" as const,
)

/** A pattern of at most three wildcards, and every star and backslash in between escaped. */
const pattern = fc
  .array(text, { minLength: 1, maxLength: 4 })
  .map((parts) => parts.map((part) => part.replace(/[\\*]/g, "\\$&")).join("*"))

const condition: fc.Arbitrary<WantedCondition> = field.chain((name): fc.Arbitrary<WantedCondition> => {
  const value: fc.Arbitrary<string | number | boolean> = FIELDS[name]
  const compared = fc.tuple(comparison, value).map(([operator, each]) => ({ field: name, operator, value: each }))
  const oneOf = fc
    .array(value, { minLength: 1, maxLength: 5 })
    .map((each) => ({ field: name, operator: "in", value: each }) as const)
  const none = fc.constant({ field: name, operator: "is", value: null } as const)
  const like = pattern.map((each) => ({ field: "name", operator: "like", value: each }) as const)
  return fc.oneof({ weight: 4, arbitrary: compared }, oneOf, none, like)
})

const order = fc.uniqueArray(fc.record({ field, descending: fc.boolean() }), {
  minLength: 1,
  maxLength: 3,
  selector: (each) => each.field,
})

export const list: fc.Arbitrary<WantedList> = fc.record(
  {
    where: fc.array(condition, { minLength: 1, maxLength: 3 }),
    order,
    start: fc.nat(5),
    limit: fc.constantFrom(1, 2, 5, 1000),
  },
  { requiredKeys: [] },
)

type Value = string | number | boolean | null

const valueIn = (record: Stored, name: string): Value => (record[name] as Value | undefined) ?? null

/** UTF-8 bytes stand to each other as code points do. */
const signOf = (one: Value, other: Value): number => {
  if (one === null || other === null) return Number(one !== null) - Number(other !== null)
  if (typeof one === "string") return Buffer.compare(Buffer.from(one), Buffer.from(String(other)))
  return Math.sign(Number(one) - Number(other)) || Number(one > other) - Number(one < other)
}

/** Every way to split the text is tried. */
const isMade = (text: string, [first = "", ...rest]: ReadonlyArray<string>): boolean =>
  rest.length === 0
    ? text === first
    : text.startsWith(first) &&
      Array.from({ length: text.length - first.length + 1 }, (_, skipped) => text.slice(first.length + skipped)).some(
        (left) => isMade(left, rest),
      )

const holds = (record: Stored, wanted: WantedCondition): boolean => {
  const value = valueIn(record, wanted.field)
  if (wanted.operator === "is") return value === null
  if (value === null) return false
  if (wanted.operator === "in") return wanted.value.includes(value)
  if (wanted.operator === "like") return isMade(String(value), likeParts(wanted.value) ?? [])
  const sign = signOf(value, wanted.value)
  return { eq: sign === 0, neq: sign !== 0, gt: sign > 0, gte: sign >= 0, lt: sign < 0, lte: sign <= 0 }[
    wanted.operator
  ]
}

/** All the records that a list is about, in its order: what its pages are cut from. */
export const arraySays = (records: ReadonlyArray<Stored>, { where = [], order = [] }: WantedList) =>
  records
    .filter((record) => where.every((each) => holds(record, each)))
    .toSorted((one, other) => {
      for (const { field, descending = false } of order) {
        const sign = signOf(valueIn(one, field), valueIn(other, field))
        if (sign !== 0) return descending ? -sign : sign
      }
      return order.at(-1)?.descending === true ? other.id - one.id : one.id - other.id
    })
