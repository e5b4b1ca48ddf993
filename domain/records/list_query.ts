import { Effect } from "effect"
import type { InvalidPage } from "./errors.ts"
import { InvalidQuery } from "./errors.ts"
import { likeParts, WILDCARDS_MAX } from "./like_pattern.ts"
import { makePage } from "./page.ts"
import {
  type Comparison,
  type Condition,
  ID_ORDER,
  isOfKind,
  type Order,
  type Position,
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
  /** Only what lies behind the record that this is the position of: `next` of the page before. */
  readonly after?: Position
}

/** The fields of a collection that lists may name. */
type Fields = ReadonlyMap<string, QueryField>

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

/** One condition, or the rule it breaks. */
const conditionOf = (wanted: WantedCondition, field: QueryField): Condition | string => {
  const rule = (values: ReadonlyArray<unknown>) =>
    values.map((value) => valueRule(value, field)).find((each) => each !== undefined)
  switch (wanted.operator) {
    case "is":
      return { field, is: "absent" }
    case "in":
      if (!Array.isArray(wanted.value) || wanted.value.length < 1 || wanted.value.length > VALUES_MAX)
        return `must be compared with 1 to ${VALUES_MAX} values`
      return rule(wanted.value) ?? { field, is: "in", values: wanted.value }
    case "like": {
      if (field.kind !== "text") return "is no text, so 'like' cannot be asked of it"
      const broken = rule([wanted.value])
      if (broken !== undefined) return broken
      const parts = likeParts(wanted.value)
      return parts === undefined
        ? `must be like a pattern of at most ${WILDCARDS_MAX} '*', in which '\\' stands before '*' or '\\' only`
        : { field, is: "like", parts }
    }
    default:
      if (!COMPARISONS.has(wanted.operator)) return "must be compared by a known operator"
      return rule([wanted.value]) ?? { field, is: wanted.operator, value: wanted.value }
  }
}

const refuse = (parameter: string, rule: string) => new InvalidQuery({ parameter, rule })

/** The conditions of a list, or why it cannot have them. */
const readWhere = (wanted: ReadonlyArray<WantedCondition>, fields: Fields): ReadonlyArray<Condition> | InvalidQuery => {
  const conditions: Array<Condition> = []
  for (const each of wanted) {
    const field = fields.get(each.field)
    if (field === undefined)
      return refuse(each.field, "is neither a parameter of this list nor a field to filter it by")
    if (conditions.length === CONDITIONS_MAX) return refuse(each.field, `is more than ${CONDITIONS_MAX} conditions`)
    const condition = conditionOf(each, field)
    if (typeof condition === "string") return refuse(each.field, condition)
    conditions.push(condition)
  }
  return conditions
}

/** The order of a list, which ends with the id: what would follow the id decides nothing. */
const readOrder = (wanted: ReadonlyArray<WantedOrder>, fields: Fields): ReadonlyArray<Order> | InvalidQuery => {
  const order: Array<Order> = []
  for (const { field: name, descending = false } of wanted) {
    const field = fields.get(name)
    if (field === undefined) return refuse("order", "must name fields to sort by")
    if (order.some((each) => each.field.name === name)) return refuse("order", "must not name a field twice")
    order.push({ field, descending })
  }
  const end = order.findIndex(({ field }) => field.name === ID_FIELD.name)
  if ((end < 0 ? order.length : end) > ORDER_FIELDS_MAX)
    return refuse("order", `must name at most ${ORDER_FIELDS_MAX} fields`)
  if (end >= 0) return order.slice(0, end + 1)
  // In one direction throughout, so that an index that is read backwards serves a descending order.
  return [...order, { field: ID_FIELD, descending: order.at(-1)?.descending ?? false }]
}

/** True for a value that a record may have. */
const isStorable = (value: Scalar): boolean =>
  typeof value === "string" ? value.isWellFormed() && !value.includes("\0") : Number.isFinite(Number(value))

const isPosition = (position: Position, order: ReadonlyArray<Order>): boolean =>
  Array.isArray(position) &&
  position.length === order.length &&
  order.every(({ field }, at) => {
    const value = position[at]
    if (field.name === ID_FIELD.name) return Number.isSafeInteger(value) && Number(value) >= 1
    return value === null || (isOfKind(value, field) && isStorable(value))
  })

/** The conditions of a count: those of a list. */
export const makeWhere = (
  wanted: ReadonlyArray<WantedCondition>,
  fields: Fields,
): Effect.Effect<ReadonlyArray<Condition>, InvalidQuery> => {
  const where = readWhere(wanted, fields)
  return where instanceof InvalidQuery ? Effect.fail(where) : Effect.succeed(where)
}

/**
 * Makes a query of what a caller wants, judged by the collection's fields.
 *
 * @param fields of the collection, as `queryFieldsOf` gives them
 * @fails {InvalidPage} when `start` or `limit` is not a whole number in 0..2^53-1
 * @fails {InvalidQuery} naming the parameter, or the field, and the rule, never a value
 */
export const makeQuery = (wanted: WantedList, fields: Fields): Effect.Effect<Query, InvalidPage | InvalidQuery> =>
  Effect.flatMapEager(makePage(wanted), (page) => {
    if (wanted.where === undefined && wanted.order === undefined && wanted.after === undefined)
      return Effect.succeed(page)
    const where = readWhere(wanted.where ?? [], fields)
    if (where instanceof InvalidQuery) return Effect.fail(where)
    const order = wanted.order === undefined ? ID_ORDER : readOrder(wanted.order, fields)
    if (order instanceof InvalidQuery) return Effect.fail(order)
    const { after } = wanted
    if (after === undefined) return Effect.succeed({ ...page, where, order })
    if (wanted.start !== undefined) return Effect.fail(refuse("start", "must not stand beside 'after'"))
    if (!isPosition(after, order)) return Effect.fail(refuse("after", "must be a position of this very list"))
    return Effect.succeed({ ...page, where, order, after })
  })
