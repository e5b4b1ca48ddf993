import { Effect, Layer, Result } from "effect"
import type { Created } from "../../../domain/records/create_key.ts"
import { ChangesUnsupported, type KeyReused, NotUnique, RecordNotFound } from "../../../domain/records/errors.ts"
import { expectRecord, type Fields, RecordRepository, type Stored } from "../../../domain/records/record_repository.ts"
import { notUniqueYet } from "../../../domain/records/unique_fields.ts"
import { StoreUnavailable } from "../../../domain/store_unavailable.ts"
import { freezeDeep } from "./freeze_deep.ts"
import { makeMemoryLog } from "./memory_change_log.ts"
import { memoryKeys } from "./memory_keys.ts"
import { countUpTo, listed, matches } from "./memory_query.ts"
import { makeMemoryUnique } from "./memory_unique.ts"

const MEMORY: StoreUnavailable["store"] = { user: "-", host: "memory", database: "-" }

interface Collection {
  lastId: number
  /** In the order of creation, which is the order of ids. */
  readonly records: Array<Stored>
  unique: ReturnType<typeof makeMemoryUnique>
  /** Of its changes, when it was prepared with one. */
  log?: ReturnType<typeof makeMemoryLog>
}

/** Where the record with this id is; -1 when there is none. */
const positionOf = (records: ReadonlyArray<Stored>, id: number): number => {
  const position = countUpTo(records, id) - 1
  return records[position]?.id === id ? position : -1
}

/** Every reader gets the stored object, so it has no tie to the caller's fields, and nobody can write to it. */
const copyOf = (fields: Fields): Fields => JSON.parse(JSON.stringify(fields))

/**
 * Records in this process's memory: gone when it ends. For tests, and for `STORE=memory`.
 *
 * A list by id costs the same wherever it starts. One with conditions, or in another order, looks at every record.
 */
export const layer = Layer.sync(RecordRepository, () => {
  const collections = new Map<string, Collection>()
  const keys = memoryKeys()
  const collectionOf = (name: string): Collection => {
    const known = collections.get(name)
    if (known !== undefined) return known
    const collection: Collection = { lastId: 0, records: [], unique: makeMemoryUnique([]) }
    collections.set(name, collection)
    return collection
  }
  const found = (collection: string, record: Stored | undefined) =>
    record === undefined ? Effect.fail(new RecordNotFound({ collection })) : Effect.succeed(record)
  const change = <E = never>(
    name: string,
    id: number,
    expected: Fields | undefined,
    make: (collection: Collection, position: number, record: Stored) => Result.Result<Stored, E>,
  ) =>
    Effect.suspend(() => {
      const collection = collectionOf(name)
      const position = positionOf(collection.records, id)
      const read = expectRecord(name, collection.records[position], expected)
      return Effect.fromResult(Result.flatMap(read, (record) => make(collection, position, record)))
    })

  const create = (name: string, copy: Fields): Stored => {
    const collection = collectionOf(name)
    const record: Stored = freezeDeep({ id: ++collection.lastId, ...copy })
    collection.records.push(record)
    collection.unique.add(record)
    collection.log?.add("create", record)
    return record
  }

  return RecordRepository.of({
    // Every list looks at the records one by one, so an index is of no use here.
    prepare: ({ name, unique, changes }) =>
      Effect.suspend(() => {
        const collection = collectionOf(name)
        const fields = makeMemoryUnique(unique)
        const broken = fields.addAll(collection.records)
        if (broken !== undefined)
          return Effect.fail(new StoreUnavailable({ store: MEMORY, reason: notUniqueYet(name, broken) }))
        collection.unique = fields
        if (changes) collection.log ??= makeMemoryLog(name)
        else delete collection.log
        return Effect.void
      }),
    list: (name, query) => Effect.succeed(listed(collectionOf(name).records, query)),
    get: (name, id) => {
      const { records } = collectionOf(name)
      return found(name, records[positionOf(records, id)])
    },
    create: (name, fields) =>
      Effect.suspend(() => {
        const copy = copyOf(fields)
        const taken = collectionOf(name).unique.taken(0, [copy])
        return taken === undefined
          ? Effect.succeed(create(name, copy))
          : Effect.fail(new NotUnique({ collection: name, field: taken.field }))
      }),
    createAll: (name, records, key) =>
      Effect.suspend((): Effect.Effect<Created, KeyReused | NotUnique> => {
        const known = key === undefined ? undefined : keys.find(name, key)
        if (known !== undefined) return known
        // All are copied before the first is stored: a value that cannot be copied leaves none.
        const copies = records.map(copyOf)
        const taken = collectionOf(name).unique.taken(0, copies)
        if (taken !== undefined) return Effect.fail(new NotUnique({ collection: name, ...taken }))
        const firstId = collectionOf(name).lastId + 1
        for (const copy of copies) create(name, copy)
        if (key !== undefined) keys.remember(name, key, firstId)
        return Effect.succeed({ firstId })
      }),
    replace: (name, id, expected, fields) =>
      change(name, id, expected, ({ records, log, unique }, position, before) => {
        const copy = copyOf(fields)
        const taken = unique.taken(id, [copy])
        if (taken !== undefined) return Result.fail(new NotUnique({ collection: name, field: taken.field }))
        const record: Stored = freezeDeep({ id, ...copy })
        records[position] = record
        unique.remove(before)
        unique.add(record)
        log?.add("replace", record)
        return Result.succeed(record)
      }),
    remove: (name, id, expected) =>
      change(name, id, expected, ({ records, log, unique }, position, record) => {
        records.splice(position, 1)
        unique.remove(record)
        log?.add("delete", { id })
        return Result.succeed(record)
      }),
    changes: (name, after) =>
      collectionOf(name).log?.follow(after) ??
      Effect.fail(new ChangesUnsupported({ collection: name, reason: "it was not prepared for that" })),
    count: (name, where = []) =>
      Effect.succeed(collectionOf(name).records.filter((record) => matches(record, where)).length),
    ready: Effect.void,
  })
})
