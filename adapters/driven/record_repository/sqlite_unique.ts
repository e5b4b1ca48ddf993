// Unique fields in SQLite: an index holds them apart for every program; here it is said which field a write would break.
import type { DatabaseSync, StatementSync } from "node:sqlite"
import type { Fields } from "../../../domain/records/record_repository.ts"
import type { StoredShape } from "../../../domain/records/stored_shape.ts"
import { findTaken, type UniqueField } from "../../../domain/records/unique_fields.ts"
import { fieldSql, literal } from "./sqlite_indexes.ts"

/** The unique fields of the collections that were prepared. All of it runs inside a transaction. */
export const makeUniqueFields = () => {
  const collections = new Map<string, ReadonlyMap<UniqueField, StatementSync>>()

  return {
    /** @returns a field that is to be unique and of which two records have the same value; nothing may be prepared then */
    prepare: (db: DatabaseSync, { name: collection, unique }: StoredShape): UniqueField | undefined => {
      const records = `records WHERE collection = ${literal(collection)}`
      const broken = unique.find((field) => {
        const value = fieldSql(field)
        const twice = `SELECT 1 FROM ${records} AND ${value} IS NOT NULL GROUP BY ${value} HAVING count(*) > 1 LIMIT 1`
        return db.prepare(twice).get() !== undefined
      })
      if (broken !== undefined) return broken
      // The value goes through JSON, as the stored one did.
      const others = (field: UniqueField) =>
        db.prepare(`SELECT 1 FROM ${records} AND ${fieldSql(field)} = json_extract(?, '$') AND id <> ?`)
      collections.set(collection, new Map(unique.map((field) => [field, others(field)])))
      return undefined
    },
    /** As {@link findTaken}. @param id of the record that is to have the fields; 0 for new ones */
    taken: (collection: string, id: number, records: ReadonlyArray<Fields>) => {
      const known = collections.get(collection)
      if (known === undefined || known.size === 0) return undefined
      return findTaken(
        [...known.keys()],
        records,
        (field, value) => known.get(field)?.get(JSON.stringify(value), id) !== undefined,
      )
    },
  }
}
