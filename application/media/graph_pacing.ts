import { Clock, Context, Effect, Layer } from "effect"
import { GraphFailure, type GraphOperation } from "../../domain/media/graph_failure.ts"
import type { GraphAnswer } from "../../domain/media/media_graph_port.ts"
import { MediaPolicy } from "../../domain/media/policy.ts"
import { paceAfter, type Usage } from "../../domain/media/usage.ts"

/** Most pauses that are remembered at the same time. Account ids come from callers, so there must be a limit. */
const GATES_MAX = 1000

/** The key of the pause that holds for every account of the app; the others are account ids. */
const APP = ""

/** A pause when the platform says "too many calls" and not for how long. */
const THROTTLED_MS = 60_000

/** True for the error codes of an account's own limits (800xx); the other limits are the app's. */
const isAccountLimit = (code: number | undefined): boolean => code !== undefined && code >= 80_000 && code < 80_100

/**
 * Keeps calls within the platform's budget, per app and per account, from what its answers say about it.
 *
 * `admit` before a call, `note` after it; {@link paced} does both.
 */
export class GraphPacing extends Context.Service<
  GraphPacing,
  {
    /**
     * Waits until the budget allows a call.
     *
     * @fails {GraphFailure} of kind Throttled, nothing sent, when the wait would be longer than the policy's `pauseMaxMs`
     */
    readonly admit: (accountId: string, operation: GraphOperation) => Effect.Effect<void, GraphFailure>
    /** Learns from an answer, or from a failure, how long to pause. `accountId` is empty for calls of no account. */
    readonly note: (accountId: string, said: { readonly usage?: Usage } | GraphFailure) => Effect.Effect<void>
  }
>()("portolan/application/media/GraphPacing") {}

/** One pacing per client: what one call learns, every later call respects. */
export const layer: Layer.Layer<GraphPacing> = Layer.sync(GraphPacing, () => {
  const openAt = new Map<string, number>()

  const close = (gate: string, nowMs: number, pauseMs: number) => {
    if (pauseMs <= 0) return
    if (openAt.size >= GATES_MAX) for (const [name, at] of openAt) if (at <= nowMs) openAt.delete(name)
    if (openAt.size >= GATES_MAX && !openAt.has(gate)) return
    openAt.set(gate, Math.max(openAt.get(gate) ?? 0, nowMs + pauseMs))
  }

  const leftMs = (accountId: string, nowMs: number): number =>
    Math.max(openAt.get(APP) ?? 0, openAt.get(accountId) ?? 0) - nowMs

  return GraphPacing.of({
    admit: Effect.fnUntraced(function* (accountId, operation) {
      const { pauseMaxMs } = yield* MediaPolicy
      for (;;) {
        const pauseMs = leftMs(accountId, yield* Clock.currentTimeMillis)
        if (pauseMs <= 0) return
        if (pauseMs > pauseMaxMs)
          return yield* new GraphFailure({ kind: "Throttled", operation, applied: "no", retryAfterMs: pauseMs })
        yield* Effect.sleep(pauseMs)
      }
    }),
    note: Effect.fnUntraced(function* (accountId, said) {
      const nowMs = yield* Clock.currentTimeMillis
      const { appPercent, accountPercent, regainMs } = said.usage ?? {}
      close(APP, nowMs, paceAfter(appPercent, regainMs))
      close(accountId, nowMs, paceAfter(accountPercent, regainMs))
      // A failure without a status did not come from the graph: it is our own refusal, or a lost connection.
      if (said instanceof GraphFailure && said.kind === "Throttled" && said.status !== undefined)
        close(isAccountLimit(said.graphCode) ? accountId : APP, nowMs, said.retryAfterMs ?? THROTTLED_MS)
    }),
  })
})

/**
 * One call within the budget, and its value.
 *
 * @param accountId the account whose budget counts, or empty for a call of no account
 * @fails {GraphFailure} of kind Throttled, nothing sent, as {@link GraphPacing} says
 */
export const paced = Effect.fnUntraced(function* <A, E, R>(
  accountId: string,
  operation: GraphOperation,
  call: Effect.Effect<GraphAnswer<A>, E | GraphFailure, R>,
) {
  const pacing = yield* GraphPacing
  yield* pacing.admit(accountId, operation)
  const answer = yield* call.pipe(
    Effect.tapError((failure) => (failure instanceof GraphFailure ? pacing.note(accountId, failure) : Effect.void)),
  )
  yield* pacing.note(accountId, answer)
  return answer.value
})
