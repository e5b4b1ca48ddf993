// Queries over records in memory: each condition and each order is asked of the records themselves.
import {
  type Comparison,
  type Condition,
  comparedValue,
  ID_ORDER,
  type Order,
  type Place,
  type Query,
  type Scalar,
} from "../../../domain/records/query.ts"
import { ID_FIELD } from "../../../domain/records/query_field.ts"
import type { Stored } from "../../../domain/records/record_repository.ts"

/** Where a UTF-16 code unit stands among code points: a surrogate is half of one above all others. */
const rankOf = (unit: number): number => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800)

/** Compares texts by code points. The language's operators compare UTF-16 code units, to which U+1F600 is below U+FF5E. */
const compareTexts = (one: string, other: string): number => {
  const shorter = Math.min(one.length, other.length)
  for (let at = 0; at < shorter; at++) {
    const [left, right] = [one.charCodeAt(at), other.charCodeAt(at)]
    if (left !== right) return rankOf(left) - rankOf(right)
  }
  return one.length - other.length
}

/** Below 0, 0 or above 0, as with `sort`. Both values are of one kind; none is below all. */
const compare = (one: Scalar | null, other: Scalar | null): number => {
  if (one === null || other === null) return Number(one !== null) - Number(other !== null)
  if (typeof one === "string" && typeof other === "string") return compareTexts(one, other)
  return Number(one > other) - Number(one < other)
}

const HOLDS: Readonly<Record<Comparison, (sign: number) => boolean>> = {
  eq: (sign) => sign === 0,
  neq: (sign) => sign !== 0,
  gt: (sign) => sign > 0,
  gte: (sign) => sign >= 0,
  lt: (sign) => sign < 0,
  lte: (sign) => sign <= 0,
}

/** Each part is taken where it comes first: what lies between two of them may be anything. */
const isLike = (text: string, [first = "", ...rest]: ReadonlyArray<string>): boolean => {
  const last = rest.pop()
  if (last === undefined) return text === first
  if (!text.startsWith(first) || !text.endsWith(last)) return false
  const end = text.length - last.length
  let at = first.length
  for (const part of rest) {
    const found = text.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return at <= end
}

const holds = (record: Stored, condition: Condition): boolean => {
  const value = comparedValue(record, condition.field)
  if (condition.is === "absent") return value === null
  if (value === null) return false
  switch (condition.is) {
    case "present":
      return true
    case "in":
      return condition.values.includes(value)
    case "like":
      return isLike(String(value), condition.parts)
    default:
      return HOLDS[condition.is](compare(value, condition.value))
  }
}

/** True when every condition holds for the record. */
export const matches = (record: Stored, where: ReadonlyArray<Condition>): boolean =>
  where.every((condition) => holds(record, condition))

/** How two records' values stand to each other in an order. */
const compareIn = (order: ReadonlyArray<Order>, one: Place, other: Place): number => {
  for (const [at, { descending }] of order.entries()) {
    const sign = compare(one[at] ?? null, other[at] ?? null)
    if (sign !== 0) return descending ? -sign : sign
  }
  return 0
}

/** True for a query in the order that records are kept in. */
const isById = ([first]: ReadonlyArray<Order>): boolean => first?.field.name === ID_FIELD.name && !first.descending

/** How many records have at most this id, by halving. */
export const countUpTo = (records: ReadonlyArray<Stored>, id: number): number => {
  let [low, high] = [0, records.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((records[middle]?.id ?? 0) <= id) low = middle + 1
    else high = middle
  }
  return low
}

/** The records of a query. @param records in ascending id order */
export const listed = (records: ReadonlyArray<Stored>, query: Query): ReadonlyArray<Stored> => {
  const { start, limit, where = [], order = ID_ORDER, after } = query
  if (isById(order)) {
    const from = after === undefined ? 0 : countUpTo(records, Number(after[0]))
    if (where.length === 0) return records.slice(from + start, from + start + limit)
    return records
      .slice(from)
      .filter((record) => matches(record, where))
      .slice(start, start + limit)
  }
  return records
    .filter((record) => matches(record, where))
    .map((record) => ({ record, place: order.map(({ field }) => comparedValue(record, field)) }))
    .filter(({ place }) => after === undefined || compareIn(order, place, after) > 0)
    .toSorted((one, other) => compareIn(order, one.place, other.place))
    .slice(start, start + limit)
    .map(({ record }) => record)
}
