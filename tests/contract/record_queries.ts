// What every RecordRepository promises of lists with conditions, orders and positions: what a plain array would answer.
import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import fc from "fast-check"
import { makeQuery, makeWhere, type WantedList } from "../../domain/records/list_query.ts"
import { ID_ORDER, type Place, placeOf } from "../../domain/records/query.ts"
import { type Fields, RecordRepository, type Stored } from "../../domain/records/record_repository.ts"
import { storedShapeOf } from "../../domain/records/stored_shape.ts"
import { arraySays, CHART_FIELDS, CHART_INDEXES, chart, KNOWN_FIELDS, list, TEXTS } from "../support/record_queries.ts"
import type { RepositoryUnderTest } from "./record_repository.ts"

type Repository = RecordRepository["Service"]

const PROMISE_MS = 120_000

let collections = 0

const idsOf = (records: ReadonlyArray<Stored>): ReadonlyArray<number> => records.map(({ id }) => id)

/** Reads a list as the service does. */
const read = (repository: Repository, collection: string, wanted: WantedList) =>
  Effect.gen(function* () {
    const query = yield* makeQuery(wanted, KNOWN_FIELDS)
    const records = yield* repository.list(collection, query)
    const last = records.at(-1)
    const next = last === undefined ? undefined : placeOf(last, query.order ?? ID_ORDER)
    return { records, next }
  })

/** All pages of a list, one position after the other. `between` runs after each page. */
const walk = (
  repository: Repository,
  collection: string,
  { start: _start, ...wanted }: WantedList,
  limit: number,
  between: Effect.Effect<unknown, unknown> = Effect.void,
) =>
  Effect.gen(function* () {
    const walked: Array<Stored> = []
    let after: Place | undefined
    for (;;) {
      const page: WantedList = { ...wanted, limit, ...(after === undefined ? {} : { after }) }
      const { records, next } = yield* read(repository, collection, page)
      walked.push(...records)
      yield* between
      if (records.length < limit || next === undefined) return walked
      after = next
    }
  })

export const recordQueriesContract = (
  { name, layer }: RepositoryUnderTest,
  { runs, leavesOutOtherKinds = false }: { readonly runs: number; readonly leavesOutOtherKinds?: boolean },
): void => {
  const promises = (
    promise: string,
    program: (repository: Repository, collection: string) => Effect.Effect<unknown, unknown>,
  ): void => {
    const collection = `queried_${++collections}`
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
  const createAll = (repository: Repository, collection: string, all: ReadonlyArray<Fields>) =>
    Effect.forEach(all, (fields) => repository.create(collection, fields), { concurrency: "unbounded" })
  const prepare = (repository: Repository, collection: string, indexed: boolean) =>
    repository.prepare(storedShapeOf({ name: collection, fields: CHART_FIELDS, indexes: indexed ? CHART_INDEXES : [] }))
  const always = <A>(
    arbitrary: fc.Arbitrary<A>,
    property: (value: A) => Effect.Effect<unknown, unknown>,
    times = runs,
  ) =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(arbitrary, (value) => Effect.runPromise(Effect.asVoid(property(value)))),
        { numRuns: times },
      ),
    )

  describe(`RecordRepository, queried: ${name}`, () => {
    for (const indexed of [false, true])
      promises(`answers as a plain array does, ${indexed ? "with" : "without"} indexes`, (repository, collection) =>
        Effect.gen(function* () {
          yield* prepare(repository, collection, indexed)
          const records: Array<Stored> = []
          for (let part = 0; part < 3; part++) {
            records.push(...(yield* createAll(repository, collection, fc.sample(chart, 15))))
            records.sort((one, other) => one.id - other.id)
            yield* always(list, (wanted) =>
              Effect.gen(function* () {
                const all = arraySays(records, wanted)
                const { start = 0, limit = 100 } = wanted
                expect(idsOf((yield* read(repository, collection, wanted)).records)).toEqual(
                  idsOf(all.slice(start, start + limit)),
                )
                expect(idsOf(yield* walk(repository, collection, wanted, 4))).toEqual(idsOf(all))
                const where = yield* makeWhere(wanted.where ?? [], KNOWN_FIELDS)
                expect(yield* repository.count(collection, where)).toBe(all.length)
              }),
            )
          }
        }),
      )

    promises("takes every text for itself, alone and in a pattern", (repository, collection) =>
      Effect.gen(function* () {
        const records = yield* createAll(
          repository,
          collection,
          TEXTS.map((name) => ({ name })),
        )
        for (const text of TEXTS) {
          const itself = text.replace(/[\\*]/g, "\\$&")
          for (const condition of [
            { field: "name", operator: "eq", value: text },
            ...[itself, `${itself}*`, `*${itself}`, `*${itself}*`, `a*${itself}*`].map(
              (value) => ({ field: "name", operator: "like", value }) as const,
            ),
          ] as const) {
            const wanted = { where: [condition] }
            const expected = idsOf(arraySays(records, wanted)).toSorted((one, other) => one - other)
            expect([condition, idsOf((yield* read(repository, collection, wanted)).records)]).toEqual([
              condition,
              expected,
            ])
          }
        }
      }),
    )

    promises("gives the whole record, whatever it was found by", (repository, collection) =>
      Effect.gen(function* () {
        const fields = { name: "a", "größe-2": 136192545729044600, sold: true, tags: ["x"], deep: { id: 1 } }
        const created = yield* repository.create(collection, fields)
        for (const field of ["name", "größe-2", "sold"] as const) {
          const where = [{ field, operator: "eq", value: fields[field] }] as const
          const { records } = yield* read(repository, collection, { where, order: [{ field }] })
          expect(records).toStrictEqual([created])
        }
      }),
    )

    promises("a walk under random writes shows every untouched record exactly once", (repository, name) =>
      Effect.gen(function* () {
        let histories = 0
        yield* always(
          fc.tuple(list, fc.array(chart, { minLength: 8, maxLength: 24 }), fc.infiniteStream(fc.nat(99))),
          ([wanted, first, luck]) =>
            Effect.gen(function* () {
              const collection = `${name}_${++histories}`
              yield* prepare(repository, collection, true)
              const before = yield* createAll(repository, collection, first)
              const touched = new Set<number>()
              let pages = 0
              const write = Effect.gen(function* () {
                // What is created on and on is never walked to its end.
                if (++pages > 10) return
                const [victim, choice] = [before[(luck.next().value ?? 0) % before.length], luck.next().value ?? 0]
                if (victim !== undefined && !touched.has(victim.id) && choice < 60) {
                  touched.add(victim.id)
                  yield* repository.remove(collection, victim.id)
                }
                yield* createAll(repository, collection, fc.sample(chart, choice % 3))
              })
              const walked = idsOf(yield* walk(repository, collection, wanted, 3, write))
              expect(new Set(walked).size).toBe(walked.length)
              const untouched = before.filter(({ id }) => !touched.has(id))
              const expected = idsOf(arraySays(untouched, wanted))
              expect(walked.filter((id) => untouched.some((each) => each.id === id))).toEqual([...expected])
            }),
          Math.ceil(runs / 4),
        )
      }),
    )

    promises("a value of another kind, left from an earlier schema, is no value", (repository, collection) =>
      Effect.gen(function* () {
        const others: ReadonlyArray<unknown> = ["5", true, { a: 5 }]
        const fields = others.map((value) => ({ "größe-2": value, name: value === "5" ? 5 : value }))
        yield* createAll(repository, collection, [{ "größe-2": 5, name: "5" }, ...fields, {}])
        const found = (wanted: WantedList) => Effect.map(walk(repository, collection, wanted, 2), idsOf)
        for (const operator of ["eq", "gte", "lte"] as const)
          expect(yield* found({ where: [{ field: "größe-2", operator, value: 5 }] })).toEqual([1])
        for (const operator of ["neq", "gt", "lt"] as const)
          expect(yield* found({ where: [{ field: "name", operator, value: "5" }] })).toEqual([])
        expect(yield* found({ where: [{ field: "name", operator: "like", value: "*" }] })).toEqual([1])
        const none = leavesOutOtherKinds ? [5] : [2, 3, 4, 5]
        expect(yield* found({ where: [{ field: "name", operator: "is", value: null }] })).toEqual(none)
        for (const field of ["name", "größe-2"]) {
          expect(yield* found({ order: [{ field }] })).toEqual([...none, 1])
          expect(yield* found({ order: [{ field, descending: true }] })).toEqual([1, ...none.toReversed()])
        }
      }),
    )
  })
}
