import { closeSync, existsSync, mkdirSync, openSync } from "node:fs"
import { dirname } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Context, Effect, Layer, Schedule } from "effect"
import { StoreUnavailable } from "../../domain/store_unavailable.ts"
import { FileExchanged, refuseLostFile, stamp, watchFile, writeCompanion } from "./sqlite_file_identity.ts"
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
     * @fails {StoreUnavailable} when SQLite refuses, another process keeps the file locked, or the path no longer leads to
     * the file that was opened
     */
    readonly write: <A>(work: (db: DatabaseSync) => A) => Effect.Effect<A, StoreUnavailable>
    /** Says why this store cannot be used. */
    readonly refuse: (reason: string) => Effect.Effect<never, StoreUnavailable>
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

/** How often a file that was written to is stamped: an older copy than that is recognised at the next start. */
const STAMP_PERIOD = "1 minute"

const open = (path: string, lockTimeoutMs: number): DatabaseSync => {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  refuseLostFile(path)
  // SQLite would create the file readable for everybody; its -wal and -shm files take over the mode of this one. A file that
  // is there is left alone: closing it here would end the locks of another connection of this process (fcntl(2)).
  if (!existsSync(path)) closeSync(openSync(path, "a", 0o600))
  const db = new DatabaseSync(path)
  try {
    // Another process may be opening the same new file. Nothing else runs yet, so waiting may block.
    db.exec(`PRAGMA busy_timeout=${lockTimeoutMs}; PRAGMA journal_mode=WAL`)
    // FULL: an acknowledged commit survives a power cut; WAL alone would only keep the file consistent.
    db.exec("PRAGMA synchronous=FULL; BEGIN IMMEDIATE")
    const first = stamp(db, path)
    db.exec(`COMMIT; PRAGMA busy_timeout=${BUSY_TIMEOUT_MS}`)
    writeCompanion(path, first)
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
  failure instanceof FileExchanged ||
  (failure instanceof Error &&
    "code" in failure &&
    (failure.code === "ERR_SQLITE_ERROR" || failure.code === "ERR_INVALID_STATE" || "syscall" in failure))

/**
 * Opens the file, and closes it with the scope, after the writes still queued.
 *
 * @fails {StoreUnavailable} when the file cannot be created, opened or written, is no SQLite database, or is not the one that
 * was there before (sqlite_file_identity.ts says how that is known)
 */
export const layer = (options: SqliteOptions): Layer.Layer<SqliteDatabase, StoreUnavailable> =>
  Layer.effect(
    SqliteDatabase,
    Effect.gen(function* () {
      const { path, lockTimeoutMs = LOCK_TIMEOUT_MS } = options
      const refuse = (reason: string): Effect.Effect<never, StoreUnavailable> =>
        Effect.fail(new StoreUnavailable({ store: { user: "-", host: "file", database: path }, reason }))
      const failed = (failure: unknown): Effect.Effect<never, StoreUnavailable> =>
        isRefusal(failure) ? refuse(failure.message) : Effect.die(failure)
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
      const queue = yield* attempt(() => groupCommit(db, { lockTimeoutMs, fork, check: watchFile(db, path) }))
      const write = <A>(work: (db: DatabaseSync) => A): Effect.Effect<A, StoreUnavailable> =>
        Effect.callback<A, StoreUnavailable>((resume) => {
          queue({
            work: () => work(db),
            committed: (value) => resume(Effect.succeed(value as A)),
            failed: (failure) => resume(failed(failure)),
          })
        })
      const statement = yield* attempt(() => db.prepare(VERSION))
      const version = () => String(statement.get()?.["version"])
      let stampedAt = version()
      const stampAgain = Effect.gen(function* () {
        const latest = yield* write(() => stamp(db, path))
        yield* attempt(() => writeCompanion(path, latest))
        stampedAt = version()
      }).pipe(Effect.catch((failure) => Effect.logWarning(failure.message)))
      const stampWhatChanged = Effect.suspend(() => (version() === stampedAt ? Effect.void : stampAgain))
      yield* Effect.forkScoped(Effect.repeat(stampWhatChanged, Schedule.spaced(STAMP_PERIOD)))
      // The queue is first in, first out: once this write has ended, so have all before it.
      yield* Effect.addFinalizer(() => stampAgain)

      return SqliteDatabase.of({
        read: (work) => attempt(() => work(db)),
        write,
        refuse,
        version: () => attempt(version),
      })
    }),
  )
