// What every RecordRepository promises of changes: a record is replaced or removed as it was read, or not at all.
import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import Type from "typebox"
import { makeRecordService, makeRecordStore } from "../../application/records/record_service.ts"
import { defineCollection } from "../../domain/records/collection.ts"
import { type Fields, fieldsOf, RecordRepository, type Stored } from "../../domain/records/record_repository.ts"
import type { RepositoryUnderTest } from "./record_repository.ts"

/** Longest that a promise may take: a real server on a machine under heavy load is slow. */
const PROMISE_MS = 60_000

const ALL = { start: 0, limit: 1000 }

type Repository = RecordRepository["Service"]

/** Values that a comparison could take for something else: operators of no store, empty things, texts of other planes. */
const LANDMARKS: Fields = {
  text: 'Ångström 海图 🗺️ \t"quoted" \\ \'; -- * ? %',
  empty: "",
  nothing: null,
  none: {},
  list: [true, false, null, {}],
  numbers: [0, -1, 0.1, 5e-324, Number.MAX_VALUE, 2 ** 31, Number.MAX_SAFE_INTEGER],
  nested: { a: { b: [{ c: null }, { d: {} }] }, "1": 1, "0": 0 },
  "a key with 空白": { _id: 8, id: 7 },
}

const atOnce = <A, E>(effects: ReadonlyArray<Effect.Effect<A, E>>) => Effect.all(effects, { concurrency: "unbounded" })

const times = <A>(count: number, make: (at: number) => A): ReadonlyArray<A> =>
  Array.from({ length: count }, (_, at) => make(at))

let collections = 0

const counters = (name: string) =>
  defineCollection({ name, fields: Type.Object({ by: Type.String(), count: Type.Integer(), turns: Type.Integer() }) })

/** The use cases over one repository, with the record that all the callers of a test change. */
const shared = (repository: Repository, name: string) => {
  const collection = counters(name)
  const service = makeRecordService(collection, makeRecordStore(collection, repository))
  return Effect.map(service.create({ by: "nobody", count: 0, turns: 0 }), ({ id }) => ({ service, id }))
}

export const recordUpdatesContract = ({ name, layer, keeps }: RepositoryUnderTest): void => {
  const opened = <A>(program: (repository: Repository) => Effect.Effect<A, unknown>): Promise<A> =>
    Effect.runPromise(Effect.provide(Effect.flatMap(RecordRepository, program), layer))

  const promises = (
    promise: string,
    program: (repository: Repository, collection: string) => Effect.Effect<unknown, unknown>,
  ): void => {
    const collection = `changes_${++collections}`
    test(promise, () => opened((repository) => Effect.asVoid(program(repository, collection))), PROMISE_MS)
  }

  describe(`RecordRepository, changes: ${name}`, () => {
    promises("replaces a record, which keeps its id and its place", (repository, collection) =>
      Effect.gen(function* () {
        const created = yield* Effect.forEach([{ a: 1 }, { a: 2 }, { a: 3 }], (fields) =>
          repository.create(collection, fields),
        )
        const replaced = yield* repository.replace(collection, 2, { a: 2 }, LANDMARKS)
        expect(replaced).toStrictEqual({ id: 2, ...LANDMARKS })
        expect(yield* repository.get(collection, 2)).toStrictEqual(replaced)
        expect(yield* repository.list(collection, ALL)).toStrictEqual([
          created[0] as Stored,
          replaced,
          created[2] as Stored,
        ])
        expect(yield* repository.count(collection)).toBe(3)
        expect((yield* repository.create(collection, {})).id).toBe(4)
      }),
    )

    promises("knows every value again that it has stored", (repository, collection) =>
      Effect.gen(function* () {
        yield* repository.create(collection, LANDMARKS)
        for (const next of [{ ...LANDMARKS, more: [] }, {}, { a: {} }, LANDMARKS, LANDMARKS]) {
          const read = fieldsOf(yield* repository.get(collection, 1))
          expect<unknown>(yield* repository.replace(collection, 1, read, next)).toEqual({ id: 1, ...next })
        }
        expect<unknown>(yield* repository.remove(collection, 1, LANDMARKS)).toEqual({ id: 1, ...LANDMARKS })
      }),
    )

    promises("changes nothing that is not as expected, and nothing that is not there", (repository, collection) =>
      Effect.gen(function* () {
        const fields = { a: 1, b: { c: [1, 2], d: null } }
        const created = yield* repository.create(collection, fields)
        for (const expected of [
          {},
          { a: 1 },
          { ...fields, e: 1 },
          { ...fields, a: "1" },
          { ...fields, a: true },
          { ...fields, b: { c: [2, 1], d: null } },
          { ...fields, b: { c: [1, 2] } },
          { ...fields, b: { c: { $gt: 0 }, d: null } },
          { $exists: true },
        ])
          for (const change of [
            () => repository.replace(collection, 1, expected, { a: 2 }),
            () => repository.remove(collection, 1, expected),
          ])
            expect(yield* Effect.flip(change())).toMatchObject({ _tag: "RecordChanged", collection })
        for (const change of [
          () => repository.replace(collection, 2, fields, {}),
          () => repository.replace("never_written", 1, fields, {}),
          () => repository.remove(collection, 2, fields),
        ])
          expect((yield* Effect.flip(change()))._tag).toBe("RecordNotFound")
        expect<unknown>(yield* repository.list(collection, ALL)).toEqual([created])
        expect(yield* repository.count(collection)).toBe(1)
      }),
    )

    promises("keeps a record as it was replaced, whatever the caller does afterwards", (repository, collection) =>
      Effect.gen(function* () {
        yield* repository.create(collection, { tags: ["a"] })
        const fields = { tags: ["b"], deep: { list: [1] } }
        const replaced = yield* repository.replace(collection, 1, { tags: ["a"] }, fields)
        fields.tags.push("c")
        fields.deep.list.push(2)
        const kept = { id: 1, tags: ["b"], deep: { list: [1] } }
        expect<unknown>(replaced).toEqual(kept)
        expect<unknown>(yield* repository.get(collection, 1)).toEqual(kept)
      }),
    )

    promises("lets one of 32 win that replace the same state", (repository, collection) =>
      Effect.gen(function* () {
        yield* repository.create(collection, { by: -1 })
        for (let round = 0; round < 5; round++) {
          const read = fieldsOf(yield* repository.get(collection, 1))
          const outcomes = yield* atOnce(
            times(32, (by) => Effect.result(repository.replace(collection, 1, read, { round, by }))),
          )
          const winners = outcomes.flatMap((each) => (each._tag === "Success" ? [each.success] : []))
          expect(winners).toHaveLength(1)
          for (const each of outcomes)
            if (each._tag === "Failure") expect(each.failure).toMatchObject({ _tag: "RecordChanged", collection })
          expect(yield* repository.get(collection, 1)).toEqual(winners[0] as Stored)
        }
      }),
    )

    promises("lets one of 32 win that replace or remove the same state", (repository, collection) =>
      Effect.gen(function* () {
        for (let id = 1; id <= 5; id++) {
          yield* repository.create(collection, { at: id })
          const outcomes = yield* atOnce(
            times(32, (by) =>
              Effect.result(
                by % 2 === 0
                  ? repository.replace(collection, id, { at: id }, { by })
                  : repository.remove(collection, id, { at: id }),
              ),
            ),
          )
          const winners = outcomes.flatMap((each, by) => (each._tag === "Success" ? [by] : []))
          expect(winners).toHaveLength(1)
          const left = yield* Effect.result(repository.get(collection, id))
          const [by = 0] = winners
          if (by % 2 === 0) expect(left).toMatchObject({ _tag: "Success", success: { id, by } })
          else expect(left).toMatchObject({ _tag: "Failure", failure: { _tag: "RecordNotFound" } })
        }
      }),
    )

    promises("who wins: with a condition one of 24, and the others are told", (repository, collection) =>
      Effect.gen(function* () {
        const { service, id } = yield* shared(repository, collection)
        const outcomes = yield* atOnce(
          times(24, (at) =>
            Effect.result(
              service.replace(id, { by: `caller ${at}`, count: 1, turns: 1 }, (record) => record.by === "nobody"),
            ),
          ),
        )
        const winners = outcomes.flatMap((each) => (each._tag === "Success" ? [each.success] : []))
        expect(winners).toHaveLength(1)
        expect(
          outcomes.filter((each) => each._tag === "Failure" && each.failure._tag === "RecordChanged"),
        ).toHaveLength(23)
        expect<unknown>(yield* service.get(id)).toEqual(winners[0])
      }),
    )

    promises("who wins: without a condition all 24, one after the other", (repository, collection) =>
      Effect.gen(function* () {
        const { service, id } = yield* shared(repository, collection)
        const replaced = yield* atOnce(
          times(24, (at) => service.replace(id, { by: `caller ${at}`, count: at, turns: 0 })),
        )
        expect(replaced.map(({ count }) => count)).toEqual([...times(24, (at) => at)])
        expect(replaced.map(({ by }) => by)).toContain((yield* service.get(id)).by)
      }),
    )

    promises("who wins: patches of different fields at once all come to stay", (repository, collection) =>
      Effect.gen(function* () {
        const { service, id } = yield* shared(repository, collection)
        yield* atOnce([
          ...times(8, (at) => service.patch(id, { by: `caller ${at}` })),
          ...times(8, () => service.patch(id, { count: 5 })),
          ...times(8, () => service.patch(id, { turns: 7 })),
        ])
        expect(yield* service.get(id)).toMatchObject({ by: expect.stringMatching(/^caller \d$/), count: 5, turns: 7 })
      }),
    )

    promises("loses no step of 8 counters that read, add one and insist on what they read", (repository, collection) =>
      Effect.gen(function* () {
        const { service, id } = yield* shared(repository, collection)
        const step = Effect.gen(function* () {
          for (;;) {
            const read = yield* service.get(id)
            const next = { by: read.by, count: read.count + 1, turns: read.turns }
            const outcome = yield* Effect.result(service.replace(id, next, (now) => now.count === read.count))
            if (outcome._tag === "Success") return
            expect(outcome.failure._tag).toBe("RecordChanged")
          }
        })
        yield* atOnce(times(8, () => Effect.repeat(step, { times: 4 })))
        expect((yield* service.get(id)).count).toBe(40)
      }),
    )

    promises("a record that is removed while it is changed stays removed", (repository, collection) =>
      Effect.gen(function* () {
        const { service, id } = yield* shared(repository, collection)
        const outcomes = yield* atOnce([
          ...times(8, (at) => Effect.result(service.patch(id, { count: at }))),
          Effect.result(service.remove(id)),
          ...times(8, (at) => Effect.result(service.patch(id, { turns: at }))),
        ])
        const refused = outcomes.flatMap((each) => (each._tag === "Failure" ? [each.failure._tag] : []))
        expect(outcomes[8]?._tag).toBe("Success")
        expect(refused.every((tag) => tag === "RecordNotFound")).toBe(true)
        expect((yield* Effect.flip(service.get(id)))._tag).toBe("RecordNotFound")
        expect(yield* service.count()).toBe(0)
      }),
    )

    if (keeps)
      test(
        "keeps what a record was replaced by when it is opened again",
        async () => {
          const collection = `changes_${++collections}`
          await opened((repository) =>
            Effect.gen(function* () {
              yield* repository.create(collection, { at: 1 })
              yield* repository.replace(collection, 1, { at: 1 }, LANDMARKS)
            }),
          )
          await opened((repository) =>
            Effect.gen(function* () {
              expect<unknown>(yield* repository.get(collection, 1)).toEqual({ id: 1, ...LANDMARKS })
              yield* repository.replace(collection, 1, LANDMARKS, { at: 3 })
            }),
          )
        },
        PROMISE_MS,
      )
  })
}
