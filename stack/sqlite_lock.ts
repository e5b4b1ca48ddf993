import { mkdirSync } from "node:fs"
import { dirname } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Effect, Schedule } from "effect"
import { StackRefused } from "./errors.ts"
import { stackFiles } from "./state.ts"

/** Time between two tries to take the lock, milliseconds. */
const POLL_MS = 100

/** Time to wait for another command that starts or stops this stack, milliseconds. */
const WAIT_MS = 90_000

const BUSY = "another command is starting or stopping this stack"

/** Opens the lock's database. It holds nothing: its lock is all that is used, which ends with the process, however that ends. */
const open = (path: string) => {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  return new DatabaseSync(path)
}

/**
 * Runs a program while no other command changes the stack of this home folder.
 *
 * @fails {StackRefused} when another command still runs after 90 s
 */
export const withLock = <A, E>(home: string, program: Effect.Effect<A, E>): Effect.Effect<A, E | StackRefused> =>
  Effect.acquireUseRelease(
    Effect.sync(() => open(stackFiles(home).lock)),
    (lock) => {
      const take = Effect.try({
        try: () => lock.exec("BEGIN EXCLUSIVE"),
        catch: () => new StackRefused({ reasons: [BUSY] }),
      })
      const taken = Effect.retry(take, { schedule: Schedule.spaced(POLL_MS), times: WAIT_MS / POLL_MS })
      return Effect.andThen(taken, program)
    },
    (lock) => Effect.sync(() => lock.close()),
  )
