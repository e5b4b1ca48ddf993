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

/** Records that each collection is said to have, and how many of them share a value of the first, second and third field. */
const SAID_RECORDS = 1_000_000
const SAID_ALIKE = [100, 50, 25]

/** How an index is made, and how many records are said to share the first, the first two, ... of its values. */
interface IndexSql {
  readonly sql: string
  readonly alike: ReadonlyArray<number>
}

/**
 * Tells SQLite's planner that collections are large and indexed values mostly differ. Of a key that begins with the collection
 * it would otherwise guess that ten records share one, and read all of a collection rather than use an index of it. What is
 * said does not depend on what is stored, so a query that uses an index always does.
 *
 * @see sqlite.org/fileformat2.html#stat1tab
 */
const sayHowLarge = (db: DatabaseSync, indexes: ReadonlyMap<string, IndexSql>): void => {
  // This makes the table where there is none, and reads it again.
  db.exec("ANALYZE sqlite_schema")
  const forget = db.prepare("DELETE FROM sqlite_stat1 WHERE tbl = 'records' AND idx = ?")
  const say = db.prepare("INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('records', ?, ?)")
  for (const [name, alike] of [
    ["records", [1]] as const,
    ...[...indexes].map(([name, { alike }]) => [name, alike] as const),
  ]) {
    forget.run(name)
    say.run(name, [SAID_RECORDS, SAID_RECORDS, ...alike].join(" "))
  }
  db.exec("ANALYZE sqlite_schema")
}

/** Makes the indexes that the collection declares, and drops those that it no longer does. Runs inside a transaction. */
export const prepareIndexes = (db: DatabaseSync, { name: collection, indexes, unique }: StoredShape): void => {
  const where = `WHERE collection = ${literal(collection)}`
  const wanted = new Map([
    ...indexes.map((index): [name: string, made: IndexSql] => {
      const name = nameOf(collection, index)
      const on = `records (collection, ${index.fields.map(fieldSql).join(", ")}, id)`
      const sql = `CREATE INDEX IF NOT EXISTS ${quoted(name)} ON ${on} ${where}`
      return [name, { sql, alike: [...SAID_ALIKE.slice(0, index.fields.length), 1] }]
    }),
    ...unique.map((field): [name: string, made: IndexSql] => {
      const name = uniqueNameOf(collection, field)
      const on = `records (collection, ${fieldSql(field)})`
      return [name, { sql: `CREATE UNIQUE INDEX IF NOT EXISTS ${quoted(name)} ON ${on} ${where}`, alike: [1] }]
    }),
  ])
  const prefix = prefixOf(collection)
  const there = db
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'index' AND substr(name, 1, ?) = ?")
    .all(prefix.length, prefix)
  for (const { name } of there) if (!wanted.has(String(name))) db.exec(`DROP INDEX ${quoted(String(name))}`)
  for (const { sql } of wanted.values()) db.exec(sql)
  if (wanted.size > 0) sayHowLarge(db, wanted)
}
