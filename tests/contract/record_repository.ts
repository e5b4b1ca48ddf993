// What every RecordRepository promises, whatever it keeps records in.
import { describe, expect, test } from "bun:test"
import { Effect, type Layer } from "effect"
import type { RecordsError } from "../../domain/records/errors.ts"
import type { Page } from "../../domain/records/page.ts"
import { type Fields, RecordRepository, type Stored } from "../../domain/records/record_repository.ts"
import type { StoreUnavailable } from "../../domain/store_unavailable.ts"

export interface RepositoryUnderTest {
  readonly name: string
  /** Built anew for each test, over one store: every test has a collection of its own. */
  readonly layer: Layer.Layer<RecordRepository, StoreUnavailable>
  /** Records outlive the layer. */
  readonly keeps: boolean
}

/** Longest that a promise may take: a real server on a machine under heavy load is slow. */
const PROMISE_MS = 60_000

type Repository = RecordRepository["Service"]

const ALL: Page = { start: 0, limit: 1000 }

const LANDMARKS: Fields = {
  text: 'Ångström 海图 🗺️ \t"quoted" \\ \u2028 e\u0301',
  empty: "",
  truth: [true, false, null],
  numbers: [0, 1, -1, 0.1, 1.5, 5e-324, Number.MAX_VALUE, -Number.MAX_VALUE],
  integers: [2 ** 31 - 1, 2 ** 31, -(2 ** 31) - 1, 2 ** 32, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER],
  nested: { a: { b: { c: [{ d: [] }, {}] } } },
  "a key with 空白 and 🗺️": { _id: 8, id: 7, length: 0, toString: "x" },
}

const numbered = (count: number): ReadonlyArray<Fields> => Array.from({ length: count }, (_, at) => ({ at }))

const idsOf = (records: ReadonlyArray<Stored>): ReadonlyArray<number> => records.map(({ id }) => id)

const isAscending = (ids: ReadonlyArray<number>): boolean => ids.every((id, at) => at === 0 || id > (ids[at - 1] ?? id))

const atOnce = <A, E>(effects: ReadonlyArray<Effect.Effect<A, E>>) => Effect.all(effects, { concurrency: "unbounded" })

const createAll = (repository: Repository, collection: string, count: number) =>
  Effect.forEach(numbered(count), (fields) => repository.create(collection, fields))

let collections = 0

export const recordRepositoryContract = ({ name, layer, keeps }: RepositoryUnderTest): void => {
  /** One program in a newly built layer. */
  const opened = <A>(program: (repository: Repository) => Effect.Effect<A, unknown>): Promise<A> =>
    Effect.runPromise(Effect.provide(Effect.flatMap(RecordRepository, program), layer))

  const promises = (
    promise: string,
    program: (repository: Repository, collection: string) => Effect.Effect<unknown, unknown>,
  ): void => {
    const collection = `collection_${++collections}`
    test(promise, () => opened((repository) => Effect.asVoid(program(repository, collection))), PROMISE_MS)
  }

  describe(`RecordRepository: ${name}`, () => {
    promises("assigns ids from 1, strictly increasing, for each collection", (repository, collection) =>
      Effect.gen(function* () {
        expect(idsOf(yield* createAll(repository, collection, 3))).toEqual([1, 2, 3])
        expect((yield* repository.create(`${collection}_other`, {})).id).toBe(1)
        expect((yield* repository.create(collection, {})).id).toBe(4)
      }),
    )

    promises("gives back every value as it came, at any depth", (repository, collection) =>
      Effect.gen(function* () {
        const created = yield* repository.create(collection, LANDMARKS)
        const expected = { id: 1, ...LANDMARKS }
        expect(created).toStrictEqual(expected)
        expect(yield* repository.get(collection, 1)).toStrictEqual(expected)
        expect(yield* repository.list(collection, ALL)).toStrictEqual([expected])
        expect(JSON.stringify(yield* repository.get(collection, 1))).toBe(JSON.stringify(expected))
      }),
    )

    promises(
      "keeps a record as it was created, whatever the caller does to the fields afterwards",
      (repository, collection) =>
        Effect.gen(function* () {
          const fields = { tags: ["a"], deep: { list: [{ x: 1 }] } }
          const created = yield* repository.create(collection, fields)
          fields.tags.push("b")
          fields.deep.list.push({ x: 2 })
          const kept = { id: 1, tags: ["a"], deep: { list: [{ x: 1 }] } }
          expect<unknown>(created).toEqual(kept)
          expect<unknown>(yield* repository.get(collection, 1)).toEqual(kept)
          expect<unknown>(yield* repository.list(collection, ALL)).toEqual([kept])
        }),
    )

    promises("refuses get and remove of what is not there, and changes nothing", (repository, collection) =>
      Effect.gen(function* () {
        yield* createAll(repository, collection, 2)
        for (const id of [3, 2 ** 31, Number.MAX_SAFE_INTEGER])
          for (const operation of [repository.get, repository.remove]) {
            const refusal = yield* Effect.flip(operation(collection, id))
            expect(refusal).toMatchObject({ _tag: "RecordNotFound", collection })
          }
        expect((yield* Effect.flip(repository.get("never_written", 1)))._tag).toBe("RecordNotFound")
        expect(yield* repository.count(collection)).toBe(2)
      }),
    )

    promises("removes one record, once, and returns it", (repository, collection) =>
      Effect.gen(function* () {
        const created = yield* createAll(repository, collection, 3)
        expect<unknown>(yield* repository.remove(collection, 2)).toEqual(created[1])
        expect((yield* Effect.flip(repository.get(collection, 2)))._tag).toBe("RecordNotFound")
        expect((yield* Effect.flip(repository.remove(collection, 2)))._tag).toBe("RecordNotFound")
        expect<unknown>(yield* repository.list(collection, ALL)).toEqual([created[0], created[2]])
        expect(yield* repository.count(collection)).toBe(2)
      }),
    )

    promises("never gives an id out again after a delete", (repository, collection) =>
      Effect.gen(function* () {
        yield* createAll(repository, collection, 2)
        for (const id of [2, 1]) yield* repository.remove(collection, id)
        expect((yield* repository.create(collection, {})).id).toBe(3)
      }),
    )

    promises("gives 64 creates at once 64 distinct increasing ids", (repository, collection) =>
      Effect.gen(function* () {
        const created = yield* atOnce(numbered(64).map((fields) => repository.create(collection, fields)))
        const listed = yield* repository.list(collection, ALL)
        expect(new Set(idsOf(created)).size).toBe(64)
        expect(isAscending(idsOf(listed))).toBe(true)
        expect<unknown>(listed).toEqual(created.toSorted((a, b) => a.id - b.id))
        expect((yield* repository.create(collection, {})).id).toBeGreaterThan(Math.max(...idsOf(created)))
      }),
    )

    promises("lets one of 16 concurrent deletes win", (repository, collection) =>
      Effect.gen(function* () {
        yield* createAll(repository, collection, 3)
        const exits = yield* atOnce(Array.from({ length: 16 }, () => Effect.result(repository.remove(collection, 2))))
        const winners = exits.filter((exit) => exit._tag === "Success")
        expect(winners).toHaveLength(1)
        expect(winners[0]?.success).toMatchObject({ id: 2, at: 1 })
        expect(yield* repository.count(collection)).toBe(2)
      }),
    )

    promises("counts exactly while records come and go at once", (repository, collection) =>
      Effect.gen(function* () {
        yield* createAll(repository, collection, 10)
        yield* atOnce<unknown, RecordsError>([
          ...numbered(10).map((fields) => repository.create(collection, fields)),
          ...[1, 3, 5].map((id) => repository.remove(collection, id)),
        ])
        expect(yield* repository.count(collection)).toBe(17)
        expect(yield* repository.list(collection, ALL)).toHaveLength(17)
        expect(yield* repository.count("never_written")).toBe(0)
      }),
    )

    promises("shows each record once in a walk by start and limit", (repository, collection) =>
      Effect.gen(function* () {
        yield* createAll(repository, collection, 11)
        yield* repository.remove(collection, 4)
        const ids = idsOf(yield* repository.list(collection, ALL))
        expect(ids).toEqual([1, 2, 3, 5, 6, 7, 8, 9, 10, 11])
        for (const limit of [1, 3, 5, 10, 1000]) {
          const walked: Array<number> = []
          for (let start = 0; start < ids.length; start += limit)
            walked.push(...idsOf(yield* repository.list(collection, { start, limit })))
          expect(walked).toEqual([...ids])
        }
      }),
    )

    promises("takes limit 0 for none, and gives none past the end", (repository, collection) =>
      Effect.gen(function* () {
        yield* createAll(repository, collection, 3)
        expect(yield* repository.list(collection, { start: 0, limit: 0 })).toEqual([])
        for (const start of [3, 4, 2 ** 31, Number.MAX_SAFE_INTEGER])
          expect(yield* repository.list(collection, { start, limit: 1000 })).toEqual([])
        expect(yield* repository.list("never_written", ALL)).toEqual([])
      }),
    )

    promises("reads anew at every call, and creates whenever the program runs", (repository, collection) =>
      Effect.gen(function* () {
        const create = repository.create(collection, {})
        expect(yield* repository.list(collection, ALL)).toHaveLength(0)
        yield* create
        yield* create
        expect(yield* repository.list(collection, ALL)).toHaveLength(2)
        expect(yield* repository.count(collection)).toBe(2)
      }),
    )

    promises("is prepared over records that are there, again, and for other indexes", (repository, collection) =>
      Effect.gen(function* () {
        const fields = [
          { name: "at", kind: "number" },
          { name: "größe-空白", kind: "text" },
          { name: "sold", kind: "flag" },
        ] as const
        const created = yield* repository.create(collection, { at: 1, "größe-空白": "x", sold: true })
        for (const indexes of [[{ fields }], [{ fields }], [], fields.map((field) => ({ fields: [field] })), []]) {
          yield* repository.prepare({ name: collection, indexes, unique: [], changes: false })
          expect(yield* repository.get(collection, created.id)).toEqual(created)
          yield* repository.create(collection, { at: "1", "größe-空白": [1], sold: null })
        }
        expect(yield* repository.count(collection)).toBe(6)
      }),
    )

    promises("is ready, and shows nothing of how it found out", (repository, collection) =>
      Effect.gen(function* () {
        yield* createAll(repository, collection, 2)
        for (let time = 0; time < 3; time++) yield* repository.ready
        expect(yield* repository.count(collection)).toBe(2)
        expect((yield* repository.create(collection, {})).id).toBe(3)
      }),
    )

    if (keeps)
      test(
        "keeps records and the last id when it is opened again",
        async () => {
          const collection = `collection_${++collections}`
          await opened((repository) =>
            Effect.andThen(createAll(repository, collection, 3), repository.remove(collection, 3)),
          )
          await opened((repository) =>
            Effect.gen(function* () {
              expect(idsOf(yield* repository.list(collection, ALL))).toEqual([1, 2])
              expect(yield* repository.count(collection)).toBe(2)
              expect((yield* repository.create(collection, {})).id).toBe(4)
            }),
          )
        },
        PROMISE_MS,
      )
  })
}
