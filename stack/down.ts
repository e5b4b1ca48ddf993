import { resolve } from "node:path"
import { Effect } from "effect"
import { withLock } from "./sqlite_lock.ts"
import { readState, removeState } from "./state.ts"
import { stopParts } from "./stop_parts.ts"

/**
 * Stops the stack and removes its state file; the logs stay. Without a stack it does nothing.
 *
 * @returns whether there was one
 * @fails {StackFailed} when containers cannot be removed; the state is kept then
 * @fails {StackRefused} while another command is starting or stopping the stack
 */
export const down = Effect.fn("stack.down")(function* (homeFolder: string) {
  const home = resolve(homeFolder)
  return yield* withLock(
    home,
    Effect.gen(function* () {
      const state = readState(home)
      if (state === undefined) return false
      yield* stopParts(home, state)
      removeState(home)
      return true
    }),
  )
})
