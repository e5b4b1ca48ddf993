// What every RecordRepository promises of creates of several records, and of creates with a key.
import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { type CreateKey, KEY_LIFE_MS, KEYS_MAX } from "../../domain/records/create_key.ts"
import { type Fields, RecordRepository } from "../../domain/records/record_repository.ts"
import type { RepositoryUnderTest } from "./record_repository.ts"

/** Longest that a promise may take: a real server on a machine under heavy load is slow. */
const PROMISE_MS = 60_000

/** Longest for thousands of creates. */
const MANY_MS = 300_000

type Repository = RecordRepository["Service"]

const ALL = { start: 0, limit: 1000 }
const NOW_MS = Date.UTC(2026, 5, 1)

const keyed = (key: string, more: Partial<CreateKey> = {}): CreateKey => ({
  caller: "alice",
  key,
  digest: "d1",
  atMs: NOW_MS,
  ...more,
})

const numbered = (count: number): ReadonlyArray<Fields> => Array.from({ length: count }, (_, at) => ({ at }))

const atOnce = <A, E>(effects: ReadonlyArray<Effect.Effect<A, E>>) => Effect.all(effects, { concurrency: "unbounded" })

let collections = 0

export const recordBatchesContract = (
  { name, layer, keeps }: RepositoryUnderTest,
  /** Whether thousands of creates with a key end in reasonable time. */
  { isQuick = true }: { readonly isQuick?: boolean } = {},
): void => {
  const opened = <A>(program: (repository: Repository) => Effect.Effect<A, unknown>): Promise<A> =>
    Effect.runPromise(Effect.provide(Effect.flatMap(RecordRepository, program), layer))

  const promises = (
    promise: string,
    program: (repository: Repository, collection: string) => Effect.Effect<unknown, unknown>,
  ): void => {
    const collection = `batched_${++collections}`
    test(promise, () => opened((repository) => Effect.asVoid(program(repository, collection))), PROMISE_MS)
  }

  describe(`RecordRepository, batches and keys: ${name}`, () => {
    promises("creates 1 to 1000 records with ids that follow each other", (repository, collection) =>
      Effect.gen(function* () {
        yield* repository.create(collection, { single: true })
        expect(yield* repository.createAll(collection, [{ at: "only" }])).toEqual({ firstId: 2 })
        expect(yield* repository.createAll(collection, numbered(1000))).toEqual({ firstId: 3 })
        expect((yield* repository.create(collection, {})).id).toBe(1003)
        expect(yield* repository.count(collection)).toBe(1003)
        expect<unknown>(yield* repository.list(collection, { start: 2, limit: 1000 })).toEqual(
          numbered(1000).map((fields, at) => ({ id: at + 3, ...fields })),
        )
      }),
    )

    promises("keeps no tie to the caller's fields", (repository, collection) =>
      Effect.gen(function* () {
        const fields = { tags: ["a"] }
        yield* repository.createAll(collection, [fields, fields])
        fields.tags.push("b")
        expect<unknown>(yield* repository.list(collection, ALL)).toEqual([
          { id: 1, tags: ["a"] },
          { id: 2, tags: ["a"] },
        ])
      }),
    )

    promises("mixes batches and single creates at once, each with ids of its own", (repository, collection) =>
      Effect.gen(function* () {
        const ids = yield* atOnce([
          ...numbered(8).map(() =>
            Effect.map(repository.createAll(collection, numbered(5)), ({ firstId }) =>
              Array.from({ length: 5 }, (_, at) => firstId + at),
            ),
          ),
          ...numbered(16).map((fields) => Effect.map(repository.create(collection, fields), ({ id }) => [id])),
        ])
        expect(ids.flat().toSorted((a, b) => a - b)).toEqual(Array.from({ length: 56 }, (_, at) => at + 1))
        expect(yield* repository.count(collection)).toBe(56)
      }),
    )

    promises("deletes and counts records of a batch like any other", (repository, collection) =>
      Effect.gen(function* () {
        yield* repository.createAll(collection, numbered(3))
        expect<unknown>(yield* repository.remove(collection, 2)).toEqual({ id: 2, at: 1 })
        expect(yield* repository.count(collection)).toBe(2)
        expect(yield* repository.createAll(collection, numbered(1))).toEqual({ firstId: 4 })
      }),
    )

    promises("makes nothing again for the same key, whatever became of the records", (repository, collection) =>
      Effect.gen(function* () {
        const first = yield* repository.createAll(collection, numbered(2), keyed("k"))
        expect(first).toEqual({ firstId: 1 })
        yield* repository.remove(collection, 1)
        const later = keyed("k", { atMs: NOW_MS + 1000 })
        expect(yield* repository.createAll(collection, numbered(2), later)).toEqual({
          firstId: 1,
          firstAtMs: NOW_MS,
        })
        expect(yield* repository.count(collection)).toBe(1)
      }),
    )

    promises("refuses the key for something else, and changes nothing", (repository, collection) =>
      Effect.gen(function* () {
        yield* repository.createAll(collection, numbered(1), keyed("k"))
        const refusal = yield* Effect.flip(
          repository.createAll(collection, numbered(2), keyed("k", { digest: "another" })),
        )
        expect(refusal).toMatchObject({ _tag: "KeyReused", collection })
        expect(yield* repository.count(collection)).toBe(1)
      }),
    )

    promises("tells keys of other callers, other collections and other words apart", (repository, collection) =>
      Effect.gen(function* () {
        yield* repository.createAll(collection, numbered(1), keyed("k"))
        yield* repository.createAll(collection, numbered(1), keyed("k", { caller: "bob", digest: "another" }))
        yield* repository.createAll(collection, numbered(1), keyed("K", { digest: "another" }))
        yield* repository.createAll(`${collection}_other`, numbered(1), keyed("k", { digest: "another" }))
        expect(yield* repository.count(collection)).toBe(3)
        expect(yield* repository.count(`${collection}_other`)).toBe(1)
      }),
    )

    promises("of 16 calls at once with one key makes one record", (repository, collection) =>
      Effect.gen(function* () {
        const calls = numbered(16).map(() =>
          Effect.result(repository.createAll(collection, [{ once: true }], keyed("k"))),
        )
        const results = yield* atOnce(calls)
        for (const each of results)
          if (each._tag === "Success") expect(each.success.firstId).toBe(1)
          else expect(each.failure._tag).toBe("KeyInUse")
        expect(results.some(({ _tag }) => _tag === "Success")).toBe(true)
        expect(yield* repository.createAll(collection, [{ once: true }], keyed("k"))).toMatchObject({ firstId: 1 })
        expect<unknown>(yield* repository.list(collection, ALL)).toEqual([{ id: 1, once: true }])
      }),
    )

    promises("remembers a key for its whole time, and not longer", (repository, collection) =>
      Effect.gen(function* () {
        const at = (atMs: number, digest = "d1") =>
          repository.createAll(collection, numbered(1), keyed("k", { atMs, digest }))
        yield* at(NOW_MS)
        expect(yield* at(NOW_MS + KEY_LIFE_MS - 1)).toEqual({ firstId: 1, firstAtMs: NOW_MS })
        expect(yield* at(NOW_MS + KEY_LIFE_MS, "another")).toEqual({ firstId: 2 })
        expect(yield* at(NOW_MS + KEY_LIFE_MS + 1, "another")).toEqual({ firstId: 2, firstAtMs: NOW_MS + KEY_LIFE_MS })
      }),
    )

    if (isQuick)
      test(
        "remembers the newest keys of a caller, and pushes nobody else's out",
        () =>
          opened((repository) =>
            Effect.gen(function* () {
              const collection = `batched_${++collections}`
              const create = (at: number, caller = "alice") =>
                repository.createAll(collection, [{}], keyed(`k${at}`, { caller, atMs: NOW_MS + at }))
              yield* create(0, "bob")
              // Keys are forgotten now and then: a few more than may be kept.
              yield* Effect.forEach(numbered(KEYS_MAX + 600), (_, at) => create(at), { concurrency: 500 })
              expect(yield* create(KEYS_MAX + 599)).toHaveProperty("firstAtMs")
              expect(yield* create(700)).toHaveProperty("firstAtMs")
              expect(yield* create(0, "bob")).toHaveProperty("firstAtMs")
              expect(yield* create(0)).not.toHaveProperty("firstAtMs")
            }),
          ),
        MANY_MS,
      )

    if (keeps)
      test(
        "remembers keys when it is opened again",
        async () => {
          const collection = `batched_${++collections}`
          await opened((repository) => repository.createAll(collection, numbered(3), keyed("k")))
          await opened((repository) =>
            Effect.gen(function* () {
              const again = yield* repository.createAll(collection, numbered(3), keyed("k"))
              expect(again).toEqual({ firstId: 1, firstAtMs: NOW_MS })
              expect(yield* repository.count(collection)).toBe(3)
            }),
          )
        },
        PROMISE_MS,
      )
  })
}
