import { Effect, Layer } from "effect"
import { EMPTY_TALLY, PublishJournal } from "../../../domain/media/publish_journal.ts"
import { SqliteDatabase } from "../sqlite_database.ts"
import { decodeEntry, encodeEntry, fingerprint } from "./stored_entry.ts"

const TABLE = `
  CREATE TABLE IF NOT EXISTS publish_journal (
    key TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    body TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS publish_journal_by_state ON publish_journal (body ->> '$.progress.state')`

/**
 * The journal in SQLite: an entry is on disk when `put` returns, whichever process wrote it.
 *
 * @fails {StoreUnavailable} when the table cannot be made
 */
export const layer = Layer.effect(
  PublishJournal,
  Effect.gen(function* () {
    const database = yield* SqliteDatabase
    yield* database.write((db) => db.exec(TABLE))
    const sql = yield* database.read((db) => ({
      find: db.prepare("SELECT version, body FROM publish_journal WHERE key = ?"),
      first: db.prepare(
        "INSERT INTO publish_journal (key, version, body) VALUES (?, 1, ?) ON CONFLICT (key) DO NOTHING",
      ),
      tally: db.prepare(
        "SELECT body ->> '$.progress.state' AS state, COUNT(*) AS posts FROM publish_journal GROUP BY 1",
      ),
      next: db.prepare("UPDATE publish_journal SET version = version + 1, body = ? WHERE key = ? AND version = ?"),
    }))
    return PublishJournal.of({
      fingerprint,
      find: (key) =>
        Effect.suspend(() =>
          database.read(() => {
            const row = sql.find.get(key) as { version: number; body: string } | undefined
            return row === undefined ? undefined : { entry: decodeEntry(row.body), version: row.version }
          }),
        ),
      put: (entry, version) =>
        database.write(() => {
          const body = encodeEntry(entry)
          const { changes } = version === 0 ? sql.first.run(entry.key, body) : sql.next.run(body, entry.key, version)
          return Number(changes) === 1
        }),
      tally: Effect.suspend(() =>
        database.read(() => {
          const rows = sql.tally.all()
          return { ...EMPTY_TALLY, ...Object.fromEntries(rows.map(({ state, posts }) => [state, Number(posts)])) }
        }),
      ),
    })
  }),
)
