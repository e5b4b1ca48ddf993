import { Effect, Layer, type Redacted } from "effect"
import * as httpGraph from "../adapters/driven/media_graph/http.ts"
import * as pacing from "../application/media/graph_pacing.ts"
import { InvalidMediaSetup } from "../domain/media/errors.ts"
import { isSegment, makeGraphAddress } from "../domain/media/graph_address.ts"
import type { MediaGraphPort } from "../domain/media/media_graph_port.ts"
import { MediaPolicy, type MediaRules } from "../domain/media/policy.ts"
import type { PublishJournal } from "../domain/media/publish_journal.ts"
import type { StoreUnavailable } from "../domain/store_unavailable.ts"

/** Where the graph is and how to talk to it. */
export interface GraphSetup {
  readonly graphUrl: string
  readonly apiVersion: string
  /** Asked for every call; its own failure is dropped, it may hold anything. */
  readonly accessToken: Effect.Effect<Redacted.Redacted, unknown>
  readonly accountId: string | undefined
  /** Deadline of one exchange, body included, ms. */
  readonly timeoutMs: number
  readonly rules: MediaRules
  readonly parameters: "query" | "form"
  readonly token: "query" | "header"
  readonly allowInsecure: boolean
}

export type MediaServices = MediaGraphPort | PublishJournal | pacing.GraphPacing

/**
 * Checks a setup, at once and without talking to anybody.
 *
 * @fails {InvalidMediaSetup} naming the option and the rule it breaks, never its value
 */
export const checkGraphSetup = Effect.fnUntraced(function* (
  setup: Pick<GraphSetup, "graphUrl" | "apiVersion" | "accountId" | "allowInsecure" | "rules">,
) {
  const { childConcurrency } = setup.rules
  if (!Number.isInteger(childConcurrency) || childConcurrency < 1 || childConcurrency > 5)
    return yield* new InvalidMediaSetup({ option: "childConcurrency", rule: "must be a whole number from 1 to 5" })
  if (setup.accountId !== undefined && !isSegment(setup.accountId))
    return yield* new InvalidMediaSetup({ option: "accountId", rule: "must be 1 to 64 letters, digits, - or _" })
  return yield* makeGraphAddress(setup)
})

/** The graph over HTTP, paced, with its rules; all but the journal. */
export const graphLayer = (setup: GraphSetup): Layer.Layer<MediaGraphPort | pacing.GraphPacing, InvalidMediaSetup> => {
  const graph = Layer.unwrap(
    Effect.map(checkGraphSetup(setup), (address) =>
      httpGraph.layer({
        address,
        accessToken: setup.accessToken,
        timeoutMs: setup.timeoutMs,
        targetBytesMax: setup.rules.limits.targetBytesMax,
        placement: { parameters: setup.parameters, token: setup.token },
      }),
    ),
  )
  return Layer.mergeAll(graph, pacing.layer, Layer.succeed(MediaPolicy, setup.rules))
}

/** Everything the media use cases need, over HTTP. */
export const mediaLayer = (
  setup: GraphSetup,
  journal: Layer.Layer<PublishJournal, StoreUnavailable>,
): Layer.Layer<MediaServices, StoreUnavailable | InvalidMediaSetup> => Layer.merge(graphLayer(setup), journal)
