import { Effect, Layer, type Redacted } from "effect"
import type { GraphConnection } from "../adapters/driven/media_graph/graph_exchange.ts"
import * as httpGraph from "../adapters/driven/media_graph/http.ts"
import * as pacing from "../application/media/graph_pacing.ts"
import { InvalidMediaSetup } from "../domain/media/errors.ts"
import { isSegment, makeGraphAddress } from "../domain/media/graph_address.ts"
import type { MediaGraphPort } from "../domain/media/media_graph_port.ts"
import { MediaPolicy, type MediaRules } from "../domain/media/policy.ts"
import type { PublishJournal } from "../domain/media/publish_journal.ts"
import { tracedGraph } from "./watched_ports.ts"

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

/** A setup that was checked: what the adapters are made with, and the rules of the use cases. */
export interface CheckedGraph {
  readonly connection: GraphConnection
  readonly rules: MediaRules
  readonly accountId: string | undefined
}

/** What the media use cases need. */
export type MediaServices = MediaGraphPort | PublishJournal | pacing.GraphPacing

/**
 * Checks a setup, at once and without talking to anybody.
 *
 * @fails {InvalidMediaSetup} naming the option and the rule it breaks, never its value
 */
export const checkGraphSetup = Effect.fnUntraced(function* (setup: GraphSetup) {
  const { rules, accountId, accessToken, timeoutMs } = setup
  const { childConcurrency } = rules
  if (!Number.isInteger(childConcurrency) || childConcurrency < 1 || childConcurrency > 5)
    return yield* new InvalidMediaSetup({ option: "childConcurrency", rule: "must be a whole number from 1 to 5" })
  if (accountId !== undefined && !isSegment(accountId))
    return yield* new InvalidMediaSetup({ option: "accountId", rule: "must be 1 to 64 letters, digits, - or _" })
  const address = yield* makeGraphAddress(setup)
  const placement = { parameters: setup.parameters, token: setup.token }
  const { targetBytesMax } = rules.limits
  const checked: CheckedGraph = {
    connection: { address, accessToken, timeoutMs, targetBytesMax, placement },
    rules,
    accountId,
  }
  return checked
})

/** The graph over HTTP, paced, with its rules: everything the media use cases need except the journal. */
export const graphLayer = ({ connection, rules }: CheckedGraph): Layer.Layer<Exclude<MediaServices, PublishJournal>> =>
  Layer.mergeAll(tracedGraph(httpGraph.layer(connection)), pacing.layer, Layer.succeed(MediaPolicy, rules))
