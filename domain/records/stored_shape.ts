import type { TObject } from "typebox"
import { type QueryField, queryFieldsOf } from "./query_field.ts"
import { possiblyUnique, type UniqueField } from "./unique_fields.ts"

/** Most fields of one index: as many as one order may have. */
export const INDEX_FIELDS_MAX = 3

/** Most indexes of one collection: each makes every write dearer. */
export const INDEXES_MAX = 16

/** Fields by which a store finds and sorts records without reading all of them; the id always follows them. */
export interface Index {
  readonly fields: ReadonlyArray<QueryField>
}

/** What a store must know of a collection before its records are read or written. */
export interface StoredShape {
  readonly name: string
  readonly indexes: ReadonlyArray<Index>
  readonly unique: ReadonlyArray<UniqueField>
  /** True when a log of its changes is kept. */
  readonly changes: boolean
}

/** One declared index as a list of names, however it was written. */
export const indexNames = (declared: string | ReadonlyArray<string>): ReadonlyArray<string> =>
  typeof declared === "string" ? [declared] : declared

/** @param collection its definition was judged: every index and every unique field is one that a store can make */
export const storedShapeOf = (collection: {
  readonly name: string
  readonly fields: TObject
  readonly indexes?: ReadonlyArray<string | ReadonlyArray<string>>
  readonly unique?: ReadonlyArray<string>
  readonly changes?: boolean
  readonly timestamps?: boolean
}): StoredShape => {
  const known = queryFieldsOf(collection)
  const unique = possiblyUnique(collection.fields)
  return {
    name: collection.name,
    indexes: (collection.indexes ?? []).map((declared) => ({
      fields: indexNames(declared).flatMap((name) => known.get(name) ?? []),
    })),
    unique: (collection.unique ?? []).flatMap((name) => unique.get(name) ?? []),
    changes: collection.changes ?? false,
  }
}
