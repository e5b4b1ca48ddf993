import { Effect, Layer } from "effect"
import { parseLossless, stringifyLossless } from "../../../domain/scheduler/lossless_json.ts"
import { RestartJournal, type RestartRecord, restartedJob } from "../../../domain/scheduler/restart_journal.ts"
import { SqliteDatabase } from "../sqlite_database.ts"

// Columns are what the statements ask about; everything else of a record is in `record`.
const TABLE = `
  CREATE TABLE IF NOT EXISTS restarts (
    id TEXT PRIMARY KEY,
    endpoint TEXT NOT NULL,
    stuck INTEGER NOT NULL,
    job TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    owner TEXT NOT NULL,
    lease_until INTEGER NOT NULL,
    record TEXT NOT NULL
  ) STRICT, WITHOUT ROWID`

const decode = (row: unknown): RestartRecord => parseLossless((row as { record: string }).record) as RestartRecord

const isStuck = ({ state }: RestartRecord): number => (state === "stuck" ? 1 : 0)

/**
 * The journal in the service's SQLite file. A write has succeeded once it is on disk. Several processes may share the
 * file: every statement is one transaction, so a lease has one winner.
 *
 * @fails {StoreUnavailable} when the table cannot be made
 */
export const layer = Layer.effect(
  RestartJournal,
  Effect.gen(function* () {
    const database = yield* SqliteDatabase
    yield* database.write((db) => db.exec(TABLE))
    const sql = yield* database.read((db) => ({
      open: db.prepare(
        "INSERT INTO restarts (id, endpoint, stuck, job, created_at, owner, lease_until, record) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      ),
      update: db.prepare("UPDATE restarts SET stuck = ?, lease_until = ?, record = ? WHERE id = ? AND owner = ?"),
      close: db.prepare("DELETE FROM restarts WHERE id = ? AND owner = ?"),
      renew: db.prepare("UPDATE restarts SET lease_until = ? WHERE id = ? AND owner = ?"),
      release: db.prepare("UPDATE restarts SET owner = '', lease_until = 0 WHERE owner = ?"),
      claim: db.prepare(
        "UPDATE restarts SET owner = ?, lease_until = ? WHERE endpoint = ? AND stuck = 0 AND lease_until < ? AND owner <> ? RETURNING record",
      ),
      settle: db.prepare("DELETE FROM restarts WHERE endpoint = ? AND job = ? AND stuck = 1"),
      list: db.prepare("SELECT record FROM restarts WHERE endpoint = ? ORDER BY created_at, id"),
    }))

    return RestartJournal.of({
      shared: true,
      open: (record, { owner, until }) =>
        database.write(() => {
          const { id, endpoint, createdAt } = record
          const job = restartedJob(record)
          sql.open.run(id, endpoint, isStuck(record), job, createdAt, owner, until, stringifyLossless(record))
        }),
      update: (record, { owner, until }) =>
        database.write(
          () => sql.update.run(isStuck(record), until, stringifyLossless(record), record.id, owner).changes === 1,
        ),
      close: (id, owner) => database.write(() => sql.close.run(id, owner).changes === 1),
      renew: (id, { owner, until }) => database.write(() => void sql.renew.run(until, id, owner)),
      release: (owner) => database.write(() => void sql.release.run(owner)),
      claim: (endpoint, now, { owner, until }) =>
        database.write(() => sql.claim.all(owner, until, endpoint, now, owner).map(decode)),
      settle: (restarted) => database.write(() => void sql.settle.run(restarted.endpoint, restartedJob(restarted))),
      list: (endpoint) => Effect.suspend(() => database.read(() => sql.list.all(endpoint).map(decode))),
    })
  }),
)
