// Random histories against a plain array: whatever is asked, a repository answers as the model does. Two repositories
// share one store and take turns, so what one remembers is changed by the other; ids leap, so pages begin behind gaps.
import { deepEqual, equal } from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe } from "node:test"
import { Context, Effect, Layer, Result } from "effect"
import fc from "fast-check"
import * as memory from "../../../adapters/driven/record_repository/memory.ts"
import { remembering } from "../../../adapters/driven/record_repository/remembering.ts"
import * as sqlite from "../../../adapters/driven/record_repository/sqlite.ts"
import * as sqliteDatabase from "../../../adapters/driven/sqlite_database.ts"
import { type Fields, fieldsOf, RecordRepository, type Stored } from "../../../domain/records/record_repository.ts"
import { effectTest } from "../../support/effect_test.ts"

type Repository = RecordRepository["Service"]

type Step = { readonly by: number } & (
  | { readonly do: "create"; readonly all: ReadonlyArray<Fields> }
  | { readonly do: "get" | "remove"; readonly at: number }
  | { readonly do: "replace"; readonly at: number; readonly expected: "read" | "other"; readonly fields: Fields }
  | { readonly do: "list"; readonly start: number; readonly limit: number }
  | { readonly do: "leap"; readonly ids: number }
)

// Through JSON once: the values a client can send. An id is never among the fields.
const fields: fc.Arbitrary<Fields> = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })).map((value) => {
  const { id: _id, ...rest } = JSON.parse(JSON.stringify(value))
  return rest
})

const by = fc.nat(1)

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ by, do: fc.constant("create"), all: fc.array(fields, { minLength: 1, maxLength: 4 }) }),
  fc.record({ by, do: fc.constantFrom("get", "remove"), at: fc.nat(12) }),
  fc.record({
    by,
    do: fc.constant("replace"),
    at: fc.nat(12),
    expected: fc.constantFrom("read", "read", "other"),
    fields,
  }),
  fc.record({ by, do: fc.constant("list"), start: fc.nat(8), limit: fc.nat(8) }),
  fc.record({ by, do: fc.constant("leap"), ids: fc.integer({ min: 1, max: 5_000 }) }),
)

/** Two ways to one store, and a way to let ids leap, where the store has one. */
interface Shared {
  readonly both: readonly [Repository, Repository]
  /** @returns how many ids were left out */
  readonly leap: (collection: string, ids: number) => Effect.Effect<number, unknown>
}

const inMemory = Effect.map(Layer.build(memory.layer), (context): Shared => {
  const repository = Context.get(context, RecordRepository)
  return { both: [repository, repository], leap: () => Effect.succeed(0) }
})

const inFile = (path: string, remembers: boolean) =>
  Effect.gen(function* () {
    const open = Effect.map(
      Layer.build(Layer.fresh(Layer.provideMerge(sqlite.layer, sqliteDatabase.layer({ path })))),
      (context) => {
        const database = Context.get(context, sqliteDatabase.SqliteDatabase)
        const repository = Context.get(context, RecordRepository)
        return { database, repository: remembers ? remembering(repository, database.version) : repository }
      },
    )
    const [one, other] = [yield* open, yield* open]
    return {
      both: [one.repository, other.repository],
      leap: (collection, ids) =>
        one.database.write((db) => {
          db.prepare(
            `INSERT INTO collections (name, last_id, records) VALUES (?, ?, 0)
             ON CONFLICT (name) DO UPDATE SET last_id = last_id + excluded.last_id`,
          ).run(collection, ids)
          return ids
        }),
    } satisfies Shared
  })

/** Runs one history over a collection that was never used. */
const follow = ({ both, leap }: Shared, collection: string, steps: ReadonlyArray<Step>) =>
  Effect.gen(function* () {
    let model: ReadonlyArray<Stored> = []
    let lastId = 0
    for (const now of steps) {
      const repository = both[now.by === 0 ? 0 : 1]
      switch (now.do) {
        case "create": {
          const created = yield* Effect.all(
            now.all.map((each) => repository.create(collection, each)),
            { concurrency: "unbounded" },
          )
          const expected = now.all.map((each) => ({ id: ++lastId, ...each }))
          deepEqual(created, expected)
          model = [...model, ...expected]
          break
        }
        case "get":
        case "remove": {
          const record = model[now.at]
          const outcome = yield* Effect.result(repository[now.do](collection, record?.id ?? lastId + 1))
          deepEqual(outcome._tag === "Success" ? outcome.success : undefined, record)
          if (now.do === "remove") model = model.filter((each) => each !== record)
          break
        }
        case "replace": {
          const record = model[now.at]
          const read = record === undefined ? {} : fieldsOf(record)
          const expected = now.expected === "read" ? read : { ...read, "another field": 1 }
          const outcome = yield* Effect.result(
            repository.replace(collection, record?.id ?? lastId + 1, expected, now.fields),
          )
          if (record !== undefined && now.expected === "read") {
            const replaced = { id: record.id, ...now.fields }
            deepEqual(outcome, Result.succeed(replaced))
            model = model.with(now.at, replaced)
          } else
            equal(
              outcome._tag === "Failure" && outcome.failure._tag,
              record === undefined ? "RecordNotFound" : "RecordChanged",
            )
          break
        }
        case "list":
          deepEqual(yield* repository.list(collection, now), model.slice(now.start, now.start + now.limit))
          break
        case "leap":
          lastId += yield* leap(collection, now.ids)
      }
      for (const each of both) {
        equal(yield* each.count(collection), model.length)
        for (const start of [0, 1, model.length >> 1])
          deepEqual(yield* each.list(collection, { start, limit: 1000 }), model.slice(start))
      }
    }
  })

const folder = mkdtempSync(join(tmpdir(), "portolan-model-"))

describe("a RecordRepository answers like an array", () => {
  after(() => rmSync(folder, { recursive: true }))

  for (const [name, shared] of [
    ["memory", inMemory],
    ["sqlite", inFile(join(folder, "plain.sqlite"), false)],
    ["sqlite, remembering", inFile(join(folder, "remembering.sqlite"), true)],
  ] as const)
    effectTest(name, function* () {
      const store = yield* shared
      let histories = 0
      yield* Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(fc.array(step, { maxLength: 30 }), (steps) =>
            Effect.runPromise(follow(store, `history_${++histories}`, steps)),
          ),
          { numRuns: 60 },
        ),
      )
    })
})
