import { Effect, Layer } from "effect"
import { ChangesUnsupported, RecordNotFound } from "../../../domain/records/errors.ts"
import { RecordRepository, type Stored } from "../../../domain/records/record_repository.ts"
import { freezeDeep } from "./freeze_deep.ts"
import { makeMemoryLog } from "./memory_change_log.ts"

interface Collection {
  lastId: number
  /** In the order of creation, which is the order of ids. */
  readonly records: Array<Stored>
  /** Of its changes, when it was prepared with one. */
  log?: ReturnType<typeof makeMemoryLog>
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
    const collection: Collection = { lastId: 0, records: [] }
    collections.set(name, collection)
    return collection
  }
  const found = (collection: string, record: Stored | undefined) =>
    record === undefined ? Effect.fail(new RecordNotFound({ collection })) : Effect.succeed(record)

  return RecordRepository.of({
    // Every list looks at the records one by one, so an index is of no use here.
    prepare: ({ name, changes }) =>
      Effect.sync(() => {
        const collection = collectionOf(name)
        if (changes) collection.log ??= makeMemoryLog(name)
        else delete collection.log
      }),
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
        collection.log?.add("create", record)
        return record
      }),
    remove: (name, id) =>
      Effect.suspend(() => {
        const { records, log } = collectionOf(name)
        const position = positionOf(records, id)
        const removed = position < 0 ? undefined : records.splice(position, 1)[0]
        if (removed !== undefined) log?.add("delete", { id })
        return found(name, removed)
      }),
    changes: (name, after) =>
      collectionOf(name).log?.follow(after) ??
      Effect.fail(new ChangesUnsupported({ collection: name, reason: "it was not prepared for that" })),
    count: (name) => Effect.succeed(collectionOf(name).records.length),
    ready: Effect.void,
  })
})
