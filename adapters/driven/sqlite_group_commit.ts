import type { DatabaseSync } from "node:sqlite"

/** One write: runs inside the shared transaction, and learns how it ended only after the COMMIT. */
export interface Job {
  readonly work: () => unknown
  readonly committed: (value: unknown) => void
  readonly failed: (failure: unknown) => void
}

/** Pause between two attempts for the write lock; the event loop serves reads meanwhile. */
const LOCK_PAUSE_MS = 5

const SQLITE_BUSY = 5

/** Primary result code, or the text where a runtime gives no code. */
const isBusy = (failure: unknown): boolean =>
  failure instanceof Error &&
  ("errcode" in failure && typeof failure.errcode === "number"
    ? (failure.errcode & 0xff) === SQLITE_BUSY
    : failure.message === "database is locked")

type Outcome = { readonly value: unknown } | { readonly failure: unknown }

/**
 * Group commit: the writes of one turn of the event loop share one transaction, hence one fsync.
 *
 * Each job has its own savepoint, so one that fails is undone alone. A turn runs without a break from BEGIN to COMMIT,
 * nothing else on this thread sees a state between.
 *
 * @param lockTimeoutMs how long a write waits for another process that holds the file's write lock, milliseconds
 * @returns the function that queues a job
 */
export const groupCommit = (db: DatabaseSync, lockTimeoutMs: number): ((job: Job) => void) => {
  const begin = db.prepare("BEGIN IMMEDIATE")
  const commit = db.prepare("COMMIT")
  const rollback = db.prepare("ROLLBACK")
  const savepoint = db.prepare("SAVEPOINT job")
  const release = db.prepare("RELEASE job")
  const undo = db.prepare("ROLLBACK TO job")

  let queue: Array<Job> = []
  let waitingSince: number | undefined

  const runAlone = (job: Job): Outcome => {
    savepoint.run()
    try {
      const value = job.work()
      release.run()
      return { value }
    } catch (failure) {
      // A full disk or a broken file ends the whole transaction at once: then every job of the turn shares this failure.
      if (!db.isTransaction) throw failure
      undo.run()
      release.run()
      return { failure }
    }
  }

  const runTogether = (batch: ReadonlyArray<Job>): ReadonlyArray<Outcome> => {
    try {
      const outcomes = batch.map(runAlone)
      commit.run()
      return outcomes
    } catch (failure) {
      try {
        rollback.run()
      } catch {
        // SQLite has ended the transaction itself; the failure to report is the first one.
      }
      return batch.map(() => ({ failure }))
    }
  }

  const finish = (run: (batch: ReadonlyArray<Job>) => ReadonlyArray<Outcome>): void => {
    const batch = queue
    queue = []
    waitingSince = undefined
    const outcomes = run(batch)
    outcomes.forEach((outcome, at) => {
      if ("value" in outcome) batch[at]?.committed(outcome.value)
      else batch[at]?.failed(outcome.failure)
    })
  }

  const turn = (): void => {
    try {
      begin.run()
    } catch (failure) {
      const waitedMs = performance.now() - (waitingSince ?? 0)
      if (isBusy(failure) && waitedMs < lockTimeoutMs) setTimeout(turn, LOCK_PAUSE_MS)
      else finish((batch) => batch.map(() => ({ failure })))
      return
    }
    finish(runTogether)
  }

  return (job) => {
    queue.push(job)
    if (waitingSince !== undefined) return
    waitingSince = performance.now()
    setImmediate(turn)
  }
}
