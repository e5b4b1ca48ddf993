// What a page of SQLite costs by how far behind it starts: median milliseconds for `start` of 10^3, 10^5 and 9*10^5 among
// 10^6 records, read as the service reads a page it does not remember. Usage: bun tests/bench/deep_pages.ts
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Context, Effect, Layer } from "effect"
import * as sqlite from "../../adapters/driven/record_repository/sqlite.ts"
import * as sqliteDatabase from "../../adapters/driven/sqlite_database.ts"
import { RecordRepository } from "../../domain/records/record_repository.ts"
import { median } from "./load.ts"

const RECORDS = 1_000_000
const STARTS = [1_000, 100_000, 900_000]
const ROUNDS = 200

const FILL = `
  INSERT INTO collections VALUES ('products', ${RECORDS}, ${RECORDS});
  WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < ${RECORDS})
    INSERT INTO records SELECT 'products', id, json_object('name', 'Anchor chain ' || id, 'price', id / 4.0) FROM n`

const measured = (repository: RecordRepository["Service"], limit: number, start: number): number =>
  median(
    Array.from({ length: ROUNDS }, () => {
      const startedAt = performance.now()
      Effect.runSync(repository.list("products", { start, limit }))
      return performance.now() - startedAt
    }),
  )

const folder = mkdtempSync(join(tmpdir(), "portolan-deep-"))
const program = Effect.gen(function* () {
  const database = sqliteDatabase.layer({ path: join(folder, "records.sqlite") })
  const context = yield* Layer.build(Layer.provideMerge(sqlite.layer, database))
  yield* Context.get(context, sqliteDatabase.SqliteDatabase).write((db) => db.exec(FILL))
  const repository = Context.get(context, RecordRepository)
  for (const limit of [1, 100, 1_000]) {
    const times = STARTS.map((start) => measured(repository, limit, start))
    const ratio = (times.at(-1) ?? 0) / (times[0] ?? 1)
    const texts = times.map((ms, at) => `start=${STARTS[at]} ${ms.toFixed(3)} ms`)
    process.stdout.write(`limit=${limit}: ${texts.join(", ")}; last to first ${ratio.toFixed(1)}\n`)
  }
})
await Effect.runPromise(Effect.scoped(program)).finally(() => rmSync(folder, { recursive: true }))
