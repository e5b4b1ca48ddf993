import { closeSync, mkdirSync, openSync } from "node:fs"
import { dirname } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Context, Effect, Layer } from "effect"
import { StoreUnavailable } from "../../domain/records/errors.ts"
import { groupCommit } from "./sqlite_group_commit.ts"

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
     * Runs `work` at once, synchronously.
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
     * A number that changes when the file may hold something else than the writes made here left in it: another
     * connection committed, or a write was undone. What was derived from the file under another number is stale.
     * Throws when the file is closed: call it inside `read`.
     */
    readonly version: () => number
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

/** True for what SQLite or the file system refused; anything else thrown is a defect of the program. */
const isRefusal = (failure: unknown): failure is Error =>
  failure instanceof Error &&
  "code" in failure &&
  (failure.code === "ERR_SQLITE_ERROR" || failure.code === "ERR_INVALID_STATE" || "syscall" in failure)

/**
 * {@link SqliteDatabase.version}, at 2 µs a look read at most once per turn of the event loop.
 *
 * That is often enough: a request handled in this turn was in the kernel before the turn's poll, so a commit this look
 * misses was acknowledged after the request was sent. `setImmediate` ends the sharing: in Bun and Deno it runs after the
 * callbacks of the poll and of timers, and before the next poll. Only what a callback of `setImmediate` itself queues
 * there runs behind the next poll. So after a turn of writes, whose callers go on in such a callback, no look is shared
 * until a timer shows that phase to be over.
 */
const versionOf = (db: DatabaseSync) => {
  const pragma = db.prepare("PRAGMA data_version")
  let version = 0
  let seen = pragma.get()?.["data_version"]
  let fresh = false
  let settling = false
  return {
    current: (): number => {
      if (fresh) return version
      const now = pragma.get()?.["data_version"]
      if (now !== seen) version++
      seen = now
      if (settling) return version
      fresh = true
      setImmediate(() => {
        fresh = false
      })
      return version
    },
    advance: (): void => {
      version++
    },
    settle: (): void => {
      fresh = false
      if (settling) return
      settling = true
      setTimeout(() => {
        settling = false
      }, 0)
    },
  }
}

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
      const attempt = <A>(work: () => A): Effect.Effect<A, StoreUnavailable> =>
        Effect.suspend(() => {
          try {
            return Effect.succeed(work())
          } catch (failure) {
            return failed(failure)
          }
        })

      const db = yield* attempt(() => open(path, lockTimeoutMs))
      yield* Effect.addFinalizer(() => Effect.sync(() => db.close()))

      const { version, queue } = yield* attempt(() => {
        const version = versionOf(db)
        return {
          version,
          queue: groupCommit(db, { lockTimeoutMs, onRollback: version.advance, onTurn: version.settle }),
        }
      })
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

      return SqliteDatabase.of({ read: (work) => attempt(() => work(db)), write, version: version.current })
    }),
  )
