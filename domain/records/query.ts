// A list as a value: which records, in which order, from where on. Judged by list_query.ts, carried out by every store.
import type { Page } from "./page.ts"
import { type FieldKind, ID_FIELD, type QueryField } from "./query_field.ts"

/** A value that records are compared with. */
export type Scalar = string | number | boolean

/** What a comparison asks of a field's value, on its left. */
export type Comparison = "eq" | "neq" | "gt" | "gte" | "lt" | "lte"

/**
 * A rule for one field of a record. A field that is missing, or `null`, has no value: only `absent` holds for it.
 *
 * Texts compare by code points, and `false` is below `true`.
 */
export type Condition = { readonly field: QueryField } & (
  | { readonly is: Comparison; readonly value: Scalar }
  | { readonly is: "in"; readonly values: ReadonlyArray<Scalar> }
  /** A text made of these parts in this order, with anything between two of them. One part is the text itself. */
  | { readonly is: "like"; readonly parts: ReadonlyArray<string> }
  | { readonly is: "absent" }
  | { readonly is: "present" }
)

/** A field to sort by. Records without a value come first, or last where it is descending. */
export interface Order {
  readonly field: QueryField
  readonly descending: boolean
}

/** A place between the records of an order: right after one with these values, or `null` for none, of the order's fields. */
export type Place = ReadonlyArray<Scalar | null>

/** What to list: a page of the records for which every condition holds. A page alone is a query too. */
export interface Query extends Page {
  readonly where?: ReadonlyArray<Condition>
  /** Ends with the id; by ascending id when omitted. */
  readonly order?: ReadonlyArray<Order>
  /** Only what lies behind; `start` is 0 then. */
  readonly after?: Place
}

/** The order of a query that names none. */
export const ID_ORDER: ReadonlyArray<Order> = [{ field: ID_FIELD, descending: false }]

const TYPE_OF_KIND: Readonly<Record<FieldKind, string>> = { number: "number", text: "string", flag: "boolean" }

/** True for a query that asks for nothing but a page of all records by ascending id. */
export const isPlainPage = ({ where = [], order = ID_ORDER, after }: Query): boolean =>
  where.length === 0 && after === undefined && order[0]?.field.name === ID_FIELD.name && !order[0].descending

/** True for a value of the field's kind. */
export const isOfKind = (value: unknown, { kind }: QueryField): value is Scalar => typeof value === TYPE_OF_KIND[kind]

/**
 * The value of a field that is compared: `null` when the record has none, and for one of another kind, as a record may have
 * that was stored before the field's schema was changed.
 */
export const comparedValue = (record: Readonly<Record<string, unknown>>, field: QueryField): Scalar | null => {
  const value = record[field.name]
  return isOfKind(value, field) ? value : null
}

/** The place right after a record. */
export const placeOf = (record: Readonly<Record<string, unknown>>, order: ReadonlyArray<Order>): Place =>
  order.map(({ field }) => comparedValue(record, field))

/** What lies behind a value of one field, as ranges in the field's order. */
const behind = ({ field, descending }: Order, value: Scalar | null): ReadonlyArray<Condition> => {
  if (value === null) return descending ? [] : [{ field, is: "present" }]
  if (!descending) return [{ field, is: "gt", value }]
  const below: Condition = { field, is: "lt", value }
  return field.name === ID_FIELD.name ? [below] : [below, { field, is: "absent" }]
}

/**
 * The rest of a list behind a place, as ranges that follow each other in the list's order. No record is in two of them,
 * and an index finds where each of them begins, because each holds some fields fixed and bounds one.
 */
const rangesAfter = (order: ReadonlyArray<Order>, place: Place): ReadonlyArray<ReadonlyArray<Condition>> =>
  order
    .flatMap((each, at) => {
      const same = order.slice(0, at).map(({ field }, before): Condition => {
        const value = place[before] ?? null
        return value === null ? { field, is: "absent" } : { field, is: "eq", value }
      })
      return [behind(each, place[at] ?? null).map((bound) => [...same, bound])]
    })
    .reverse()
    .flat()

/** A query as lists of conditions: the records of each follow those of the one before, and all have the query's order. */
export const rangesOf = ({ where = [], order = ID_ORDER, after }: Query): ReadonlyArray<ReadonlyArray<Condition>> =>
  after === undefined ? [where] : rangesAfter(order, after).map((range) => [...where, ...range])
