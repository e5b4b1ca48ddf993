// One media test = one program over the services of a world of its own, on a clock that jumps over every wait.
import { test } from "node:test"
import { Clock, Effect } from "effect"
import type { MediaServices } from "../../bootstrap/media_layers.ts"
import type { GraphModelOptions } from "./graph_model.ts"
import { makeJumpingClock } from "./jumping_clock.ts"
import { type MediaWorld, makeMediaWorld } from "./media_world.ts"

/**
 * Registers a test.
 *
 * @param options how the world's graph behaves
 * @param program what `Effect.gen` takes; it is given the world
 */
export const mediaTest = (
  name: string,
  options: GraphModelOptions,
  program: (world: MediaWorld) => Generator<Effect.Effect<unknown, unknown, MediaServices>, unknown, never>,
): void => {
  test(name, async () => {
    const world = makeMediaWorld(options)
    const run = world.run(Effect.gen(() => program(world)))
    await Effect.runPromise(run.pipe(Effect.provideService(Clock.Clock, makeJumpingClock()), Effect.asVoid))
  })
}
