// Queries as the server's filters. Names come from the collection's own definition; every value that a caller sent is the
// operand of an operator, so that none is ever read as one.
import type { Document, Filter } from "mongodb"
import {
  type Comparison,
  type Condition,
  ID_ORDER,
  type Order,
  type Query,
  rangesOf,
} from "../../../domain/records/query.ts"
import type { FieldKind } from "../../../domain/records/query_field.ts"
import type { RecordDocument } from "./mongo_creates.ts"
import { pathOf } from "./mongo_indexes.ts"

/** Names of the types of values (mongodb.com/docs/manual/reference/operator/query/type). */
const TYPES: Readonly<Record<FieldKind, string>> = { number: "number", text: "string", flag: "bool" }

/** All types that a value in a record can have, but `null`. */
const JSON_TYPES = [...Object.values(TYPES), "object", "array"]

const OPERATORS: Readonly<Record<Exclude<Comparison, "neq">, string>> = {
  eq: "$eq",
  gt: "$gt",
  gte: "$gte",
  lt: "$lt",
  lte: "$lte",
}

/** A pattern as a regular expression (PCRE2, RE2): nothing of a part is read as one, and `\z` is the very end. */
const regexOf = (parts: ReadonlyArray<string>): string =>
  `^${parts.map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join(".*")}\\z`

const asked = (condition: Condition): Document => {
  switch (condition.is) {
    case "absent":
      return { $eq: null }
    case "present":
      return { $type: TYPES[condition.field.kind] }
    case "in":
      return { $in: condition.values }
    case "like":
      return { $regex: regexOf(condition.parts), $options: "s" }
    case "neq":
      // To the server, what is missing is not equal either.
      return { $ne: condition.value, $type: TYPES[condition.field.kind] }
    default:
      return { [OPERATORS[condition.is]]: condition.value }
  }
}

const all = (filters: ReadonlyArray<Filter<RecordDocument>>): Filter<RecordDocument> =>
  filters.length === 0 ? {} : { $and: [...filters] }

const filtersOf = (where: ReadonlyArray<Condition>): ReadonlyArray<Filter<RecordDocument>> =>
  where.map((condition) => ({ [pathOf(condition.field)]: asked(condition) }))

/** What a record must be for all conditions to hold. */
export const filterOf = (where: ReadonlyArray<Condition>): Filter<RecordDocument> => all(filtersOf(where))

/**
 * Leaves out the records that have a value of another kind in a field of the order, as they may that were stored before the
 * field's schema was changed. The server sorts them apart, where no position leads to and from.
 */
const sortable = (order: ReadonlyArray<Order>): ReadonlyArray<Filter<RecordDocument>> =>
  order
    .filter(({ field }) => field.name !== "id")
    .map(({ field }) => ({
      [pathOf(field)]: { $not: { $type: JSON_TYPES.filter((type) => type !== TYPES[field.kind]) } },
    }))

/** What the server is asked for a list. */
export interface MongoList {
  /** To be found one after the other until the page is full. */
  readonly filters: ReadonlyArray<Filter<RecordDocument>>
  readonly sort: Readonly<Record<string, 1 | -1>>
}

/** A list as filters and their order. */
export const listOf = (query: Query): MongoList => {
  const order = query.order ?? ID_ORDER
  const kept = sortable(order)
  return {
    filters: rangesOf(query).map((range) => all([...filtersOf(range), ...kept])),
    sort: Object.fromEntries(order.map(({ field, descending }) => [pathOf(field), descending ? -1 : 1])),
  }
}
