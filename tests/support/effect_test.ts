// One test = one Effect program with a scope and a virtual clock. Works under `bun test` and `deno test`.
import { test } from "node:test"
import { Effect, type Scope } from "effect"
import { TestClock } from "effect/testing"

type Program<E> = Effect.Effect<unknown, E, TestClock.TestClock | Scope.Scope>

/** What `Effect.gen` takes. */
type Steps = Generator<Effect.Effect<unknown, unknown, TestClock.TestClock | Scope.Scope>, unknown, never>

/**
 * Registers a test whose clock only moves when the program says so.
 *
 * The clock is moved far ahead at the end: closing a layer waits for its background work, which may be asleep.
 *
 * @param make gives the program, or is the generator function of one
 */
export const effectTest = <E>(name: string, make: () => Program<E> | Steps): void => {
  test(name, () => {
    const made = make()
    const program: Program<unknown> = Effect.isEffect(made) ? made : Effect.gen(() => made)
    return Effect.runPromise(
      program.pipe(
        Effect.ensuring(TestClock.adjust("1 hour")),
        Effect.scoped,
        Effect.provide(TestClock.layer()),
        Effect.asVoid,
      ),
    )
  })
}

/** The virtual clock as an adapter that runs outside Effect takes it: a function giving seconds since the epoch. */
export const virtualNow: Effect.Effect<() => number> = Effect.clockWith((clock) =>
  Effect.succeed(() => clock.currentTimeMillisUnsafe() / 1000),
)
