import { Effect, Layer } from "effect"
import { RecordNotFound } from "../../../domain/records/errors.ts"
import { RecordRepository, type Stored } from "../../../domain/records/record_repository.ts"

interface Collection {
  lastId: number
  /** In the order of creation, which is the order of ids. */
  readonly records: Map<number, Stored>
}

const freezeDeep = <A>(value: A): A => {
  if (typeof value === "object" && value !== null) {
    Object.values(value).forEach(freezeDeep)
    Object.freeze(value)
  }
  return value
}

/** Records in this process's memory: gone when it ends. For tests, and for `STORE=memory`. */
export const layer = Layer.sync(RecordRepository, () => {
  const collections = new Map<string, Collection>()
  const collectionOf = (name: string): Collection => {
    const known = collections.get(name)
    if (known !== undefined) return known
    const collection = { lastId: 0, records: new Map() }
    collections.set(name, collection)
    return collection
  }
  const found = (collection: string, record: Stored | undefined) =>
    record === undefined ? Effect.fail(new RecordNotFound({ collection })) : Effect.succeed(record)

  return RecordRepository.of({
    list: (name, { start, limit }) =>
      Effect.succeed(collectionOf(name).records.values().drop(start).take(limit).toArray()),
    get: (name, id) => found(name, collectionOf(name).records.get(id)),
    create: (name, fields) =>
      Effect.sync(() => {
        const collection = collectionOf(name)
        // Every reader gets this object, so it has no tie to the caller's fields and nobody can write to it.
        const record: Stored = freezeDeep({ id: ++collection.lastId, ...JSON.parse(JSON.stringify(fields)) })
        collection.records.set(record.id, record)
        return record
      }),
    remove: (name, id) =>
      Effect.suspend(() => {
        const { records } = collectionOf(name)
        const record = records.get(id)
        records.delete(id)
        return found(name, record)
      }),
    count: (name) => Effect.succeed(collectionOf(name).records.size),
    ping: Effect.void,
  })
})
