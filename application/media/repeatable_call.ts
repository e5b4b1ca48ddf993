import { Effect, Random, Schedule } from "effect"
import { GraphFailure, type GraphOperation } from "../../domain/media/graph_failure.ts"
import type { GraphAnswer } from "../../domain/media/media_graph_port.ts"
import { MediaPolicy } from "../../domain/media/policy.ts"
import { retryPause } from "../../domain/media/retry.ts"
import { paced } from "./graph_pacing.ts"

/** Share of a pause that chance adds, so that many callers do not come back together. */
const JITTER = 0.25

/** Repeats while the last failure allows it. A pause the graph named is kept as it is; one of ours is prolonged by chance. */
const asFailuresAllow = (pauseMaxMs: number) =>
  Schedule.forever.pipe(
    Schedule.setInputType<unknown>(),
    Schedule.map(({ input, attempt }) => (input instanceof GraphFailure ? retryPause(input, attempt) : undefined)),
    Schedule.while(({ output: pauseMs }) => pauseMs !== undefined && pauseMs <= pauseMaxMs),
    Schedule.addDelay(({ output: pauseMs = 0, input }) =>
      input instanceof GraphFailure && input.retryAfterMs !== undefined
        ? Effect.succeed(pauseMs)
        : Effect.map(Random.next, (chance) => pauseMs * (1 + JITTER * chance)),
    ),
  )

/**
 * A call that may be repeated without harm (a creation, a read), repeated where its failure allows it. Never a publish.
 *
 * @fails {GraphFailure} when the failure must not be repeated, came too often, or asks for a longer pause than allowed
 */
export const repeatable = <A, E, R>(
  accountId: string,
  operation: Exclude<GraphOperation, "publish">,
  call: Effect.Effect<GraphAnswer<A>, E | GraphFailure, R>,
) =>
  Effect.flatMap(MediaPolicy, ({ pauseMaxMs }) =>
    Effect.retry(paced(accountId, operation, call), asFailuresAllow(pauseMaxMs)),
  )
