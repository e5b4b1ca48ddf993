// A clock that runs faster than the real one, the same in every process that is given the same start.
import { type Clock, Duration, Effect } from "effect"

/**
 * @param speed how many of its milliseconds pass in a real one
 * @param startMs when it agreed with the real clock, milliseconds since the epoch
 */
export const makeFastClock = (speed: number, startMs: number): Clock.Clock => {
  const now = () => Math.floor(startMs + (Date.now() - startMs) * speed)
  const nanos = () => BigInt(now()) * 1_000_000n
  return {
    currentTimeMillisUnsafe: now,
    currentTimeMillis: Effect.sync(now),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: nanos,
    monotonicTimeNanos: Effect.sync(nanos),
    sleep: (duration) =>
      Effect.callback<void>((resume) => {
        const timer = setTimeout(() => resume(Effect.void), Duration.toMillis(duration) / speed)
        return Effect.sync(() => clearTimeout(timer))
      }),
  }
}
