// One media test = one program over the services of a world, on a clock that jumps over every wait.
import { test } from "node:test"
import { Clock, Effect } from "effect"
import type { MediaServices } from "../../bootstrap/media_layers.ts"
import { makeJumpingClock } from "./jumping_clock.ts"
import type { MediaWorld } from "./media_world.ts"

export const mediaTest = <E>(
  name: string,
  world: MediaWorld,
  program: () => Effect.Effect<unknown, E, MediaServices>,
): void => {
  test(name, async () => {
    const clock = makeJumpingClock()
    await Effect.runPromise(
      world.run(Effect.suspend(program)).pipe(Effect.provideService(Clock.Clock, clock), Effect.asVoid),
    )
  })
}
