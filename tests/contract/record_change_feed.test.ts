import { afterAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Context, Effect, Layer, Stream } from "effect"
import * as memory from "../../adapters/driven/record_repository/memory.ts"
import * as mongo from "../../adapters/driven/record_repository/mongo.ts"
import * as sqlite from "../../adapters/driven/record_repository/sqlite.ts"
import * as sqliteDatabase from "../../adapters/driven/sqlite_database.ts"
import { storeOf } from "../../bootstrap/store.ts"
import { RecordRepository } from "../../domain/records/record_repository.ts"
import { ownDatabase } from "../support/mongo_database.ts"
import { MONGODB, realSuite } from "../support/real_servers.ts"
import { recordChangesContract } from "./record_change_feed.ts"

const folder = mkdtempSync(join(tmpdir(), "portolan-changes-"))
afterAll(() => rmSync(folder, { recursive: true }))

const sqliteAt = (file: string) => Layer.provide(sqlite.layer, sqliteDatabase.layer({ path: join(folder, file) }))

recordChangesContract({ name: "memory", layer: memory.layer, keeps: false })
recordChangesContract({ name: "sqlite", layer: sqliteAt("changes.sqlite"), keeps: true })
recordChangesContract({
  name: "sqlite, as the service keeps it",
  layer: storeOf({ sqlite: join(folder, "remembered.sqlite") }),
  keeps: true,
})

describe("a SQLite file", () => {
  /** A repository of its own over the file, as another process has it. */
  const repositoryOver = (file: string) => Effect.map(Layer.build(sqliteAt(file)), Context.get(RecordRepository))

  test("tells what other processes write, also those that know nothing of the log, and replacements", () =>
    Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const file = "shared.sqlite"
          const [reader, writer] = [yield* repositoryOver(file), yield* repositoryOver(file)]
          yield* reader.prepare({ name: "charts", indexes: [], unique: [], changes: true })
          const { changes } = yield* reader.changes("charts", undefined)
          const { id } = yield* writer.create("charts", { name: "a" })
          yield* writer.create("others", { name: "of a collection without a log" })
          yield* Effect.sync(() => {
            using db = new DatabaseSync(join(folder, file))
            db.prepare("UPDATE records SET body = ? WHERE collection = 'charts'").run('{"name":"b"}')
            db.prepare("DELETE FROM records WHERE collection = 'charts'").run()
          })
          const told = yield* Stream.runCollect(Stream.take(changes, 3))
          expect<unknown>(told.map(({ kind, record }) => [kind, record])).toEqual([
            ["create", { id, name: "a" }],
            ["replace", { id, name: "b" }],
            ["delete", { id }],
          ])
        }),
      ),
    ))

  test("has neither triggers nor rows for a collection without a log", () =>
    Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const file = "bare.sqlite"
          const repository = yield* repositoryOver(file)
          for (const changes of [true, false]) {
            yield* repository.prepare({ name: "charts", indexes: [], unique: [], changes })
            yield* repository.create("charts", { name: "a" })
          }
          using db = new DatabaseSync(join(folder, file))
          const left = db.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE name LIKE 'changes:%'").get()
          const rows = db
            .prepare("SELECT (SELECT count(*) FROM changes) + (SELECT count(*) FROM change_logs) AS n")
            .get()
          expect([left?.["n"], rows?.["n"]]).toEqual([0, 0])
        }),
      ),
    ))
})

realSuite(MONGODB, "a server without change streams", (server) => {
  test.skipIf(server.atomicUpdates)("is said to have none", () =>
    Effect.runPromise(
      Effect.gen(function* () {
        const repository = yield* RecordRepository
        yield* repository.prepare({ name: "charts", indexes: [], unique: [], changes: true })
        const refused = yield* Effect.flip(Effect.scoped(repository.changes("charts", undefined)))
        expect(refused._tag).toBe("ChangesUnsupported")
      }).pipe(
        Effect.provide(
          Layer.provide(mongo.layer({ singleWriter: !server.atomicUpdates }), ownDatabase(server, "changes")),
        ),
      ),
    ),
  )
})
