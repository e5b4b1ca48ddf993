// One media test = one program over the services of a world of its own, on a clock that jumps over every wait.
import { test } from "node:test"
import { Clock, Effect } from "effect"
import type { MediaServices } from "../../bootstrap/media_layers.ts"
import type { GraphModelOptions } from "./graph_model.ts"
import { makeJumpingClock } from "./jumping_clock.ts"
import { type MediaWorld, makeMediaWorld } from "./media_world.ts"

type Steps = (world: MediaWorld) => Generator<Effect.Effect<unknown, unknown, MediaServices>, unknown, never>

/**
 * Registers a test.
 *
 * @param program what `Effect.gen` takes; it is given the world
 * @param options how the world's graph behaves
 */
const register = (name: string, program: Steps, options: GraphModelOptions): void => {
  test(name, async () => {
    const world = makeMediaWorld(options)
    const run = world.run(Effect.gen(() => program(world)))
    await Effect.runPromise(run.pipe(Effect.provideService(Clock.Clock, makeJumpingClock()), Effect.asVoid))
  })
}

/** Registers a test over the graph as it usually is. */
export const mediaTest = (name: string, program: Steps): void => register(name, program, {})

/** Registers a test over a graph that behaves like this. */
export const mediaTestWith = (options: GraphModelOptions, name: string, program: Steps): void =>
  register(name, program, options)
