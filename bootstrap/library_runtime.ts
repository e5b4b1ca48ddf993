import { type Context, Effect, Layer, ManagedRuntime } from "effect"

/** What the faces of the library run their programs on. */
export interface LibraryRuntime<R> {
  /** The services, built at the first call; rejects with the error of what cannot be built. */
  readonly context: () => Promise<Context.Context<R>>
  /** Runs a program over the services; rejects with its error, or with that of what cannot be built. */
  readonly run: <A, E>(program: Effect.Effect<A, E, R>) => Promise<A>
  /** Lets go of the services, for good. */
  readonly close: () => Promise<void>
}

/**
 * Builds a client's services at their first use.
 *
 * Effect's own runtime remembers for ever that it could not build them. A store that was locked a moment ago is no reason
 * to refuse every later call: here a failed attempt is told to the calls that waited for it, what it had built is let go,
 * and the next call builds anew.
 */
export const libraryRuntime = <R, E>(layer: Layer.Layer<R, E>): LibraryRuntime<R> => {
  let closed = false
  const make = (): ManagedRuntime.ManagedRuntime<R, E> => {
    const forget = () => {
      // Closing interrupts an attempt that is under way: nothing follows it.
      if (closed) return
      current = make()
      // Once the attempt is over, and after the calls that wait for it have heard of its failure.
      queueMicrotask(() => void runtime.context().catch(() => runtime.dispose()))
    }
    const runtime = ManagedRuntime.make(Layer.tapCause(layer, () => Effect.sync(forget)))
    return runtime
  }
  let current = make()
  return {
    context: () => current.context(),
    run: (program) => current.runPromise(program),
    close: () => {
      closed = true
      return current.dispose()
    },
  }
}
