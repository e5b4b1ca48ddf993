import { Effect, Layer } from "effect"
import { RecordNotFound } from "../../../domain/records/errors.ts"
import { RecordRepository, type Stored } from "../../../domain/records/record_repository.ts"
import { freezeDeep } from "./freeze_deep.ts"

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

/**
 * Records in this process's memory: gone when it ends. For tests, and for `STORE=memory`.
 *
 * A list costs the same wherever it starts.
 */
export const layer = Layer.sync(RecordRepository, () => {
  const collections = new Map<string, Collection>()
  const collectionOf = (name: string): Collection => {
    const known = collections.get(name)
    if (known !== undefined) return known
    const collection = { lastId: 0, records: [] }
    collections.set(name, collection)
    return collection
  }
  const found = (collection: string, record: Stored | undefined) =>
    record === undefined ? Effect.fail(new RecordNotFound({ collection })) : Effect.succeed(record)

  return RecordRepository.of({
    // Every list looks at the records one by one, so an index is of no use here.
    prepare: () => Effect.void,
    list: (name, { start, limit }) => Effect.succeed(collectionOf(name).records.slice(start, start + limit)),
    get: (name, id) => {
      const { records } = collectionOf(name)
      return found(name, records[positionOf(records, id)])
    },
    create: (name, fields) =>
      Effect.sync(() => {
        const collection = collectionOf(name)
        // Every reader gets this object, so it has no tie to the caller's fields and nobody can write to it.
        const record: Stored = freezeDeep({ id: ++collection.lastId, ...JSON.parse(JSON.stringify(fields)) })
        collection.records.push(record)
        return record
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
