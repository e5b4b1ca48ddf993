import { Effect, Result } from "effect"
import { type InvalidPage, InvalidQuery } from "./errors.ts"
import { likeParts, WILDCARDS_MAX } from "./like_pattern.ts"
import { makePage, type Page } from "./page.ts"
import {
  type Comparison,
  type Condition,
  ID_ORDER,
  isOfKind,
  type Order,
  type Place,
  type Query,
  type Scalar,
} from "./query.ts"
import { ID_FIELD, type QueryField } from "./query_field.ts"
import { INDEX_FIELDS_MAX } from "./stored_shape.ts"

/** Most conditions of one list. */
export const CONDITIONS_MAX = 20

/** Most values of one `in`. */
export const VALUES_MAX = 100

/** Most fields that a list is sorted by; the id that follows them does not count. */
export const ORDER_FIELDS_MAX = INDEX_FIELDS_MAX

/** Longest text that records are compared with, code points. */
export const VALUE_LENGTH_MAX = 1_000

/** A condition as a caller writes it. */
export type WantedCondition = { readonly field: string } & (
  | { readonly operator: Comparison; readonly value: Scalar }
  | { readonly operator: "in"; readonly value: ReadonlyArray<Scalar> }
  /** `*` stands for any text, `\*` and `\\` for themselves. */
  | { readonly operator: "like"; readonly value: string }
  | { readonly operator: "is"; readonly value: null }
)

/** A field to sort by, as a caller writes it. */
export interface WantedOrder {
  readonly field: string
  readonly descending?: boolean
}

/** A list as a caller writes it. */
export interface WantedList {
  /** Records to skip; 0 when omitted. */
  readonly start?: number
  /** Page size; 100 when omitted, clamped to 1000. */
  readonly limit?: number
  /** All of them hold for every record of the list. */
  readonly where?: ReadonlyArray<WantedCondition>
  /** By ascending id when omitted, and where all of these are equal by the id in the direction of the last one. */
  readonly order?: ReadonlyArray<WantedOrder>
  /** Only what lies behind the record that this is the place of: `next` of the page before. */
  readonly after?: Place
}

/** The fields of a collection that lists may name. */
export type QueryFields = ReadonlyMap<string, QueryField>

const COMPARISONS: ReadonlySet<string> = new Set<Comparison>(["eq", "neq", "gt", "gte", "lt", "lte"])

const KINDS = { number: "a number", text: "a text", flag: "true or false" } as const

/** What a value breaks. A text that no record may hold is one that was mangled on its way. */
const valueRule = (value: unknown, field: QueryField): string | undefined => {
  if (!isOfKind(value, field)) return `must be compared with ${KINDS[field.kind]}`
  if (typeof value === "number" && !Number.isFinite(value)) return "must be compared with a finite number"
  if (typeof value !== "string") return undefined
  if (value.includes("\0") || !value.isWellFormed()) return "must not be compared with NUL or lone surrogates"
  if (value.length > VALUE_LENGTH_MAX && [...value].length > VALUE_LENGTH_MAX)
    return `must not be compared with a text of more than ${VALUE_LENGTH_MAX} characters`
  return undefined
}

/** What is said of a name that is no field to filter by. */
export const NO_FIELD = "is neither a parameter of this list nor a field to filter it by"

const refuse = (parameter: string, rule: string) => Result.fail(new InvalidQuery({ parameter, rule }))

type Judged<A> = Result.Result<A, InvalidQuery>

const judgeCondition = (wanted: WantedCondition, field: QueryField): Judged<Condition> => {
  const judge = (values: ReadonlyArray<unknown>, condition: Condition): Judged<Condition> => {
    const rule = values.map((value) => valueRule(value, field)).find((each) => each !== undefined)
    return rule === undefined ? Result.succeed(condition) : refuse(field.name, rule)
  }
  switch (wanted.operator) {
    case "is":
      return Result.succeed({ field, is: "absent" })
    case "in":
      return Array.isArray(wanted.value) && wanted.value.length >= 1 && wanted.value.length <= VALUES_MAX
        ? judge(wanted.value, { field, is: "in", values: wanted.value })
        : refuse(field.name, `must be compared with 1 to ${VALUES_MAX} values`)
    case "like": {
      if (field.kind !== "text") return refuse(field.name, "is no text, so 'like' cannot be asked of it")
      const parts = likeParts(String(wanted.value))
      return parts === undefined
        ? refuse(field.name, `must have at most ${WILDCARDS_MAX} '*', and '\\' before '*' or '\\' only`)
        : judge([wanted.value], { field, is: "like", parts })
    }
    default:
      return COMPARISONS.has(wanted.operator)
        ? judge([wanted.value], { field, is: wanted.operator, value: wanted.value })
        : refuse(field.name, "must be compared by a known operator")
  }
}

const judgeWhere = (wanted: ReadonlyArray<WantedCondition>, fields: QueryFields): Judged<ReadonlyArray<Condition>> =>
  Result.gen(function* () {
    const conditions: Array<Condition> = []
    for (const each of wanted) {
      const field = fields.get(each.field)
      if (field === undefined) return yield* refuse(each.field, NO_FIELD)
      if (conditions.length === CONDITIONS_MAX)
        return yield* refuse(each.field, `is one more than ${CONDITIONS_MAX} conditions`)
      conditions.push(yield* judgeCondition(each, field))
    }
    return conditions
  })

/** The order of a list, which ends with the id: what would follow the id decides nothing. */
const judgeOrder = (wanted: ReadonlyArray<WantedOrder>, fields: QueryFields): Judged<ReadonlyArray<Order>> =>
  Result.gen(function* () {
    const order: Array<Order> = []
    for (const { field: name, descending = false } of wanted) {
      const field = fields.get(name)
      if (field === undefined) return yield* refuse("order", "must name fields to sort by")
      if (order.some((each) => each.field.name === name)) return yield* refuse("order", "must not name a field twice")
      order.push({ field, descending })
    }
    const end = order.findIndex(({ field }) => field.name === ID_FIELD.name)
    if ((end < 0 ? order.length : end) > ORDER_FIELDS_MAX)
      return yield* refuse("order", `must name at most ${ORDER_FIELDS_MAX} fields`)
    if (end >= 0) return order.slice(0, end + 1)
    // In one direction throughout, so that an index that is read backwards serves a descending order.
    return [...order, { field: ID_FIELD, descending: order.at(-1)?.descending ?? false }]
  })

/** True for a value that a record may have. */
const isStorable = (value: Scalar): boolean =>
  typeof value === "string" ? value.isWellFormed() && !value.includes("\0") : Number.isFinite(Number(value))

const isPlace = (place: Place, order: ReadonlyArray<Order>): boolean =>
  Array.isArray(place) &&
  place.length === order.length &&
  order.every(({ field }, at) => {
    const value = place[at]
    if (field.name === ID_FIELD.name) return Number.isSafeInteger(value) && Number(value) >= 1
    return value === null || (isOfKind(value, field) && isStorable(value))
  })

const judgeList = (wanted: WantedList, page: Page, fields: QueryFields): Judged<Query> =>
  Result.gen(function* () {
    const where = yield* judgeWhere(wanted.where ?? [], fields)
    const order = wanted.order === undefined ? ID_ORDER : yield* judgeOrder(wanted.order, fields)
    const { after } = wanted
    if (after === undefined) return { ...page, where, order }
    if (wanted.start !== undefined) return yield* refuse("start", "must not stand beside 'after'")
    if (!isPlace(after, order)) return yield* refuse("after", "must be a place of this very list")
    return { ...page, where, order, after }
  })

/** The conditions of a count: those of a list. */
export const makeWhere = (
  wanted: ReadonlyArray<WantedCondition>,
  fields: QueryFields,
): Effect.Effect<ReadonlyArray<Condition>, InvalidQuery> => Effect.fromResult(judgeWhere(wanted, fields))

/**
 * Makes a query of what a caller wants, judged by the collection's fields.
 *
 * @param fields of the collection, as `queryFieldsOf` gives them
 * @fails {InvalidPage} when `start` or `limit` is not a whole number in 0..2^53-1
 * @fails {InvalidQuery} naming the parameter, or the field, and the rule, never a value
 */
export const makeQuery = (wanted: WantedList, fields: QueryFields): Effect.Effect<Query, InvalidPage | InvalidQuery> =>
  Effect.flatMapEager(
    makePage(wanted),
    (page): Effect.Effect<Query, InvalidQuery> =>
      wanted.where === undefined && wanted.order === undefined && wanted.after === undefined
        ? Effect.succeed(page)
        : Effect.fromResult(judgeList(wanted, page, fields)),
  )
