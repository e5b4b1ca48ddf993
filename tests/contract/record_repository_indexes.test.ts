// The indexes that a collection declares are made, kept, and dropped when they are no longer declared.
import { describe, expect, test } from "bun:test"
import type { DatabaseSync } from "node:sqlite"
import { Context, Effect, Layer } from "effect"
import Type from "typebox"
import { MongoConnection } from "../../adapters/driven/mongo_connection.ts"
import * as mongo from "../../adapters/driven/record_repository/mongo.ts"
import { recordsOf } from "../../adapters/driven/record_repository/mongo_creates.ts"
import { listOf } from "../../adapters/driven/record_repository/mongo_query.ts"
import { listSql } from "../../adapters/driven/record_repository/sqlite_query.ts"
import { makeRecordStore } from "../../application/records/record_service.ts"
import { defineCollection } from "../../domain/records/collection.ts"
import { makeQuery, type WantedList } from "../../domain/records/list_query.ts"
import { queryFieldsOf } from "../../domain/records/query_field.ts"
import { RecordRepository } from "../../domain/records/record_repository.ts"
import { ownDatabase } from "../support/mongo_database.ts"
import { MONGODB, realSuite } from "../support/real_servers.ts"
import { openFile, ownFolder, scoped } from "../support/sqlite_file.ts"

const CHARTS = Type.Object({ title: Type.String(), depth: Type.Number() })

const chartsWith = (indexes: ReadonlyArray<string | ReadonlyArray<string>>) =>
  defineCollection({ name: "charts", fields: CHARTS, indexes })

const SERVER_MS = 60_000

const { newPath } = ownFolder()

describe("indexes in SQLite", () => {
  test("are there after the first use, and gone when they are no longer declared", () =>
    scoped(
      Effect.gen(function* () {
        const { repository, database } = yield* openFile(newPath())
        const names = () =>
          database.read((db) =>
            db
              .prepare("SELECT name FROM sqlite_schema WHERE type = 'index' AND name LIKE 'records:%' ORDER BY name")
              .all()
              .map(({ name }) => name),
          )
        yield* repository.prepare({
          name: "charts2",
          indexes: [{ fields: [{ name: "x", kind: "text" }] }],
          unique: [],
          changes: false,
        })
        const others = yield* names()
        expect(others).toHaveLength(1)
        const store = makeRecordStore(chartsWith(["depth", ["title", "depth"]]), repository)
        expect(yield* names()).toEqual(others)
        yield* store.create({ title: "a", depth: 1 })
        expect(yield* names()).toEqual([
          "records:charts2:x text",
          "records:charts:depth number",
          "records:charts:title text,depth number",
        ])
        yield* makeRecordStore(chartsWith(["depth"]), repository).count()
        expect(yield* names()).toEqual(["records:charts2:x text", "records:charts:depth number"])
        yield* makeRecordStore(chartsWith([]), repository).prepare
        expect(yield* names()).toEqual(others)
      }),
    ))
})

const INDEXED: ReadonlyArray<readonly [list: WantedList, index: string]> = [
  [{ where: [{ field: "depth", operator: "eq", value: 5 }] }, "depth"],
  [{ where: [{ field: "depth", operator: "in", value: [1, 2] }] }, "depth"],
  [{ where: [{ field: "depth", operator: "is", value: null }] }, "depth"],
  [
    {
      where: [
        { field: "depth", operator: "gte", value: 5 },
        { field: "depth", operator: "lt", value: 6 },
      ],
    },
    "depth",
  ],
  [{ where: [{ field: "title", operator: "eq", value: "a" }] }, "title,depth"],
  [{ where: [{ field: "title", operator: "like", value: "abc*" }] }, "title,depth"],
  [{ order: [{ field: "depth" }] }, "depth"],
  [{ order: [{ field: "depth", descending: true }] }, "depth"],
  [{ order: [{ field: "title" }, { field: "depth" }] }, "title,depth"],
  [{ order: [{ field: "depth" }], where: [{ field: "title", operator: "neq", value: "a" }] }, "depth"],
  [{ order: [{ field: "depth" }], after: [5, 7] }, "depth"],
  [{ order: [{ field: "depth", descending: true }], after: [5, 7] }, "depth"],
  [{ order: [{ field: "depth", descending: true }], after: [null, 7] }, "depth"],
  [{ order: [{ field: "title" }, { field: "depth" }], after: ["a", 5, 7] }, "title,depth"],
]

const queryOf = (wanted: WantedList) => Effect.runSync(makeQuery(wanted, queryFieldsOf({ fields: CHARTS })))

describe("SQLite uses a declared index", () => {
  /** How SQLite says it would run each statement of a list. */
  const plansOf = (db: DatabaseSync, wanted: WantedList): ReadonlyArray<string> =>
    listSql("charts", queryOf(wanted)).map(({ text, values }) =>
      db
        .prepare(`EXPLAIN QUERY PLAN ${text}`)
        .all(...values, 100, 0)
        .map(({ detail }) => detail)
        .join("; "),
    )

  for (const records of [0, 3_000])
    test(`among ${records} records, for what each of these asks`, () =>
      scoped(
        Effect.gen(function* () {
          const { repository, database } = yield* openFile(newPath())
          yield* database.write((db) =>
            db
              .prepare(
                `WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < ?)
                 INSERT INTO records SELECT 'charts', id, json_object('title', 'a' || id, 'depth', id % 7) FROM n`,
              )
              .run(records),
          )
          yield* makeRecordStore(chartsWith(["depth", ["title", "depth"]]), repository).prepare
          yield* database.read((db) => {
            for (const [wanted, index] of INDEXED) {
              const plans = plansOf(db, wanted)
              const name = index === "depth" ? "depth number" : "title text,depth number"
              for (const plan of plans)
                expect([JSON.stringify(wanted), plan]).toEqual([
                  JSON.stringify(wanted),
                  expect.stringContaining(`USING INDEX records:charts:${name} `),
                ])
              // What comes in the order of the index is not sorted once more.
              if (wanted.order !== undefined && wanted.after === undefined)
                expect(plans.join()).not.toContain("TEMP B-TREE")
            }
            expect(plansOf(db, { where: [{ field: "title", operator: "like", value: "*x" }] }).join()).toContain(
              "PRIMARY KEY",
            )
            expect(plansOf(db, { order: [{ field: "id" }], after: [7] })).toEqual([
              "SEARCH records USING PRIMARY KEY (collection=? AND id>?)",
            ])
          })
        }),
      ))
})

realSuite(MONGODB, "indexes in MongoDB", (server) => {
  const database = ownDatabase(server, "indexes")
  const layer = Layer.provideMerge(mongo.layer({ singleWriter: !server.atomicUpdates }), database)

  test(
    "are there after the first use, and gone when they are no longer declared; an operator's own stays",
    () =>
      scoped(
        Effect.gen(function* () {
          const context = yield* Layer.build(layer)
          const { run } = Context.get(context, MongoConnection)
          const repository = Context.get(context, RecordRepository)
          const keys = run(async (db) =>
            (await db.collection("charts").listIndexes().toArray()).map(({ name, key }) => [name, key]),
          )
          yield* makeRecordStore(chartsWith(["depth", ["title", "depth"]]), repository).prepare
          expect<unknown>(yield* keys).toEqual([
            ["_id_", { _id: 1 }],
            ["portolan:depth", { "fields.depth": 1, _id: 1 }],
            ["portolan:title,depth", { "fields.title": 1, "fields.depth": 1, _id: 1 }],
          ])
          const plans = yield* run((db) =>
            Promise.all(
              INDEXED.map(async ([wanted, index]) => {
                const { filters, sort } = listOf(queryOf(wanted))
                const explained = await recordsOf(db, "charts")
                  .find(filters.at(-1) ?? {}, { sort })
                  .explain()
                return [index, explained["queryPlanner"]] as const
              }),
            ),
          )
          for (const [index, planner] of plans) {
            // A server that explains no plan of its own (FerretDB 1 looks at every document) only shows that it takes the query.
            expect(planner).toBeDefined()
            if (planner.winningPlan !== undefined)
              expect(JSON.stringify(planner.winningPlan)).toContain(`portolan:${index}"`)
          }
          yield* run((db) => db.collection("charts").createIndex({ "fields.title": -1 }, { name: "of an operator" }))
          yield* makeRecordStore(chartsWith(["depth"]), repository).create({ title: "a", depth: 1 })
          expect((yield* keys).map(([name]) => name).toSorted()).toEqual(["_id_", "of an operator", "portolan:depth"])
        }),
      ),
    SERVER_MS,
  )
})
