import { Effect, Option } from "effect"
import { isPassing } from "../../domain/scheduler/errors.ts"
import type { SchedulerPort } from "../../domain/scheduler/scheduler_port.ts"

/**
 * Makes a question for the names of the agent's cluster, which is asked once. The answer is empty when the agent does not
 * tell, and none while it cannot be asked; then the next one asks again.
 */
export const makeClusterLookup = Effect.fnUntraced(function* ({ clusterKeys }: SchedulerPort["Service"]) {
  const asked = clusterKeys.pipe(
    Effect.map((names) => Option.some(names)),
    Effect.catch((error) =>
      Effect.succeed(
        // Somebody else's 404 comes from a proxy that does not lead to the route: it will not later.
        isPassing(error) && error._tag !== "ForeignAnswer" ? Option.none<ReadonlyArray<string>>() : Option.some([]),
      ),
    ),
  )
  const [cached, forget] = yield* Effect.cachedInvalidateWithTTL(asked, Number.POSITIVE_INFINITY)
  return Effect.tap(cached, (names) => (Option.isNone(names) ? forget : Effect.void))
})
