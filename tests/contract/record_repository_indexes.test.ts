// The indexes that a collection declares are made, kept, and dropped when they are no longer declared.
import { describe, expect, test } from "bun:test"
import { Context, Effect, Layer } from "effect"
import Type from "typebox"
import { MongoConnection } from "../../adapters/driven/mongo_connection.ts"
import * as mongo from "../../adapters/driven/record_repository/mongo.ts"
import { makeRecordStore } from "../../application/records/record_service.ts"
import { defineCollection } from "../../domain/records/collection.ts"
import { RecordRepository } from "../../domain/records/record_repository.ts"
import { ownDatabase } from "../support/mongo_database.ts"
import { MONGODB, realSuite } from "../support/real_servers.ts"
import { openFile, ownFolder, scoped } from "../support/sqlite_file.ts"

const chartsWith = (indexes: ReadonlyArray<string | ReadonlyArray<string>>) =>
  defineCollection({
    name: "charts",
    fields: Type.Object({ title: Type.String(), depth: Type.Number() }),
    indexes,
  })

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
          yield* run((db) => db.collection("charts").createIndex({ "fields.title": -1 }, { name: "of an operator" }))
          yield* makeRecordStore(chartsWith(["depth"]), repository).create({ title: "a", depth: 1 })
          expect((yield* keys).map(([name]) => name).toSorted()).toEqual(["_id_", "of an operator", "portolan:depth"])
        }),
      ),
    SERVER_MS,
  )
})
