// Random histories against a plain Map: whatever is asked, a repository answers as the model does.
import { deepEqual, equal } from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe } from "node:test"
import { Context, Effect, Layer } from "effect"
import fc from "fast-check"
import * as memory from "../../../adapters/driven/record_repository/memory.ts"
import * as sqlite from "../../../adapters/driven/record_repository/sqlite.ts"
import * as sqliteDatabase from "../../../adapters/driven/sqlite_database.ts"
import { type Fields, RecordRepository } from "../../../domain/records/record_repository.ts"
import { effectTest } from "../../support/effect_test.ts"

type Step =
  | { readonly do: "create"; readonly all: ReadonlyArray<Fields> }
  | { readonly do: "get" | "remove"; readonly id: number }
  | { readonly do: "list"; readonly start: number; readonly limit: number }

// Through JSON once: the values a client can send. An id is never among the fields.
const fields: fc.Arbitrary<Fields> = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })).map((value) => {
  const { id: _id, ...rest } = JSON.parse(JSON.stringify(value))
  return rest
})

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant("create"), all: fc.array(fields, { minLength: 1, maxLength: 4 }) }),
  fc.record({ do: fc.constantFrom("get", "remove"), id: fc.integer({ min: 1, max: 12 }) }),
  fc.record({ do: fc.constant("list"), start: fc.nat(8), limit: fc.nat(8) }),
)

type Outcome<A> = { readonly _tag: "Success"; readonly success: A } | { readonly _tag: "Failure" }

/** Runs one history over a collection that was never used. */
const follow = (repository: RecordRepository["Service"], collection: string, steps: ReadonlyArray<Step>) =>
  Effect.gen(function* () {
    const model = new Map<number, Fields>()
    let lastId = 0
    const expected = (id: number) => ({ id, ...model.get(id) })
    const matches = (outcome: Outcome<unknown>, id: number) => {
      equal(outcome._tag, model.has(id) ? "Success" : "Failure")
      if (outcome._tag === "Success") deepEqual(outcome.success, expected(id))
    }
    for (const now of steps) {
      switch (now.do) {
        case "create": {
          const created = yield* Effect.all(
            now.all.map((each) => repository.create(collection, each)),
            { concurrency: "unbounded" },
          )
          for (const each of now.all) model.set(++lastId, each)
          deepEqual(
            created,
            now.all.map((_, at) => expected(lastId - now.all.length + 1 + at)),
          )
          break
        }
        case "get":
          matches(yield* Effect.result(repository.get(collection, now.id)), now.id)
          break
        case "remove":
          matches(yield* Effect.result(repository.remove(collection, now.id)), now.id)
          model.delete(now.id)
          break
        case "list":
          deepEqual(
            yield* repository.list(collection, now),
            [...model.keys()].slice(now.start, now.start + now.limit).map(expected),
          )
      }
      equal(yield* repository.count(collection), model.size)
    }
  })

const folder = mkdtempSync(join(tmpdir(), "portolan-model-"))

describe("a RecordRepository answers like a Map", () => {
  after(() => rmSync(folder, { recursive: true }))

  for (const [name, layer] of [
    ["memory", memory.layer],
    ["sqlite", Layer.provide(sqlite.layer, sqliteDatabase.layer({ path: join(folder, "records.sqlite") }))],
  ] as const)
    effectTest(name, () =>
      Effect.gen(function* () {
        const repository = Context.get(yield* Layer.build(layer), RecordRepository)
        let histories = 0
        yield* Effect.promise(() =>
          fc.assert(
            fc.asyncProperty(fc.array(step, { maxLength: 20 }), (steps) =>
              Effect.runPromise(follow(repository, `history_${++histories}`, steps)),
            ),
            { numRuns: 50 },
          ),
        )
      }),
    )
})
