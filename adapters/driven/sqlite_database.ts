import { closeSync, mkdirSync, openSync } from "node:fs"
import { dirname } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Context, Effect, Layer } from "effect"
import { StoreUnavailable } from "../../domain/store_unavailable.ts"
import { groupCommit } from "./sqlite_group_commit.ts"

/** Which file, and how patient its writers are. */
export interface SqliteOptions {
  /** The database file; created with mode 0600, its folder with 0700. */
  readonly path: string
  /** How long a write waits for another process's lock, milliseconds; 2000 when omitted. */
  readonly lockTimeoutMs?: number
}

/**
 * One SQLite file, shared by every adapter that keeps something in it.
 *
 * An adapter creates its tables with `write` and prepares its statements with `read`, once, when its layer is built.
 */
export class SqliteDatabase extends Context.Service<
  SqliteDatabase,
  {
    /**
     * Runs `work` while it is called, and returns what came of it: to read again, call again.
     *
     * @fails {StoreUnavailable} when SQLite refuses
     */
    readonly read: <A>(work: (db: DatabaseSync) => A) => Effect.Effect<A, StoreUnavailable>
    /**
     * Runs `work` in the transaction that all writes of this turn of the event loop share; succeeds once it is on disk.
     *
     * `work` is synchronous, opens no transaction of its own, and is undone alone when it throws.
     *
     * @fails {StoreUnavailable} when SQLite refuses, or another process keeps the file locked
     */
    readonly write: <A>(work: (db: DatabaseSync) => A) => Effect.Effect<A, StoreUnavailable>
    /**
     * A text that is another one after every write to the file, by this process or any other; read while it is called.
     *
     * @fails {StoreUnavailable} when SQLite refuses
     */
    readonly version: () => Effect.Effect<string, StoreUnavailable>
  }
>()("portolan/adapters/driven/SqliteDatabase") {}

/** How long a call may block the event loop for a lock; writes then wait without blocking it. */
const BUSY_TIMEOUT_MS = 10

const LOCK_TIMEOUT_MS = 2000

const open = (path: string, lockTimeoutMs: number): DatabaseSync => {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  // SQLite would create the file readable for everybody; its -wal and -shm files take over the mode of this one.
  closeSync(openSync(path, "a", 0o600))
  const db = new DatabaseSync(path)
  try {
    // Another process may be opening the same new file. Nothing else runs yet, so waiting may block.
    db.exec(`PRAGMA busy_timeout=${lockTimeoutMs}; PRAGMA journal_mode=WAL`)
    // FULL: an acknowledged commit survives a power cut; WAL alone would only keep the file consistent.
    db.exec(`PRAGMA synchronous=FULL; PRAGMA busy_timeout=${BUSY_TIMEOUT_MS}`)
  } catch (failure) {
    db.close()
    throw failure
  }
  return db
}

// `data_version` counts the commits of other connections, `total_changes` the rows that this one wrote.
// @see sqlite.org/pragma.html#pragma_data_version and sqlite.org/c3ref/total_changes.html
const VERSION = "SELECT data_version || '.' || total_changes() AS version FROM pragma_data_version"

/** True for what SQLite or the file system refused; anything else thrown is a defect of the program. */
const isRefusal = (failure: unknown): failure is Error =>
  failure instanceof Error &&
  "code" in failure &&
  (failure.code === "ERR_SQLITE_ERROR" || failure.code === "ERR_INVALID_STATE" || "syscall" in failure)

/**
 * Opens the file, and closes it with the scope, after the writes still queued.
 *
 * @fails {StoreUnavailable} when the file cannot be created, opened or written, or is no SQLite database
 */
export const layer = (options: SqliteOptions): Layer.Layer<SqliteDatabase, StoreUnavailable> =>
  Layer.effect(
    SqliteDatabase,
    Effect.gen(function* () {
      const { path, lockTimeoutMs = LOCK_TIMEOUT_MS } = options
      const failed = (failure: unknown): Effect.Effect<never, StoreUnavailable> =>
        isRefusal(failure)
          ? Effect.fail(
              new StoreUnavailable({ store: { user: "-", host: "file", database: path }, reason: failure.message }),
            )
          : Effect.die(failure)
      const attempt = <A>(work: () => A): Effect.Effect<A, StoreUnavailable> => {
        try {
          return Effect.succeed(work())
        } catch (failure) {
          return failed(failure)
        }
      }

      const db = yield* attempt(() => open(path, lockTimeoutMs))
      yield* Effect.addFinalizer(() => Effect.sync(() => db.close()))

      const fork = Effect.runForkWith(yield* Effect.context<never>())
      const queue = yield* attempt(() => groupCommit(db, { lockTimeoutMs, fork }))
      const write = <A>(work: (db: DatabaseSync) => A): Effect.Effect<A, StoreUnavailable> =>
        Effect.callback<A, StoreUnavailable>((resume) => {
          queue({
            work: () => work(db),
            committed: (value) => resume(Effect.succeed(value as A)),
            failed: (failure) => resume(failed(failure)),
          })
        })
      // The queue is first in, first out: once an empty write has ended, so have all before it.
      yield* Effect.addFinalizer(() => Effect.ignore(write(() => undefined)))

      const version = yield* attempt(() => db.prepare(VERSION))
      return SqliteDatabase.of({
        read: (work) => attempt(() => work(db)),
        write,
        version: () => attempt(() => String(version.get()?.["version"])),
      })
    }),
  )
