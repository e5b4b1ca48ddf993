import type { DatabaseSync } from "node:sqlite"
import { Effect, Layer, Result } from "effect"
import type { Created, CreateKey } from "../../../domain/records/create_key.ts"
import { KeyReused, NotUnique, RecordNotFound } from "../../../domain/records/errors.ts"
import type { Page } from "../../../domain/records/page.ts"
import { type Condition, isPlainPage, type Query } from "../../../domain/records/query.ts"
import { expectRecord, type Fields, RecordRepository, type Stored } from "../../../domain/records/record_repository.ts"
import { notUniqueYet } from "../../../domain/records/unique_fields.ts"
import { SqliteDatabase } from "../sqlite_database.ts"
import { CHANGE_TABLES, makeSqliteChanges, prepareChanges } from "./sqlite_change_log.ts"
import { prepareIndexes } from "./sqlite_indexes.ts"
import { KEY_TABLES, sqliteKeys } from "./sqlite_keys.ts"
import { countSql, listSql } from "./sqlite_query.ts"
import { makeUniqueFields } from "./sqlite_unique.ts"

/**
 * Ids that share one row of `record_blocks`. A list passes over one row for each block before its page, and over at most
 * this many records: with 2048, 0.05 ms more at the 900,000th record than at the 1,000th.
 */
const BLOCK_IDS = 2048

// `last_id` only grows, so no id comes back after a delete; above 2^53-1 the CHECK refuses the create.
// `record_blocks` counts the records of each block of ids. Triggers keep it true for every program that writes to the
// file, and a file that was made before it had this table is counted once.
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
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS record_blocks (
    collection TEXT NOT NULL,
    block INTEGER NOT NULL,
    records INTEGER NOT NULL,
    PRIMARY KEY (collection, block)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO record_blocks SELECT collection, id / ${BLOCK_IDS}, count(*) FROM records
    WHERE NOT EXISTS (SELECT 1 FROM record_blocks) GROUP BY 1, 2;
  CREATE TRIGGER IF NOT EXISTS record_created AFTER INSERT ON records BEGIN
    INSERT INTO record_blocks VALUES (new.collection, new.id / ${BLOCK_IDS}, 1)
      ON CONFLICT (collection, block) DO UPDATE SET records = records + 1;
  END;
  CREATE TRIGGER IF NOT EXISTS record_removed AFTER DELETE ON records BEGIN
    UPDATE record_blocks SET records = records - 1
      WHERE collection = old.collection AND block = old.id / ${BLOCK_IDS};
    DELETE FROM record_blocks
      WHERE collection = old.collection AND block = old.id / ${BLOCK_IDS} AND records = 0;
  END;`

/** Where readiness creates and deletes. No record collection can have this name: theirs hold no dot. */
const PROBE = "portolan.probe"

const decodeRecord = (id: number, body: string): Stored => ({ id, ...JSON.parse(body) })

const found = (collection: string) => (record: Stored | undefined) =>
  record === undefined ? Effect.fail(new RecordNotFound({ collection })) : Effect.succeed(record)

/**
 * Records in SQLite: durable on return, group committed, ids from a sequence in the same transaction.
 *
 * @fails {StoreUnavailable} when the tables cannot be made
 */
export const layer = Layer.effect(
  RecordRepository,
  Effect.gen(function* () {
    const database = yield* SqliteDatabase
    yield* database.write((db) => db.exec(TABLES + KEY_TABLES + CHANGE_TABLES))
    const sql = yield* database.read((db) => ({
      mint: db.prepare(
        `INSERT INTO collections (name, last_id, records) VALUES (?, 1, 1)
         ON CONFLICT (name) DO UPDATE SET last_id = last_id + 1, records = records + 1 RETURNING last_id`,
      ),
      insert: db.prepare("INSERT INTO records (collection, id, body) VALUES (?, ?, ?)"),
      get: db.prepare("SELECT body FROM records WHERE collection = ? AND id = ?"),
      blocks: db.prepare("SELECT block, records FROM record_blocks WHERE collection = ? ORDER BY block"),
      list: db.prepare("SELECT id, body FROM records WHERE collection = ? AND id >= ? ORDER BY id LIMIT ? OFFSET ?"),
      replace: db.prepare("UPDATE records SET body = ? WHERE collection = ? AND id = ?"),
      remove: db.prepare("DELETE FROM records WHERE collection = ? AND id = ?"),
      uncount: db.prepare("UPDATE collections SET records = records - 1 WHERE name = ?"),
      count: db.prepare("SELECT records FROM collections WHERE name = ?"),
    }))
    const keys = yield* database.read(sqliteKeys)
    const unique = makeUniqueFields()

    const get = (collection: string, id: number): Stored | undefined => {
      const body = sql.get.get(collection, id)?.["body"] as string | undefined
      return body === undefined ? undefined : decodeRecord(id, body)
    }

    const list = (collection: string, { start, limit }: Page): ReadonlyArray<Stored> => {
      const blocks = sql.blocks.iterate(collection) as Iterable<{ block: number; records: number }>
      let skip = start
      for (const { block, records } of blocks) {
        if (skip < records) {
          // The walk over the blocks is still open, so both statements see one state of the file (sqlite.org/isolation.html).
          const rows = sql.list.all(collection, block * BLOCK_IDS, limit, skip) as Array<{ id: number; body: string }>
          return rows.map((row) => decodeRecord(row.id, row.body))
        }
        skip -= records
      }
      return []
    }

    /** The records of a query that is not a plain page, range by range until the page is full. */
    const query = (db: DatabaseSync, collection: string, wanted: Query): ReadonlyArray<Stored> => {
      const records: Array<Stored> = []
      for (const { text, values } of listSql(collection, wanted)) {
        if (records.length === wanted.limit) break
        const rows = db.prepare(text).all(...values, wanted.limit - records.length, wanted.start)
        records.push(...rows.map((row) => decodeRecord(row["id"] as number, row["body"] as string)))
      }
      return records
    }

    const create = (collection: string, body: string): Stored => {
      const id = sql.mint.get(collection)?.["last_id"] as number
      sql.insert.run(collection, id, body)
      return decodeRecord(id, body)
    }

    /** One transaction holds the records and the key, so that a crash leaves both or neither. */
    const createAll = (
      collection: string,
      records: ReadonlyArray<Fields>,
      bodies: ReadonlyArray<string>,
      key?: CreateKey,
    ): Result.Result<Created, KeyReused | NotUnique> => {
      const known = key === undefined ? undefined : keys.find(collection, key)
      if (known !== undefined)
        return known === "reused" ? Result.fail(new KeyReused({ collection })) : Result.succeed(known)
      const taken = unique.taken(collection, 0, records)
      if (taken !== undefined) return Result.fail(new NotUnique({ collection, ...taken }))
      const [firstId = 0] = bodies.map((body) => create(collection, body).id)
      if (key !== undefined) keys.remember(collection, key, firstId)
      return Result.succeed({ firstId })
    }

    const remove = (collection: string, id: number): void => {
      sql.remove.run(collection, id)
      sql.uncount.run(collection)
    }

    /** Reads the record and changes it, if it is what is expected: nobody else writes to the file between the two. */
    const change = <E = never>(
      collection: string,
      id: number,
      expected: Fields | undefined,
      work: (record: Stored) => Result.Result<Stored, E>,
    ) =>
      Effect.flatMap(
        database.write(() => Result.flatMap(expectRecord(collection, get(collection, id), expected), work)),
        Effect.fromResult,
      )

    const count = (db: DatabaseSync, collection: string, where: ReadonlyArray<Condition>): number => {
      const { text, values } = countSql(collection, where)
      const counted = where.length === 0 ? sql.count.get(collection) : db.prepare(text).get(...values)
      return (counted?.["records"] as number | undefined) ?? 0
    }

    return RecordRepository.of({
      prepare: (shape) =>
        Effect.flatMap(
          database.write((db) => {
            const broken = unique.prepare(db, shape)
            if (broken !== undefined) return notUniqueYet(shape.name, broken.name)
            prepareIndexes(db, shape)
            prepareChanges(db, shape)
            return undefined
          }),
          (reason) => (reason === undefined ? Effect.void : database.refuse(reason)),
        ),
      list: (collection, wanted) =>
        database.read((db) => (isPlainPage(wanted) ? list(collection, wanted) : query(db, collection, wanted))),
      get: (collection, id) =>
        Effect.flatMapEager(
          database.read(() => get(collection, id)),
          found(collection),
        ),
      create: (collection, fields) => {
        const body = JSON.stringify(fields)
        return Effect.flatMap(
          database.write(() => {
            const taken = unique.taken(collection, 0, [fields])
            return taken === undefined
              ? Result.succeed(create(collection, body))
              : Result.fail(new NotUnique({ collection, field: taken.field }))
          }),
          Effect.fromResult,
        )
      },
      createAll: (collection, records, key) => {
        const bodies = records.map((fields) => JSON.stringify(fields))
        return Effect.flatMap(
          database.write(() => createAll(collection, records, bodies, key)),
          Effect.fromResult,
        )
      },
      replace: (collection, id, expected, fields) => {
        const body = JSON.stringify(fields)
        return change(collection, id, expected, () => {
          const taken = unique.taken(collection, id, [fields])
          if (taken !== undefined) return Result.fail(new NotUnique({ collection, field: taken.field }))
          sql.replace.run(body, collection, id)
          return Result.succeed(decodeRecord(id, body))
        })
      },
      remove: (collection, id, expected) =>
        change(collection, id, expected, (record) => {
          remove(collection, id)
          return Result.succeed(record)
        }),
      count: (collection, where = []) => database.read((db) => count(db, collection, where)),
      changes: yield* database.read((db) => makeSqliteChanges(database, db)),
      // The very work of a create: it fails where a create would, on a full disk as on a broken page.
      ready: database.write(() => remove(PROBE, create(PROBE, "{}").id)),
    })
  }),
)
