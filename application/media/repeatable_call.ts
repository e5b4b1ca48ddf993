import { Effect, Random, Result } from "effect"
import { GraphFailure, type GraphOperation } from "../../domain/media/graph_failure.ts"
import type { GraphAnswer } from "../../domain/media/media_graph_port.ts"
import { MediaPolicy } from "../../domain/media/policy.ts"
import { retryPause } from "../../domain/media/retry.ts"
import { paced } from "./graph_pacing.ts"

/** Share of a pause that chance adds, so that many callers do not come back together. */
const JITTER = 0.25

/**
 * A call that may be repeated without harm (a creation, a read), repeated where its failure allows it. Never a publish.
 *
 * @fails {GraphFailure} when the failure must not be repeated, came too often, or asks for a longer pause than allowed
 */
export const repeatable = Effect.fnUntraced(function* <A, E, R>(
  accountId: string,
  operation: Exclude<GraphOperation, "publish">,
  call: Effect.Effect<GraphAnswer<A>, E | GraphFailure, R>,
) {
  const { pauseMaxMs } = yield* MediaPolicy
  for (let count = 1; ; count++) {
    const result = yield* Effect.result(paced(accountId, operation, call))
    if (Result.isSuccess(result)) return result.success
    const { failure } = result
    const pauseMs = failure instanceof GraphFailure ? retryPause(failure, count) : undefined
    if (pauseMs === undefined || pauseMs > pauseMaxMs) return yield* Effect.fail(failure)
    const told = failure instanceof GraphFailure && failure.retryAfterMs !== undefined
    yield* Effect.sleep(told ? pauseMs : pauseMs * (1 + JITTER * (yield* Random.next)))
  }
})
