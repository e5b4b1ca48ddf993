import type { DatabaseSync } from "node:sqlite"
import { Duration, Effect, Schedule } from "effect"
import { endOfTurn } from "./end_of_turn.ts"

/** One write: runs inside the shared transaction, and learns how it ended only after the COMMIT. */
export interface Job {
  /** Synchronous, opens no transaction of its own, and is undone alone when it throws. */
  readonly work: () => unknown
  /** Told what `work` returned, once that is on disk. */
  readonly committed: (value: unknown) => void
  /** Told why nothing of `work` is in the file; or, where the file was lost during the commit, why that is not certain. */
  readonly failed: (failure: unknown) => void
}

/** Pause between two attempts for the write lock; the event loop serves reads meanwhile. */
const LOCK_PAUSE = Duration.millis(5)

/** Primary result code of "somebody else holds the lock" (sqlite.org/rescode.html#busy). */
const SQLITE_BUSY = 5

/** Judged by the result code, or by the text where a runtime gives no code. */
const isBusy = (failure: unknown): boolean =>
  failure instanceof Error &&
  ("errcode" in failure && typeof failure.errcode === "number"
    ? (failure.errcode & 0xff) === SQLITE_BUSY
    : failure.message === "database is locked")

type Outcome = { readonly value: unknown } | { readonly failure: unknown }

/** Runs the jobs in the transaction that has just begun, and commits it. Nothing else on this thread runs meanwhile. */
const transactionOf = (db: DatabaseSync, check: () => void) => {
  const commit = db.prepare("COMMIT")
  const rollback = db.prepare("ROLLBACK")
  const savepoint = db.prepare("SAVEPOINT job")
  const release = db.prepare("RELEASE job")
  const undo = db.prepare("ROLLBACK TO job")

  const runAlone = (job: Job): Outcome => {
    savepoint.run()
    try {
      const value = job.work()
      release.run()
      return { value }
    } catch (failure) {
      // SQLite ends the whole transaction when the file is broken: then every job of the turn shares this failure.
      if (!db.isTransaction) throw failure
      undo.run()
      release.run()
      return { failure }
    }
  }

  /** @returns why nothing was written; SQLite may have ended the transaction itself */
  const undoAll = (failure: unknown): unknown => {
    try {
      if (db.isTransaction) rollback.run()
      return failure
    } catch (second) {
      return second
    }
  }

  return (batch: ReadonlyArray<Job>): ReadonlyArray<Outcome> => {
    try {
      const outcomes = batch.map(runAlone)
      check()
      commit.run()
      // Once more: what is told to be written must be in the file that the next start will open.
      check()
      return outcomes
    } catch (thrown) {
      const failure = undoAll(thrown)
      return batch.map(() => ({ failure }))
    }
  }
}

/** How writes are gathered and committed. */
export interface GroupCommitOptions {
  /** How long a write waits for another process that holds the file's write lock, milliseconds. */
  readonly lockTimeoutMs: number
  /** Throws when the file must not be written: before a commit nothing of it is kept, after one nobody is told of it. */
  readonly check: () => void
  /** Runs a turn in the background. */
  readonly fork: (turn: Effect.Effect<void>) => unknown
}

/**
 * Group commit: the writes of one turn of the event loop share one transaction, hence one fsync.
 *
 * Each job has its own savepoint, so one that fails is undone alone.
 *
 * @param db an open database; its statements are prepared here, once
 * @returns the function that queues a job
 */
export const groupCommit = (
  db: DatabaseSync,
  { lockTimeoutMs, check, fork }: GroupCommitOptions,
): ((job: Job) => void) => {
  const begin = db.prepare("BEGIN IMMEDIATE")
  const runTogether = transactionOf(db, check)
  let queue: Array<Job> = []

  const finish = (run: (batch: ReadonlyArray<Job>) => ReadonlyArray<Outcome>): void => {
    const batch = queue
    queue = []
    run(batch).forEach((outcome, at) => {
      if ("value" in outcome) batch[at]?.committed(outcome.value)
      else batch[at]?.failed(outcome.failure)
    })
  }

  const locked = Effect.retry(Effect.try({ try: () => begin.run(), catch: (failure) => failure }), {
    while: isBusy,
    schedule: Schedule.upTo(Schedule.spaced(LOCK_PAUSE), { duration: lockTimeoutMs }),
  })
  const turn = Effect.match(Effect.andThen(endOfTurn, locked), {
    onSuccess: () => finish(runTogether),
    onFailure: (failure) => finish((batch) => batch.map(() => ({ failure }))),
  })

  return (job) => {
    queue.push(job)
    if (queue.length === 1) fork(turn)
  }
}
