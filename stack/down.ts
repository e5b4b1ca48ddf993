import { Effect } from "effect"
import { stopProcesses } from "./embedded_engine.ts"
import { readState, removeState } from "./state.ts"
import { withLock } from "./with_lock.ts"

/**
 * Stops the stack and forgets its state; the logs stay. Without a stack there is nothing to do, and that is fine.
 *
 * @returns whether there was one
 * @fails {StackRefused} while another command is starting or stopping the stack
 */
export const down = Effect.fn("stack.down")(function* (home: string) {
  return yield* withLock(
    home,
    Effect.gen(function* () {
      const state = readState(home)
      if (state === undefined) return false
      yield* stopProcesses(state.processes)
      removeState(home)
      return true
    }),
  )
})
