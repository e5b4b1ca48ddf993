// Unique fields in MongoDB: an index holds them apart; here it is found out which field a refused write would have broken.
import type { Db } from "mongodb"
import type { StoredShape } from "../../../domain/records/stored_shape.ts"
import { notUniqueYet, type UniqueField, uniqueValue } from "../../../domain/records/unique_fields.ts"
import { type FindTaken, recordsOf } from "./mongo_creates.ts"
import { pathOf, prepareIndexes, uniqueIndexName } from "./mongo_indexes.ts"
import { isDuplicateKey } from "./mongo_sequence.ts"

/** The server's code for an option that it does not have (mongodb.com/docs/manual/reference/error-codes). */
const NOT_IMPLEMENTED = 238

const BSON_TYPES = { text: "string", number: "number", flag: "bool" } as const

/** Some servers that speak the protocol tell the constraint of their own store rather than the code of a duplicate. */
const isNotUnique = (failure: unknown): boolean =>
  isDuplicateKey(failure) || (failure instanceof Error && /\bunique constraint\b/i.test(failure.message))

/**
 * Makes the index of a unique field. Records without a value are not in it: by a condition, and on a server that has none of
 * those, because they lack the field.
 *
 * @returns why it cannot be made
 */
const makeIndex = async (db: Db, collection: string, field: UniqueField): Promise<string | undefined> => {
  const make = (only: object) =>
    db
      .collection(collection)
      .createIndex({ [pathOf(field)]: 1 }, { name: uniqueIndexName(field), unique: true, ...only })
  try {
    try {
      await make({ partialFilterExpression: { [pathOf(field)]: { $type: BSON_TYPES[field.kind] } } })
    } catch (failure) {
      if (!(failure instanceof Error && "code" in failure && failure.code === NOT_IMPLEMENTED)) throw failure
      if (field.nullable)
        return `collection '${collection}', field '${field.name}' cannot be unique and null: the server has no partial indexes`
      await make({ sparse: true })
    }
    return undefined
  } catch (failure) {
    if (isNotUnique(failure)) return notUniqueYet(collection, field.name)
    throw failure
  }
}

interface Unique {
  /** Makes all indexes of the collection. @returns why it cannot be served as it is declared */
  readonly prepare: (db: Db, shape: StoredShape) => Promise<string | undefined>
  /**
   * The field for which the server refused a record.
   *
   * @param id of the record that was to have the fields; 0 for a new one
   * @returns `undefined` when no other record has one of the values: it was refused for something else
   */
  readonly taken: FindTaken
}

/** The unique fields of the collections that were prepared. */
export const makeUniqueFields = (): Unique => {
  const collections = new Map<string, ReadonlyArray<UniqueField>>()

  return {
    prepare: async (db, shape) => {
      const there = await prepareIndexes(db, shape)
      for (const field of shape.unique) {
        const reason = there.includes(uniqueIndexName(field)) ? undefined : await makeIndex(db, shape.name, field)
        if (reason !== undefined) return reason
      }
      collections.set(shape.name, shape.unique)
      return undefined
    },
    taken: async (db, collection, id, fields, refusal) => {
      if (!isNotUnique(refusal)) return undefined
      for (const field of collections.get(collection) ?? []) {
        const value = uniqueValue(field, fields)
        if (value === undefined) continue
        const other = { [pathOf(field)]: { $eq: value }, _id: { $ne: id } }
        if ((await recordsOf(db, collection).findOne(other, { projection: { _id: 1 } })) !== null) return field.name
      }
      return undefined
    },
  }
}
