// Queries as SQL. Names come from the collection's own definition and hold nothing that SQL or a JSON path would read as
// its own; every value that a caller sent is a bound parameter.
import {
  type Comparison,
  type Condition,
  ID_ORDER,
  type Query,
  rangesOf,
  type Scalar,
} from "../../../domain/records/query.ts"
import type { QueryField } from "../../../domain/records/query_field.ts"
import { fieldSql, literal } from "./sqlite_indexes.ts"

/** A statement, or a part of one, with the values of its parameters. */
export interface Sql {
  readonly text: string
  readonly values: ReadonlyArray<string | number>
}

const OPERATORS: Readonly<Record<Comparison, string>> = {
  eq: "=",
  neq: "<>",
  gt: ">",
  gte: ">=",
  lt: "<",
  lte: "<=",
}

/**
 * A value as a parameter. A number goes through JSON, as the stored one did: the JSON of some numbers above 2^53 is a whole
 * number that SQLite keeps exactly, and that differs from the number that the same digits are in this language.
 */
const parameter = ({ name, kind }: QueryField, value: Scalar): Sql =>
  kind === "number" && name !== "id"
    ? { text: "json_extract(?, '$')", values: [JSON.stringify(value)] }
    : { text: "?", values: [typeof value === "string" ? value : Number(value)] }

/** The first text above all that begin with this one: none when there is no such. */
const textAbove = (prefix: string): string | undefined => {
  const points = Array.from(prefix, (each) => each.codePointAt(0) ?? 0)
  const last = points.findLastIndex((point) => point < 0x10ffff)
  if (last < 0) return undefined
  const raised = (points[last] ?? 0) + 1
  // Above U+D7FF lie the surrogates, which are no characters.
  return String.fromCodePoint(...points.slice(0, last), raised === 0xd800 ? 0xe000 : raised)
}

/** A pattern as GLOB reads it: it distinguishes case, and a bracket takes a character for itself. */
const globOf = (parts: ReadonlyArray<string>): string => parts.map((part) => part.replace(/[*?[]/g, "[$&]")).join("*")

/** GLOB alone would look at every entry of an index: the bounds of its first part lead to where it begins and ends. */
const likeSql = (column: string, parts: ReadonlyArray<string>): Sql => {
  const [prefix = ""] = parts
  if (parts.length === 1) return { text: `${column} = ?`, values: [prefix] }
  const above = textAbove(prefix)
  const bounds = [
    ...(prefix === "" ? [] : [{ text: `${column} >= ?`, value: prefix }]),
    ...(prefix === "" || above === undefined ? [] : [{ text: `${column} < ?`, value: above }]),
    { text: `${column} GLOB ?`, value: globOf(parts) },
  ]
  return { text: bounds.map(({ text }) => text).join(" AND "), values: bounds.map(({ value }) => value) }
}

const conditionSql = (condition: Condition): Sql => {
  const column = fieldSql(condition.field)
  switch (condition.is) {
    case "absent":
      return { text: `${column} IS NULL`, values: [] }
    case "present":
      return { text: `${column} IS NOT NULL`, values: [] }
    case "like":
      return likeSql(column, condition.parts)
    case "in": {
      const all = condition.values.map((value) => parameter(condition.field, value))
      return {
        text: `${column} IN (${all.map(({ text }) => text).join(", ")})`,
        values: all.flatMap(({ values }) => values),
      }
    }
    default: {
      const { text, values } = parameter(condition.field, condition.value)
      return { text: `${column} ${OPERATORS[condition.is]} ${text}`, values }
    }
  }
}

/** The collection stands in the text: an index of one collection is used only where the text names it. */
const whereSql = (collection: string, where: ReadonlyArray<Condition>): Sql => {
  const conditions = where.map(conditionSql)
  return {
    text: [`collection = ${literal(collection)}`, ...conditions.map(({ text }) => text)].join(" AND "),
    values: conditions.flatMap(({ values }) => values),
  }
}

/**
 * The statements of a list, to be run one after the other until the page is full: each gives `id` and `body`, and takes how
 * many records to give and how many to skip as its last parameters.
 */
export const listSql = (collection: string, query: Query): ReadonlyArray<Sql> => {
  const order = (query.order ?? ID_ORDER).map(({ field, descending }) => fieldSql(field) + (descending ? " DESC" : ""))
  return rangesOf(query).map((range) => {
    const { text, values } = whereSql(collection, range)
    return { text: `SELECT id, body FROM records WHERE ${text} ORDER BY ${order.join(", ")} LIMIT ? OFFSET ?`, values }
  })
}

/** How many records there are for which the conditions hold, as `records`. */
export const countSql = (collection: string, where: ReadonlyArray<Condition>): Sql => {
  const { text, values } = whereSql(collection, where)
  return { text: `SELECT count(*) AS records FROM records WHERE ${text}`, values }
}
