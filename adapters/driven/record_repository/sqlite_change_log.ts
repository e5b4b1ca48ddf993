// Changes of records in SQLite: triggers write them down in the transaction of the write, whichever program does it.
import type { DatabaseSync } from "node:sqlite"
import { Effect } from "effect"
import { CHANGES_KEPT, type Change } from "../../../domain/records/change.ts"
import { ChangesUnsupported, PositionGone } from "../../../domain/records/errors.ts"
import type { Stored } from "../../../domain/records/record_repository.ts"
import type { StoredShape } from "../../../domain/records/stored_shape.ts"
import type { SqliteDatabase } from "../sqlite_database.ts"
import { type ChangeLog, followLog, newLogName, positionIn, TAKEN_MAX } from "./change_log.ts"
import { literal } from "./sqlite_indexes.ts"

/** A log for each collection that has one, and what is in the logs. `body` is NULL for a delete. */
export const CHANGE_TABLES = `
  CREATE TABLE IF NOT EXISTS change_logs (
    collection TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    last INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS changes (
    log TEXT NOT NULL,
    number INTEGER NOT NULL,
    kind TEXT NOT NULL,
    id INTEGER NOT NULL,
    body TEXT,
    PRIMARY KEY (log, number)
  ) STRICT, WITHOUT ROWID;`

/** What a write to `records` is, and how the trigger for it sees the record. */
const WRITES = [
  { kind: "create", event: "INSERT", row: "new", body: "new.body" },
  { kind: "replace", event: "UPDATE OF body", row: "new", body: "new.body" },
  { kind: "delete", event: "DELETE", row: "old", body: "NULL" },
] as const

/** No name of a collection holds a colon. */
const triggerName = (collection: string, kind: string): string => `"changes:${collection}:${kind}"`

/** Makes the log of a collection that declares one, and drops that of one that no longer does. Runs inside a transaction. */
export const prepareChanges = (db: DatabaseSync, { name: collection, changes }: StoredShape): void => {
  const known = db.prepare("SELECT name FROM change_logs WHERE collection = ?").get(collection)
  if (!changes && known === undefined) return
  if (!changes) {
    for (const { kind } of WRITES) db.exec(`DROP TRIGGER IF EXISTS ${triggerName(collection, kind)}`)
    db.prepare("DELETE FROM changes WHERE log = ?").run(String(known?.["name"]))
    db.prepare("DELETE FROM change_logs WHERE collection = ?").run(collection)
    return
  }
  db.prepare("INSERT INTO change_logs VALUES (?, ?, 0) ON CONFLICT DO NOTHING").run(collection, newLogName())
  const its = `collection = ${literal(collection)}`
  for (const { kind, event, row, body } of WRITES)
    db.exec(
      `CREATE TRIGGER IF NOT EXISTS ${triggerName(collection, kind)} AFTER ${event} ON records WHEN ${row}.${its} BEGIN
         UPDATE change_logs SET last = last + 1 WHERE ${its};
         INSERT INTO changes SELECT name, last, '${kind}', ${row}.id, ${body} FROM change_logs WHERE ${its};
         DELETE FROM changes WHERE log = (SELECT name FROM change_logs WHERE ${its})
           AND number <= (SELECT last FROM change_logs WHERE ${its}) - ${CHANGES_KEPT};
       END`,
    )
}

type Row = { number: number; kind: Change<Stored>["kind"]; id: number; body: string | null }

const toChange = (log: string, { number, kind, id, body }: Row): Change<Stored> => {
  const record = { id, ...JSON.parse(body ?? "{}") }
  return { kind, position: positionIn(log, number), record }
}

/** Prepares the statements that read logs; the tables are there. */
export const makeSqliteChanges = (database: SqliteDatabase["Service"], db: DatabaseSync) => {
  const sql = {
    log: db.prepare("SELECT name, last FROM change_logs WHERE collection = ?"),
    after: db.prepare(
      "SELECT number, kind, id, body FROM changes WHERE log = ? AND number > ? ORDER BY number LIMIT ?",
    ),
  }
  const logOf = (collection: string) => database.read(() => sql.log.get(collection) as Readonly<ChangeLog> | undefined)

  return (collection: string, after: string | undefined) =>
    Effect.gen(function* () {
      const opened = yield* logOf(collection)
      if (opened === undefined)
        return yield* new ChangesUnsupported({ collection, reason: "it was not prepared for that" })
      const gone = Effect.fail(new PositionGone({ collection }))
      const read = Effect.fnUntraced(function* (told: number) {
        const log = yield* logOf(collection)
        // Another process may have dropped the log meanwhile, and one of another name may have been begun since.
        if (log?.name !== opened.name || log.last < told) return yield* gone
        if (log.last === told) return []
        const rows = (yield* database.read(() => sql.after.all(log.name, told, TAKEN_MAX))) as Array<Row>
        if (rows[0]?.number !== told + 1) return yield* gone
        return rows.map((row) => toChange(log.name, row))
      })
      return yield* followLog(collection, opened, after, read)
    })
}
