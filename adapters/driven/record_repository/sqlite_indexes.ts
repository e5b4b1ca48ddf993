// Indexes of records in SQLite: over expressions that read a field out of a record's JSON, for one collection each.
import type { DatabaseSync } from "node:sqlite"
import type { FieldKind, QueryField } from "../../../domain/records/query_field.ts"
import type { Index, StoredShape } from "../../../domain/records/stored_shape.ts"

/** Names of the JSON types that the values of a kind have (sqlite.org/json1.html#jtype). */
const JSON_TYPES: Readonly<Record<FieldKind, ReadonlyArray<string>>> = {
  number: ["integer", "real"],
  text: ["text"],
  flag: ["true", "false"],
}

/** A text as SQL. */
export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

/**
 * The value of a field as SQL: NULL when the record has none, and for a value of another kind, as a record may have that was
 * stored before the field's schema was changed. SQLite uses an index only for the very expression that it was made of.
 */
export const fieldSql = ({ name, kind }: QueryField): string => {
  if (name === "id") return "id"
  const path = literal(`$."${name}"`)
  const types = JSON_TYPES[kind].map(literal).join(", ")
  return `CASE WHEN json_type(body, ${path}) IN (${types}) THEN json_extract(body, ${path}) END`
}

/** Index names of a collection begin with this. No name of a collection holds a colon. */
const prefixOf = (collection: string): string => `records:${collection}:`

const nameOf = (collection: string, { fields }: Index): string =>
  `${prefixOf(collection)}${fields.map(({ name, kind }) => `${name} ${kind}`).join()}`

const quoted = (name: string): string => `"${name}"`

/** No other index has this name: those of fields begin with a field, whose name holds no blank. */
const uniqueNameOf = (collection: string, { name, kind }: QueryField): string =>
  `${prefixOf(collection)}unique ${name} ${kind}`

/** Makes the indexes that the collection declares, and drops those that it no longer does. Runs inside a transaction. */
export const prepareIndexes = (db: DatabaseSync, { name: collection, indexes, unique }: StoredShape): void => {
  const where = `WHERE collection = ${literal(collection)}`
  // The collection comes first, or SQLite would rather read all of it by its primary key.
  const wanted = new Map([
    ...indexes.map((index): [name: string, sql: string] => {
      const fields = index.fields.map(fieldSql).join(", ")
      const name = nameOf(collection, index)
      return [name, `CREATE INDEX IF NOT EXISTS ${quoted(name)} ON records (collection, ${fields}, id) ${where}`]
    }),
    ...unique.map((field): [name: string, sql: string] => {
      const name = uniqueNameOf(collection, field)
      const on = `records (collection, ${fieldSql(field)})`
      return [name, `CREATE UNIQUE INDEX IF NOT EXISTS ${quoted(name)} ON ${on} ${where}`]
    }),
  ])
  const prefix = prefixOf(collection)
  const there = db
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'index' AND substr(name, 1, ?) = ?")
    .all(prefix.length, prefix)
  for (const { name } of there) if (!wanted.has(String(name))) db.exec(`DROP INDEX ${quoted(String(name))}`)
  for (const sql of wanted.values()) db.exec(sql)
}
