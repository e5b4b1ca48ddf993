// What every RecordRepository promises of unique fields.
import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { type Fields, fieldsOf, RecordRepository } from "../../domain/records/record_repository.ts"
import type { UniqueField } from "../../domain/records/unique_fields.ts"
import type { RepositoryUnderTest } from "./record_repository.ts"

/** Longest that a promise may take: a real server on a machine under heavy load is slow. */
const PROMISE_MS = 60_000

type Repository = RecordRepository["Service"]

const CODE: UniqueField = { name: "code", kind: "text", nullable: false }
const NUMBER: UniqueField = { name: "größe-空白", kind: "number", nullable: false }

const atOnce = <A, E>(effects: ReadonlyArray<Effect.Effect<A, E>>) => Effect.all(effects, { concurrency: "unbounded" })

const prepare = (repository: Repository, name: string, unique: ReadonlyArray<UniqueField> = [CODE, NUMBER]) =>
  repository.prepare({ name, indexes: [], unique, changes: false })

let collections = 0

/** @param nullable false for a server that cannot keep a field unique that may be null */
export const uniqueFieldsContract = ({ name, layer }: RepositoryUnderTest, nullable = true): void => {
  const promises = (
    promise: string,
    program: (repository: Repository, collection: string) => Effect.Effect<unknown, unknown>,
  ): void => {
    const collection = `unique_${++collections}`
    test(
      promise,
      () =>
        Effect.runPromise(
          Effect.provide(
            Effect.flatMap(RecordRepository, (repository) => Effect.asVoid(program(repository, collection))),
            layer,
          ),
        ),
      PROMISE_MS,
    )
  }

  describe(`RecordRepository, unique fields: ${name}`, () => {
    promises("refuses a record with a value that another one has, and names the field", (repository, collection) =>
      Effect.gen(function* () {
        yield* prepare(repository, collection)
        yield* repository.create(collection, { code: "a", [NUMBER.name]: 1, other: "x" })
        for (const [fields, field] of [
          [{ code: "a" }, "code"],
          [{ code: "b", [NUMBER.name]: 1 }, NUMBER.name],
          [{ [NUMBER.name]: 1.0, other: "y" }, NUMBER.name],
        ] as const)
          expect(yield* Effect.flip(repository.create(collection, fields))).toMatchObject({
            _tag: "NotUnique",
            collection,
            field,
          })
        expect(yield* repository.count(collection)).toBe(1)
        // Another collection is another matter.
        yield* repository.create(`${collection}_other`, { code: "a" })
      }),
    )

    promises(
      "tells values apart by their characters, and takes any number of records without one",
      (repository, collection) =>
        Effect.gen(function* () {
          yield* prepare(repository, collection)
          const different = ["a", "A", "a ", "", "ä", "a\u0308", "$a", "a'; --", "{}", "*", "1"].map((code) => ({
            code,
          }))
          for (const fields of [...different, {}, {}, { other: 1 }]) yield* repository.create(collection, fields)
          for (const fields of different)
            expect((yield* Effect.flip(repository.create(collection, fields)))._tag).toBe("NotUnique")
          expect(yield* repository.count(collection)).toBe(different.length + 3)
        }),
    )

    if (nullable)
      promises("takes any number of records that are null there", (repository, collection) =>
        Effect.gen(function* () {
          yield* prepare(repository, collection, [{ ...CODE, nullable: true }])
          for (const code of [null, "a", null]) yield* repository.create(collection, { code })
          expect((yield* Effect.flip(repository.create(collection, { code: "a" })))._tag).toBe("NotUnique")
          expect(yield* repository.count(collection)).toBe(3)
        }),
      )
    else
      promises("says that this server cannot keep a field unique that may be null", (repository, collection) =>
        Effect.gen(function* () {
          const refusal = yield* Effect.flip(prepare(repository, collection, [{ ...CODE, nullable: true }]))
          expect(refusal.message).toContain(`collection '${collection}', field 'code'`)
        }),
      )

    promises("of creates at once, refuses those alone that break it", (repository, collection) =>
      Effect.gen(function* () {
        yield* prepare(repository, collection)
        yield* repository.create(collection, { code: "taken" })
        const codes = Array.from({ length: 48 }, (_, at) =>
          at % 3 === 0 ? "taken" : at % 3 === 1 ? "wanted" : `c${at}`,
        )
        const outcomes = yield* atOnce(codes.map((code) => Effect.result(repository.create(collection, { code }))))
        const created = outcomes.flatMap((each, at) => (each._tag === "Success" ? [codes[at]] : []))
        for (const each of outcomes)
          if (each._tag === "Failure") expect(each.failure).toMatchObject({ _tag: "NotUnique", field: "code" })
        expect(created.filter((code) => code === "wanted")).toHaveLength(1)
        expect(created.filter((code) => code?.startsWith("c"))).toHaveLength(16)
        expect(created).toHaveLength(17)
        expect(yield* repository.count(collection)).toBe(18)
      }),
    )

    promises("holds for replaced records, and frees what a record no longer has", (repository, collection) =>
      Effect.gen(function* () {
        yield* prepare(repository, collection)
        yield* repository.create(collection, { code: "a" })
        yield* repository.create(collection, { code: "b" })
        const replace = (id: number, fields: Fields) =>
          Effect.flatMap(repository.get(collection, id), (record) =>
            repository.replace(collection, id, fieldsOf(record), fields),
          )
        expect(yield* Effect.flip(replace(2, { code: "a" }))).toMatchObject({ _tag: "NotUnique", field: "code" })
        expect<unknown>(yield* repository.get(collection, 2)).toEqual({ id: 2, code: "b" })
        yield* replace(1, { code: "a", more: true })
        yield* replace(1, { code: "c" })
        yield* replace(2, { code: "a" })
        yield* repository.remove(collection, 1)
        yield* repository.create(collection, { code: "c" })
        yield* repository.create(collection, { code: "b" })
        expect(yield* repository.count(collection)).toBe(3)
      }),
    )

    promises("lets one of 16 have a value that all replace theirs by", (repository, collection) =>
      Effect.gen(function* () {
        yield* prepare(repository, collection)
        yield* Effect.forEach(Array.from({ length: 16 }), (_, at) => repository.create(collection, { code: `c${at}` }))
        const outcomes = yield* atOnce(
          Array.from({ length: 16 }, (_, at) =>
            Effect.result(repository.replace(collection, at + 1, { code: `c${at}` }, { code: "wanted" })),
          ),
        )
        expect(outcomes.filter((each) => each._tag === "Success")).toHaveLength(1)
        for (const each of outcomes)
          if (each._tag === "Failure") expect(each.failure).toMatchObject({ _tag: "NotUnique", field: "code" })
      }),
    )

    promises("creates all or none, and names the record", (repository, collection) =>
      Effect.gen(function* () {
        yield* prepare(repository, collection)
        yield* repository.create(collection, { code: "taken" })
        const key = { caller: "c", key: "k", digest: "d", atMs: Date.now() }
        for (const [codes, at] of [
          [["a", "b", "taken", "d"], 2],
          [["a", "b", "c", "b"], 3],
        ] as const) {
          const records = codes.map((code) => ({ code }))
          for (const call of [
            () => repository.createAll(collection, records),
            () => repository.createAll(collection, records, key),
          ])
            expect(yield* Effect.flip(call())).toMatchObject({ _tag: "NotUnique", field: "code", at })
          expect(yield* repository.count(collection)).toBe(1)
        }
        // A refused call leaves no key behind.
        yield* repository.createAll(collection, [{ code: "a" }, { code: "b" }], { ...key, digest: "another" })
        expect(yield* repository.count(collection)).toBe(3)
      }),
    )

    promises("is not prepared over records that break it, and is when they no longer do", (repository, collection) =>
      Effect.gen(function* () {
        for (const code of ["a", "b", "a"]) yield* repository.create(collection, { code })
        const refusal = yield* Effect.flip(prepare(repository, collection))
        expect(refusal._tag).toBe("StoreUnavailable")
        expect(refusal.message).toContain(`collection '${collection}', field 'code'`)
        yield* repository.remove(collection, 3)
        yield* prepare(repository, collection)
        yield* prepare(repository, collection)
        expect((yield* Effect.flip(repository.create(collection, { code: "a" })))._tag).toBe("NotUnique")
        // No longer declared, it no longer holds.
        yield* prepare(repository, collection, [])
        yield* repository.create(collection, { code: "a" })
        expect(yield* repository.count(collection)).toBe(3)
      }),
    )
  })
}
