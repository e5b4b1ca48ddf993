// A virtual clock that needs nobody to move it: when everything waits, it jumps to the next moment something wakes.
// For whole flows and property tests, where `TestClock.adjust` after `TestClock.adjust` would only repeat the program.
import { setImmediate } from "node:timers"
import { type Clock, Duration, Effect } from "effect"

interface Sleeper {
  readonly atMs: number
  readonly wake: () => void
}

/** Makes a clock that starts at `startMs` milliseconds since the epoch. */
export const makeJumpingClock = (
  startMs = 1_700_000_000_000,
): Clock.Clock & { readonly jumpTo: (ms: number) => void } => {
  let nowMs = startMs
  let sleepers: Array<Sleeper> = []
  let planned = false
  const nanos = () => BigInt(Math.round(nowMs)) * 1_000_000n

  // Two turns of the event loop: whatever can still run has run by then.
  const plan = () => {
    if (planned || sleepers.length === 0) return
    planned = true
    setImmediate(() => setImmediate(jump))
  }
  const jump = () => {
    planned = false
    const next = sleepers.reduce<Sleeper | undefined>(
      (first, each) => (first && first.atMs <= each.atMs ? first : each),
      undefined,
    )
    if (next === undefined) return
    sleepers = sleepers.filter((each) => each !== next)
    nowMs = Math.max(nowMs, next.atMs)
    next.wake()
    plan()
  }

  return {
    currentTimeMillisUnsafe: () => nowMs,
    currentTimeMillis: Effect.sync(() => nowMs),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: nanos,
    monotonicTimeNanos: Effect.sync(nanos),
    sleep: (duration) =>
      Effect.callback<void>((resume) => {
        const sleeper = { atMs: nowMs + Duration.toMillis(duration), wake: () => resume(Effect.void) }
        sleepers.push(sleeper)
        plan()
        return Effect.sync(() => {
          sleepers = sleepers.filter((each) => each !== sleeper)
        })
      }),
    jumpTo: (ms) => {
      nowMs = Math.max(nowMs, ms)
    },
  }
}
