import { Effect, Layer, Result } from "effect"
import { RecordNotFound } from "../../../domain/records/errors.ts"
import { expectRecord, type Fields, RecordRepository, type Stored } from "../../../domain/records/record_repository.ts"
import { freezeDeep } from "./freeze_deep.ts"
import { countUpTo, listed, matches } from "./memory_query.ts"

interface Collection {
  lastId: number
  /** In the order of creation, which is the order of ids. */
  readonly records: Array<Stored>
}

/** Where the record with this id is; -1 when there is none. */
const positionOf = (records: ReadonlyArray<Stored>, id: number): number => {
  const position = countUpTo(records, id) - 1
  return records[position]?.id === id ? position : -1
}

/** Every reader gets this object, so it has no tie to the caller's fields and nobody can write to it. */
const makeRecord = (id: number, fields: Fields): Stored => freezeDeep({ id, ...JSON.parse(JSON.stringify(fields)) })

/**
 * Records in this process's memory: gone when it ends. For tests, and for `STORE=memory`.
 *
 * A list by id costs the same wherever it starts. One with conditions, or in another order, looks at every record.
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
  const change = (
    name: string,
    id: number,
    expected: Fields | undefined,
    make: (records: Array<Stored>, position: number, record: Stored) => Stored,
  ) =>
    Effect.suspend(() => {
      const { records } = collectionOf(name)
      const position = positionOf(records, id)
      const read = expectRecord(name, records[position], expected)
      return Effect.fromResult(Result.map(read, (record) => make(records, position, record)))
    })

  return RecordRepository.of({
    // Every list looks at the records one by one, so an index is of no use here.
    prepare: () => Effect.void,
    list: (name, query) => Effect.sync(() => listed(collectionOf(name).records, query)),
    get: (name, id) => {
      const { records } = collectionOf(name)
      return found(name, records[positionOf(records, id)])
    },
    create: (name, fields) =>
      Effect.sync(() => {
        const collection = collectionOf(name)
        const record = makeRecord(++collection.lastId, fields)
        collection.records.push(record)
        return record
      }),
    replace: (name, id, expected, fields) =>
      change(name, id, expected, (records, position) => {
        const record = makeRecord(id, fields)
        records[position] = record
        return record
      }),
    remove: (name, id, expected) =>
      change(name, id, expected, (records, position, record) => {
        records.splice(position, 1)
        return record
      }),
    count: (name, where = []) =>
      Effect.sync(() => collectionOf(name).records.filter((record) => matches(record, where)).length),
    ready: Effect.void,
  })
})
