import { Effect } from "effect"
import { StackRefused } from "./errors.ts"
import { takeLock } from "./lock.ts"
import { stackFiles } from "./state.ts"

const POLL_MS = 100
/** Milliseconds to wait for another command that starts or stops this stack. */
const WAIT_MS = 90_000

/**
 * Runs a program while no other command changes the stack of this home folder.
 *
 * @fails {StackRefused} when another command does not come to its end
 */
export const withLock = <A, E>(home: string, program: Effect.Effect<A, E>): Effect.Effect<A, E | StackRefused> =>
  Effect.acquireUseRelease(
    Effect.gen(function* () {
      for (let waited = 0; waited < WAIT_MS; waited += POLL_MS) {
        const release = takeLock(stackFiles(home).lock)
        if (release !== undefined) return release
        yield* Effect.sleep(POLL_MS)
      }
      return yield* new StackRefused({ reasons: ["another command is starting or stopping this stack"] })
    }),
    () => program,
    (release) => Effect.sync(release),
  )
