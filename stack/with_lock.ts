import { Effect, Schedule } from "effect"
import { StackRefused } from "./errors.ts"
import { takeLock } from "./lock.ts"
import { stackFiles } from "./state.ts"

/** Time between two tries to take the lock, milliseconds. */
const POLL_MS = 100

/** Time to wait for another command that starts or stops this stack, milliseconds. */
const WAIT_MS = 90_000

const BUSY = "another command is starting or stopping this stack"

/**
 * Runs a program while no other command changes the stack of this home folder.
 *
 * @fails {StackRefused} when another command still runs after 90 s
 */
export const withLock = <A, E>(home: string, program: Effect.Effect<A, E>): Effect.Effect<A, E | StackRefused> =>
  Effect.acquireUseRelease(
    Effect.suspend(() => {
      const release = takeLock(stackFiles(home).lock)
      return release === undefined ? new StackRefused({ reasons: [BUSY] }) : Effect.succeed(release)
    }).pipe(Effect.retry({ schedule: Schedule.spaced(POLL_MS), times: WAIT_MS / POLL_MS })),
    () => program,
    (release) => Effect.sync(release),
  )
