import { Effect, Layer } from "effect"
import { RecordNotFound } from "../../../domain/records/errors.ts"
import { type Fields, RecordRepository, type Stored } from "../../../domain/records/record_repository.ts"
import { freezeDeep } from "./freeze_deep.ts"
import { memoryKeys } from "./memory_keys.ts"

interface Collection {
  lastId: number
  /** In the order of creation, which is the order of ids. */
  readonly records: Array<Stored>
}

/** Where the record with this id is, by halving; -1 when there is none. */
const positionOf = (records: ReadonlyArray<Stored>, id: number): number => {
  let [low, high] = [0, records.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((records[middle]?.id ?? 0) < id) low = middle + 1
    else high = middle
  }
  return records[low]?.id === id ? low : -1
}

/** Every reader gets the stored object, so it has no tie to the caller's fields, and nobody can write to it. */
const copyOf = (fields: Fields): Fields => JSON.parse(JSON.stringify(fields))

/**
 * Records in this process's memory: gone when it ends. For tests, and for `STORE=memory`.
 *
 * A list costs the same wherever it starts.
 */
export const layer = Layer.sync(RecordRepository, () => {
  const collections = new Map<string, Collection>()
  const keys = memoryKeys()
  const collectionOf = (name: string): Collection => {
    const known = collections.get(name)
    if (known !== undefined) return known
    const collection = { lastId: 0, records: [] }
    collections.set(name, collection)
    return collection
  }
  const found = (collection: string, record: Stored | undefined) =>
    record === undefined ? Effect.fail(new RecordNotFound({ collection })) : Effect.succeed(record)

  const create = (name: string, copy: Fields): Stored => {
    const collection = collectionOf(name)
    const record: Stored = freezeDeep({ id: ++collection.lastId, ...copy })
    collection.records.push(record)
    return record
  }

  return RecordRepository.of({
    list: (name, { start, limit }) => Effect.succeed(collectionOf(name).records.slice(start, start + limit)),
    get: (name, id) => {
      const { records } = collectionOf(name)
      return found(name, records[positionOf(records, id)])
    },
    create: (name, fields) => Effect.sync(() => create(name, copyOf(fields))),
    createAll: (name, records, key) =>
      Effect.suspend(() => {
        const known = key === undefined ? undefined : keys.find(name, key)
        if (known !== undefined) return known
        // All are copied before the first is stored: a value that cannot be copied leaves none.
        const copies = records.map(copyOf)
        const firstId = collectionOf(name).lastId + 1
        for (const copy of copies) create(name, copy)
        if (key !== undefined) keys.remember(name, key, firstId)
        return Effect.succeed({ firstId })
      }),
    remove: (name, id) =>
      Effect.suspend(() => {
        const { records } = collectionOf(name)
        const position = positionOf(records, id)
        return found(name, position < 0 ? undefined : records.splice(position, 1)[0])
      }),
    count: (name) => Effect.succeed(collectionOf(name).records.length),
    ready: Effect.void,
  })
})
