import { Effect } from "effect"

/** Waits until everything that arrived in this turn of the event loop has been handled. */
export const endOfTurn: Effect.Effect<void> = Effect.callback((resume) => {
  setImmediate(() => resume(Effect.void))
})
