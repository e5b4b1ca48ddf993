import { Cause, type Duration, Effect, FiberSet } from "effect"

/** Work that outlives the request that started it, and that the end of its scope waits for. */
export interface Background {
  /** Starts the work apart from the caller: the caller's end or interruption does not touch it. Never fails. */
  readonly run: <E, R>(label: string, work: Effect.Effect<unknown, E, R>) => Effect.Effect<void, never, R>
  readonly size: Effect.Effect<number>
}

/**
 * Background work of a scope: its end waits for running work, then interrupts what is left. The scope must be opened after
 * that of the adapters the work uses, so that it is drained before they close.
 *
 * @param grace how long the end waits; what is left then is interrupted
 */
export const make = Effect.fnUntraced(function* (grace: Duration.Input) {
  const running = yield* FiberSet.make<void, never>()
  // Registered after the set, so it runs before the set's own finalizer, which interrupts what still runs.
  yield* Effect.addFinalizer(() => FiberSet.awaitEmpty(running).pipe(Effect.timeoutOption(grace), Effect.asVoid))
  const guarded = <E, R>(label: string, work: Effect.Effect<unknown, E, R>) =>
    work.pipe(
      Effect.catchCause((cause) =>
        Cause.hasInterruptsOnly(cause)
          ? Effect.void
          : Effect.logError(`Background work '${label}' failed`, Cause.pretty(cause)),
      ),
      Effect.asVoid,
    )
  const background: Background = {
    run: (label, work) => FiberSet.run(running, guarded(label, work)).pipe(Effect.asVoid),
    size: FiberSet.size(running),
  }
  return background
})
