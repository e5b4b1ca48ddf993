// What reading costs in SQLite by how many records there are and how far behind a page starts, as median milliseconds, read
// as the service reads a page it does not remember. Usage: bun tests/bench/deep_pages.ts
//
// First a get and a page of 100 by cursor, in the order of ids and in that of an indexed field, among 10^6 records and among
// 10^3: aims are within 1.5 times. Then pages by `start` of 10^3, 10^5 and 9*10^5 among 10^6 records. Last, lists that no
// index serves: they read every record, and nothing else runs meanwhile.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Context, Effect, Layer } from "effect"
import * as sqlite from "../../adapters/driven/record_repository/sqlite.ts"
import * as sqliteDatabase from "../../adapters/driven/sqlite_database.ts"
import { makeQuery, type WantedList } from "../../domain/records/list_query.ts"
import { products } from "../../domain/records/products.ts"
import { queryFieldsOf } from "../../domain/records/query_field.ts"
import { RecordRepository } from "../../domain/records/record_repository.ts"
import { storedShapeOf } from "../../domain/records/stored_shape.ts"
import { median } from "./load.ts"

const SIZES = [1_000, 1_000_000]
const STARTS = [1_000, 100_000, 900_000]
const ROUNDS = 400
const SCAN_ROUNDS = 5
const AIM = 1.5

const fill = (records: number): string => `
  INSERT INTO collections VALUES ('products', ${records}, ${records});
  WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < ${records})
    INSERT INTO records SELECT 'products', id,
      json_object('name', 'Anchor chain ' || id, 'price', (id * 7919 % ${records}) / 4.0) FROM n`

type Repository = RecordRepository["Service"]

const FIELDS = queryFieldsOf(products)
const list = (repository: Repository, wanted: WantedList) =>
  Effect.runSync(Effect.flatMap(makeQuery(wanted, FIELDS), (query) => repository.list("products", query)))

/** Calls take turns, so that what else runs on the machine falls on all of them. */
const medians = (calls: ReadonlyArray<() => unknown>, rounds: number): ReadonlyArray<number> => {
  const times = calls.map((): Array<number> => [])
  for (let round = 0; round < rounds; round++)
    for (const [at, call] of calls.entries()) {
      const startedAt = performance.now()
      call()
      times[at]?.push(performance.now() - startedAt)
    }
  return times.map(median)
}

const print = (line: string) => process.stdout.write(`${line}\n`)
const folder = mkdtempSync(join(tmpdir(), "portolan-deep-"))

const filled = Effect.fnUntraced(function* (records: number) {
  const database = sqliteDatabase.layer({ path: join(folder, `${records}.sqlite`) })
  const context = yield* Layer.build(Layer.fresh(Layer.provideMerge(sqlite.layer, database)))
  yield* Context.get(context, sqliteDatabase.SqliteDatabase).write((db) => db.exec(fill(records)))
  const repository = Context.get(context, RecordRepository)
  yield* repository.prepare(storedShapeOf({ ...products, indexes: ["price"] }))
  return { records, repository }
})

const program = Effect.gen(function* () {
  const stores = yield* Effect.forEach(SIZES, filled)
  const price = [{ field: "price" }]
  const reads: Readonly<Record<string, (records: number, repository: Repository) => unknown>> = {
    get: (records, repository) => Effect.runSync(repository.get("products", 1 + ((records * 0.618) | 0))),
    "page by cursor": (records, repository) => list(repository, { after: [records >> 1] }),
    "page by cursor, by price": (records, repository) =>
      list(repository, { order: price, after: [records / 8, records >> 1] }),
    "page by cursor, by falling price": (records, repository) =>
      list(repository, { order: [{ field: "price", descending: true }], after: [records / 8, records >> 1] }),
    "page of an indexed range": (records, repository) =>
      list(repository, { order: price, where: [{ field: "price", operator: "gte", value: records / 8 }] }),
  }
  for (const [name, read] of Object.entries(reads)) {
    const times = medians(
      stores.map(
        ({ records, repository }) =>
          () =>
            read(records, repository),
      ),
      ROUNDS,
    )
    const ratio = (times.at(-1) ?? 0) / (times[0] ?? 1)
    const texts = times.map((ms, at) => `among ${SIZES[at]} ${ms.toFixed(3)} ms`)
    print(`${name}: ${texts.join(", ")}; ${ratio.toFixed(2)} times, ${ratio <= AIM ? "held" : `SHORT of ${AIM}`}`)
  }

  const { repository } = stores.at(-1) ?? (yield* Effect.die("no store"))
  for (const limit of [1, 100, 1_000]) {
    const times = medians(
      STARTS.map((start) => () => list(repository, { start, limit })),
      ROUNDS / 2,
    )
    const ratio = (times.at(-1) ?? 0) / (times[0] ?? 1)
    const texts = times.map((ms, at) => `start=${STARTS[at]} ${ms.toFixed(3)} ms`)
    print(`limit=${limit}: ${texts.join(", ")}; last to first ${ratio.toFixed(1)}`)
  }

  const scans: Readonly<Record<string, WantedList>> = {
    "a filter that no index serves and nothing matches": {
      where: [{ field: "name", operator: "like", value: "*zzz*" }],
    },
    "an order that no index serves": { order: [{ field: "name" }] },
  }
  for (const [name, wanted] of Object.entries(scans)) {
    const [ms = 0] = medians([() => list(repository, wanted)], SCAN_ROUNDS)
    print(`${name}, among ${SIZES.at(-1)}: ${ms.toFixed(0)} ms`)
  }
})
await Effect.runPromise(Effect.scoped(program)).finally(() => rmSync(folder, { recursive: true }))
