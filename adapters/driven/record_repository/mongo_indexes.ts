// Indexes of records in MongoDB: over the fields one level down, where mongo_creates.ts keeps them.
import type { Db } from "mongodb"
import type { QueryField } from "../../../domain/records/query_field.ts"
import type { Index, StoredShape } from "../../../domain/records/stored_shape.ts"

/** Where a document has the field. */
export const pathOf = ({ name }: QueryField): string => (name === "id" ? "_id" : `fields.${name}`)

/** Names of the indexes that are made here begin with this: others, which an operator made, are left alone. */
const PREFIX = "portolan:"

/** No other index has this name: those of fields hold no blank. */
export const uniqueIndexName = ({ name }: QueryField): string => `${PREFIX}unique ${name}`

const nameOf = ({ fields }: Index): string => `${PREFIX}${fields.map(({ name }) => name).join()}`

/** The server's code for a collection that is not there (mongodb.com/docs/manual/reference/error-codes). */
const NAMESPACE_NOT_FOUND = 26

const indexNamesOf = async (db: Db, collection: string): Promise<ReadonlyArray<string>> => {
  try {
    return (await db.collection(collection).listIndexes().toArray()).map(({ name }) => String(name))
  } catch (failure) {
    if (failure instanceof Error && "code" in failure && failure.code === NAMESPACE_NOT_FOUND) return []
    throw failure
  }
}

/**
 * Makes the indexes that the collection declares but for unique ones, and drops all that it no longer declares. A server that
 * needs longer for an index than an operation may take goes on with it: the next start finds it made.
 *
 * @returns the names of those that were there
 */
export const prepareIndexes = async (
  db: Db,
  { name, indexes, unique }: StoredShape,
): Promise<ReadonlyArray<string>> => {
  const there = await indexNamesOf(db, name)
  const wanted = new Map(indexes.map((index) => [nameOf(index), index]))
  for (const index of there)
    if (index.startsWith(PREFIX) && !wanted.has(index) && !unique.some((field) => uniqueIndexName(field) === index))
      await db.collection(name).dropIndex(index)
  for (const [index, { fields }] of wanted)
    if (!there.includes(index)) {
      const keys = Object.fromEntries(fields.map((field) => [pathOf(field), 1] as const))
      await db.collection(name).createIndex({ ...keys, _id: 1 }, { name: index })
    }
  return there
}
