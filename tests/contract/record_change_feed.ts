// What every RecordRepository that keeps a log of changes promises about it.
import { describe, expect, test } from "bun:test"
import { Effect, Exit, Fiber, type Layer, Scope, Stream } from "effect"
import { CHANGES_KEPT, type Change } from "../../domain/records/change.ts"
import { RecordRepository, type Stored } from "../../domain/records/record_repository.ts"
import type { StoreUnavailable } from "../../domain/store_unavailable.ts"

export interface ChangesUnderTest {
  readonly name: string
  /** Built anew for each test, over one store: every test has a collection of its own. */
  readonly layer: Layer.Layer<RecordRepository, StoreUnavailable>
  /** The log outlives the layer. */
  readonly keeps: boolean
}

/** Longest that a promise may take: ten thousand writes on a machine under heavy load are slow. */
const PROMISE_MS = 120_000

type Repository = RecordRepository["Service"]

let collections = 0

const prepared = (repository: Repository, name: string, changes = true) =>
  repository.prepare({ name, indexes: [], unique: [], changes })

/** The next changes after a position, which must be there, or be made by another fiber. */
const taken = (repository: Repository, collection: string, after: string | undefined, count: number) =>
  Effect.scoped(
    Effect.flatMap(repository.changes(collection, after), ({ changes }) =>
      Stream.runCollect(Stream.take(changes, count)),
    ),
  )

/** Where the log ends now. */
const endOf = (repository: Repository, collection: string) =>
  Effect.scoped(Effect.map(repository.changes(collection, undefined), ({ position }) => position))

const tagOf = (program: Effect.Effect<unknown, { readonly _tag: string }>) =>
  Effect.map(Effect.flip(program), ({ _tag }) => _tag)

const shown = ({ kind, record }: Change<Stored>) => [kind, record] as const

const createMany = (repository: Repository, collection: string, count: number) =>
  Effect.forEach(
    Array.from({ length: count }, (_, at) => ({ at })),
    (fields) => repository.create(collection, fields),
    { concurrency: 500, discard: true },
  )

export const recordChangesContract = ({ name, layer, keeps }: ChangesUnderTest): void => {
  const opened = <A>(program: (repository: Repository) => Effect.Effect<A, unknown>): Promise<A> =>
    Effect.runPromise(Effect.provide(Effect.flatMap(RecordRepository, program), layer))

  const promises = (
    promise: string,
    program: (repository: Repository, collection: string) => Effect.Effect<unknown, unknown>,
  ): void => {
    const collection = `changing_${++collections}`
    test(promise, () => opened((repository) => Effect.asVoid(program(repository, collection))), PROMISE_MS)
  }

  describe(`changes of records: ${name}`, () => {
    promises(
      "tells creates and deletes in the order of the writes, and nothing from before",
      (repository, collection) =>
        Effect.gen(function* () {
          yield* prepared(repository, collection)
          yield* repository.create(collection, { name: "before" })
          const start = yield* endOf(repository, collection)
          const first = yield* repository.create(collection, { name: "a", nested: { list: [1, null] } })
          const second = yield* repository.create(collection, { name: "b" })
          yield* repository.remove(collection, first.id)
          const changes = yield* taken(repository, collection, start, 3)
          expect(changes.map(shown)).toEqual([
            ["create", first],
            ["create", second],
            ["delete", { id: first.id }],
          ])
        }),
    )

    promises("tells a replaced record as it is now, and nothing of a refused change", (repository, collection) =>
      Effect.gen(function* () {
        yield* prepared(repository, collection)
        const start = yield* endOf(repository, collection)
        const created = yield* repository.create(collection, { name: "a" })
        yield* Effect.flip(repository.replace(collection, created.id, { name: "other" }, { name: "lost" }))
        yield* Effect.flip(repository.remove(collection, created.id, { name: "other" }))
        const replaced = yield* repository.replace(collection, created.id, { name: "a" }, { name: "b", more: [1] })
        yield* repository.remove(collection, created.id, { name: "b", more: [1] })
        expect((yield* taken(repository, collection, start, 3)).map(shown)).toEqual([
          ["create", created],
          ["replace", replaced],
          ["delete", { id: created.id }],
        ])
      }),
    )

    promises("goes on after any position with exactly the rest", (repository, collection) =>
      Effect.gen(function* () {
        yield* prepared(repository, collection)
        const start = yield* endOf(repository, collection)
        // More than one look takes out of the log.
        yield* createMany(repository, collection, 120)
        const all = yield* taken(repository, collection, start, 120)
        expect(new Set(all.map(({ position }) => position)).size).toBe(120)
        for (const at of [0, 1, 49, 50, 51, 118]) {
          const rest = yield* taken(repository, collection, all[at]?.position, 119 - at)
          expect(rest).toEqual(all.slice(at + 1))
        }
      }),
    )

    promises("tells what is written while somebody follows, each write once", (repository, collection) =>
      Effect.gen(function* () {
        yield* prepared(repository, collection)
        const start = yield* endOf(repository, collection)
        const following = yield* Effect.forkChild(taken(repository, collection, start, 300))
        for (let round = 0; round < 10; round++) {
          yield* createMany(repository, collection, 30)
          yield* Effect.sleep("20 millis")
        }
        const changes = yield* Fiber.join(following)
        expect(changes.map(({ record }) => record.id)).toEqual(Array.from({ length: 300 }, (_, at) => at + 1))
      }),
    )

    promises("tells every record of a batch, in its order", (repository, collection) =>
      Effect.gen(function* () {
        yield* prepared(repository, collection)
        const start = yield* endOf(repository, collection)
        yield* repository.create(collection, { name: "before" })
        const { firstId } = yield* repository.createAll(collection, [{ name: "a" }, { name: "b" }])
        expect((yield* taken(repository, collection, start, 3)).map(shown)).toEqual([
          ["create", { id: 1, name: "before" }],
          ["create", { id: firstId, name: "a" }],
          ["create", { id: firstId + 1, name: "b" }],
        ])
      }),
    )

    promises("tells nothing of a write that was refused", (repository, collection) =>
      Effect.gen(function* () {
        yield* prepared(repository, collection)
        const start = yield* endOf(repository, collection)
        expect(yield* tagOf(repository.remove(collection, 77))).toBe("RecordNotFound")
        const record = yield* repository.create(collection, { name: "a" })
        expect((yield* taken(repository, collection, start, 1)).map(shown)).toEqual([["create", record]])
      }),
    )

    promises("refuses a position that is none of its log", (repository, collection) =>
      Effect.gen(function* () {
        yield* prepared(repository, collection)
        yield* prepared(repository, `${collection}_other`)
        yield* repository.create(collection, { name: "a" })
        yield* repository.create(`${collection}_other`, { name: "a" })
        const end = yield* endOf(repository, collection)
        const other = yield* endOf(repository, `${collection}_other`)
        const [log = "", number = ""] = end.split(".")
        for (const position of [
          other,
          `${log}.${Number(number) + 1}`,
          `${log}.-1`,
          `${log}.01`,
          log,
          "",
          "x",
          "' OR 1=1 --",
        ])
          expect([position, yield* tagOf(Effect.scoped(repository.changes(collection, position)))]).toEqual([
            position,
            "PositionGone",
          ])
      }),
    )

    promises("keeps so many changes, and refuses who comes later", (repository, collection) =>
      Effect.gen(function* () {
        yield* prepared(repository, collection)
        const scope = yield* Scope.make()
        const left = yield* Scope.provide(repository.changes(collection, undefined), scope)
        yield* createMany(repository, collection, 5)
        const oldest = yield* endOf(repository, collection)
        yield* createMany(repository, collection, CHANGES_KEPT)
        const changes = yield* taken(repository, collection, oldest, CHANGES_KEPT)
        expect(changes.map(({ record }) => record.id)).toEqual(Array.from({ length: CHANGES_KEPT }, (_, at) => at + 6))
        expect(yield* tagOf(Effect.scoped(repository.changes(collection, left.position)))).toBe("PositionGone")
        // Who follows but does not read is left behind too, and told so.
        expect(yield* tagOf(Stream.runDrain(left.changes))).toBe("PositionGone")
        yield* Scope.close(scope, Exit.void)
      }),
    )

    promises(
      "keeps no log unless the collection declares it, and drops the one that it no longer declares",
      (repository, collection) =>
        Effect.gen(function* () {
          const changes = (after?: string) => tagOf(Effect.scoped(repository.changes(collection, after)))
          yield* prepared(repository, collection, false)
          expect(yield* changes()).toBe("ChangesUnsupported")
          yield* prepared(repository, collection)
          const position = yield* endOf(repository, collection)
          yield* prepared(repository, collection)
          expect(yield* endOf(repository, collection)).toBe(position)
          yield* prepared(repository, collection, false)
          yield* repository.create(collection, { name: "nobody is told" })
          expect(yield* changes()).toBe("ChangesUnsupported")
          yield* prepared(repository, collection)
          expect(yield* changes(position)).toBe("PositionGone")
        }),
    )

    test(
      keeps
        ? "goes on where it was after the store was opened again"
        : "refuses a position from before it was opened again",
      async () => {
        const collection = `changing_${++collections}`
        const position = await opened((repository) =>
          Effect.gen(function* () {
            yield* prepared(repository, collection)
            const start = yield* endOf(repository, collection)
            yield* repository.create(collection, { name: "a" })
            return start
          }),
        )
        await opened((repository) =>
          Effect.gen(function* () {
            yield* prepared(repository, collection)
            if (keeps) {
              const [change] = yield* taken(repository, collection, position, 1)
              expect(change?.record).toEqual({ id: 1, name: "a" })
            } else expect(yield* tagOf(Effect.scoped(repository.changes(collection, position)))).toBe("PositionGone")
          }),
        )
      },
      PROMISE_MS,
    )
  })
}
