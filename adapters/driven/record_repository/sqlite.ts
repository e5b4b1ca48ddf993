import { Effect, Layer } from "effect"
import { RecordNotFound } from "../../../domain/records/errors.ts"
import type { Page } from "../../../domain/records/page.ts"
import { RecordRepository, type Stored } from "../../../domain/records/record_repository.ts"
import { SqliteDatabase } from "../sqlite_database.ts"
import { RecordCache } from "./record_cache.ts"
import { decodeRecord, encodeFields } from "./stored_record.ts"

// `last_id` only grows, so no id comes back after a delete; above 2^53-1 the CHECK refuses the create.
const TABLES = `
  CREATE TABLE IF NOT EXISTS collections (
    name TEXT PRIMARY KEY,
    last_id INTEGER NOT NULL CHECK (last_id <= ${Number.MAX_SAFE_INTEGER}),
    records INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS records (
    collection TEXT NOT NULL,
    id INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (collection, id)
  ) STRICT, WITHOUT ROWID`

const found = (collection: string) => (record: Stored | undefined) =>
  record === undefined ? Effect.fail(new RecordNotFound({ collection })) : Effect.succeed(record)

/**
 * Records in SQLite: durable on return, group committed, ids from a sequence in the same transaction.
 *
 * Reads are answered from memory where possible. What is remembered is dropped as soon as the file's version says that
 * anybody else wrote; our own writes keep it right, at once, because nobody else runs between a write and its COMMIT.
 *
 * @fails {StoreUnavailable} when the tables cannot be made
 */
export const layer = Layer.effect(
  RecordRepository,
  Effect.gen(function* () {
    const database = yield* SqliteDatabase
    yield* database.write((db) => db.exec(TABLES))
    const sql = yield* database.read((db) => ({
      mint: db.prepare(
        `INSERT INTO collections (name, last_id, records) VALUES (?, 1, 1)
         ON CONFLICT (name) DO UPDATE SET last_id = last_id + 1, records = records + 1 RETURNING last_id`,
      ),
      insert: db.prepare("INSERT INTO records (collection, id, body) VALUES (?, ?, ?)"),
      get: db.prepare("SELECT body FROM records WHERE collection = ? AND id = ?"),
      list: db.prepare("SELECT id, body FROM records WHERE collection = ? ORDER BY id LIMIT ? OFFSET ?"),
      remove: db.prepare("DELETE FROM records WHERE collection = ? AND id = ? RETURNING body"),
      uncount: db.prepare("UPDATE collections SET records = records - 1 WHERE name = ?"),
      count: db.prepare("SELECT records FROM collections WHERE name = ?"),
      ping: db.prepare("SELECT 1 FROM collections LIMIT 1"),
    }))

    const cache = new RecordCache()
    let cachedVersion = 0
    /** Reads ask this first. Writes need not: what they note in a stale cache is dropped with it. */
    const dropWhatIsStale = (): void => {
      const version = database.version()
      if (version !== cachedVersion) cache.clear()
      cachedVersion = version
    }

    const remembered = (collection: string, id: number): Stored | undefined => {
      dropWhatIsStale()
      return cache.of(collection).record(id)
    }

    const rememberedPage = (collection: string, page: Page): ReadonlyArray<Stored> | undefined => {
      dropWhatIsStale()
      return cache.of(collection).page(page)
    }

    /** A file that cannot be looked at is for `get` and `list` to report. */
    const quietly =
      <K, A>(look: (collection: string, key: K) => A) =>
      (collection: string, key: K): A | undefined => {
        try {
          return look(collection, key)
        } catch {
          return undefined
        }
      }

    const get = (collection: string, id: number): Stored | undefined => {
      const known = remembered(collection, id)
      if (known !== undefined) return known
      const body = sql.get.get(collection, id)?.["body"] as string | undefined
      if (body === undefined) return undefined
      const record = decodeRecord(id, body)
      cache.of(collection).keep(record, body.length)
      return record
    }

    const list = (collection: string, page: Page): ReadonlyArray<Stored> => {
      const known = rememberedPage(collection, page)
      if (known !== undefined) return known
      const rows = sql.list.all(collection, page.limit, page.start) as Array<{ id: number; body: string }>
      const records = Object.freeze(rows.map((row) => decodeRecord(row.id, row.body)))
      const length = rows.reduce((sum, row) => sum + row.body.length, 0)
      cache.of(collection).keepPage(page, records, length)
      return records
    }

    const create = (collection: string, body: string): Stored => {
      const id = sql.mint.get(collection)?.["last_id"] as number
      sql.insert.run(collection, id, body)
      const record = decodeRecord(id, body)
      cache.of(collection).keep(record, body.length)
      cache.of(collection).forgetPages()
      return record
    }

    const remove = (collection: string, id: number): Stored | undefined => {
      const body = sql.remove.get(collection, id)?.["body"] as string | undefined
      if (body === undefined) return undefined
      sql.uncount.run(collection)
      cache.of(collection).forget(id)
      cache.of(collection).forgetPages()
      return decodeRecord(id, body)
    }

    const count = (collection: string): number => (sql.count.get(collection)?.["records"] as number | undefined) ?? 0

    return RecordRepository.of({
      list: (collection, page) => database.read(() => list(collection, page)),
      recall: quietly(remembered),
      recallPage: quietly(rememberedPage),
      get: (collection, id) =>
        Effect.flatMap(
          database.read(() => get(collection, id)),
          found(collection),
        ),
      create: (collection, fields) =>
        Effect.suspend(() => {
          const body = encodeFields(fields)
          return database.write(() => create(collection, body))
        }),
      remove: (collection, id) =>
        Effect.flatMap(
          database.write(() => remove(collection, id)),
          found(collection),
        ),
      count: (collection) => database.read(() => count(collection)),
      ping: Effect.asVoid(database.read(() => sql.ping.get())),
    })
  }),
)
