import { Effect, Layer } from "effect"
import { RecordNotFound } from "../../../domain/records/errors.ts"
import { RecordRepository, type Stored } from "../../../domain/records/record_repository.ts"
import { RecordCache } from "./record_cache.ts"
import { decodeRecord, encodeFields } from "./stored_record.ts"

interface Collection {
  lastId: number
  /** In the order of creation, which is the order of ids. */
  readonly records: Map<number, Stored>
}

/** Records in this process's memory: gone when it ends. For tests, and for `STORE=memory`. */
export const layer = Layer.sync(RecordRepository, () => {
  const collections = new Map<string, Collection>()
  const cache = new RecordCache()
  const collectionOf = (name: string): Collection => {
    const known = collections.get(name)
    if (known !== undefined) return known
    const collection = { lastId: 0, records: new Map() }
    collections.set(name, collection)
    return collection
  }
  const found = (name: string, record: Stored | undefined) =>
    record === undefined ? Effect.fail(new RecordNotFound({ collection: name })) : Effect.succeed(record)

  return RecordRepository.of({
    list: (name, page) =>
      Effect.sync(() => {
        const known = cache.of(name).page(page)
        if (known !== undefined) return known
        const records = collectionOf(name).records.values().drop(page.start).take(page.limit).toArray()
        cache.of(name).keepPage(page, Object.freeze(records), 0)
        return records
      }),
    recall: (name, id) => collectionOf(name).records.get(id),
    recallPage: (name, page) => cache.of(name).page(page),
    get: (name, id) => Effect.suspend(() => found(name, collectionOf(name).records.get(id))),
    create: (name, fields) =>
      Effect.sync(() => {
        const collection = collectionOf(name)
        const record = decodeRecord(collection.lastId + 1, encodeFields(fields))
        collection.lastId = record.id
        collection.records.set(record.id, record)
        cache.of(name).forgetPages()
        return record
      }),
    remove: (name, id) =>
      Effect.suspend(() => {
        const { records } = collectionOf(name)
        const record = records.get(id)
        if (records.delete(id)) cache.of(name).forgetPages()
        return found(name, record)
      }),
    count: (name) => Effect.sync(() => collectionOf(name).records.size),
    ping: Effect.void,
  })
})
