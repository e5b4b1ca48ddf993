import { Effect, Layer } from "effect"
import { parseLossless, stringifyLossless } from "../../../domain/scheduler/lossless_json.ts"
import { isSameCluster, RestartJournal, type RestartRecord } from "../../../domain/scheduler/restart_journal.ts"
import { SqliteDatabase } from "../sqlite_database.ts"

// Columns are what the statements ask about, and `endpoint` and `job` for whoever opens the file; all of a record is in `record`.
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
 * file: every operation is one transaction, so a lease has one winner.
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
        "INSERT OR REPLACE INTO restarts (id, endpoint, stuck, job, created_at, owner, lease_until, record) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      ),
      update: db.prepare("UPDATE restarts SET stuck = ?, lease_until = ?, record = ? WHERE id = ? AND owner = ?"),
      close: db.prepare("DELETE FROM restarts WHERE id = ? AND owner = ?"),
      renew: db.prepare("UPDATE restarts SET lease_until = ? WHERE id = ? AND owner = ?"),
      release: db.prepare("UPDATE restarts SET owner = '', lease_until = 0 WHERE owner = ?"),
      free: db.prepare(
        "SELECT record FROM restarts WHERE stuck = 0 AND lease_until < ? AND owner <> ? ORDER BY created_at, id",
      ),
      take: db.prepare("UPDATE restarts SET owner = ?, lease_until = ? WHERE id = ?"),
      settle: db.prepare("DELETE FROM restarts WHERE id = ? AND stuck = 1"),
      list: db.prepare("SELECT record FROM restarts ORDER BY created_at, id"),
    }))

    return RestartJournal.of({
      shared: true,
      open: (record, { owner, until }) =>
        database.write(() => {
          const { id, endpoint, createdAt } = record
          sql.open.run(id, endpoint, isStuck(record), record.jobId, createdAt, owner, until, stringifyLossless(record))
        }),
      update: (record, { owner, until }) =>
        database.write(
          () => sql.update.run(isStuck(record), until, stringifyLossless(record), record.id, owner).changes === 1,
        ),
      close: (id, owner) => database.write(() => sql.close.run(id, owner).changes === 1),
      renew: (id, { owner, until }) => database.write(() => void sql.renew.run(until, id, owner)),
      release: (owner) => database.write(() => void sql.release.run(owner)),
      claim: (at, now, { owner, until }) =>
        database.write(() => {
          const free = sql.free.all(now, owner).map(decode)
          const ours = free.filter((record) => isSameCluster(record, at))
          for (const { id } of ours) sql.take.run(owner, until, id)
          return ours
        }),
      settle: (ids) =>
        ids.length === 0
          ? Effect.void
          : database.write(() => {
              for (const id of ids) sql.settle.run(id)
            }),
      list: Effect.suspend(() => database.read(() => sql.list.all().map(decode))),
    })
  }),
)
