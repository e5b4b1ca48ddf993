import { Cause, type Duration, Effect, FiberSet } from "effect"

/**
 * Makes a function that runs work apart from its caller, whose end or interruption does not touch it; what such work fails
 * with is logged. The end of the surrounding scope waits for running work, then interrupts what is left. The scope must be
 * opened after that of the adapters the work uses, so that it ends before they close.
 *
 * @param grace how long the end waits
 */
export const makeBackground = Effect.fnUntraced(function* (grace: Duration.Input) {
  const running = yield* FiberSet.make<void, never>()
  // Registered after the set, so it runs before the set's own finalizer, which interrupts what still runs.
  yield* Effect.addFinalizer(() => FiberSet.awaitEmpty(running).pipe(Effect.timeoutOption(grace), Effect.asVoid))
  return <E, R>(label: string, work: Effect.Effect<unknown, E, R>): Effect.Effect<void, never, R> => {
    const logged = Effect.catchCause(work, (cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.void
        : Effect.logError(`Background work '${label}' failed`, Cause.pretty(cause)),
    )
    return Effect.asVoid(FiberSet.run(running, Effect.asVoid(logged)))
  }
})
