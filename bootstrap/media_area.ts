import { Effect, Layer, Redacted } from "effect"
import { MEDIA_SCHEMAS } from "../adapters/driving/http/media_docs.ts"
import { type MediaServices, mediaRoutes } from "../adapters/driving/http/media_routes.ts"
import { checkSecret } from "../domain/media/graph_address.ts"
import { DEFAULT_MEDIA_RULES } from "../domain/media/policy.ts"
import { type Area, makeArea, type StartError } from "./area.ts"
import { measurePosts } from "./area_gauges.ts"
import type { Config, InvalidConfiguration } from "./config.ts"
import { type CheckedGraph, checkGraphSetup, type GraphSetup, graphLayer } from "./media_layers.ts"
import { setupMistake } from "./setup_mistake.ts"
import type { Store } from "./store.ts"

/**
 * The configured graph, checked; `undefined` when none is configured.
 *
 * @param change what differs from the library's defaults
 * @fails {InvalidConfiguration} naming the variable and the rule it breaks
 */
export const graphSetup = Effect.fnUntraced(function* (
  config: Config,
  change: Partial<GraphSetup>,
): Effect.fn.Return<CheckedGraph | undefined, InvalidConfiguration> {
  const { GRAPH_URL: graphUrl, GRAPH_API_VERSION: apiVersion, GRAPH_ACCESS_TOKEN: accessToken } = config
  if (graphUrl === undefined || apiVersion === undefined) return undefined
  const setup: GraphSetup = {
    graphUrl,
    apiVersion,
    accessToken: accessToken === undefined ? Effect.fail("none configured") : Effect.succeed(accessToken),
    accountId: config.GRAPH_ACCOUNT_ID,
    timeoutMs: 30_000,
    rules: DEFAULT_MEDIA_RULES,
    parameters: "query",
    token: "query",
    allowInsecure: false,
    ...change,
  }
  const checks = Effect.tap(checkGraphSetup(setup), () =>
    accessToken === undefined ? Effect.void : checkSecret("accessToken", Redacted.value(accessToken)),
  )
  return yield* Effect.mapError(checks, setupMistake)
})

/**
 * Deadline of one exchange, and longest pause for the rate limit, ms. The service answers a request within 15 s, and a
 * publish call that has begun is not interrupted: it must end soon after.
 */
const SERVICE_TIMEOUT_MS = 10_000
const SERVICE_PAUSE_MAX_MS = 5_000

/**
 * The media routes over their services.
 *
 * @param accountId media account for requests that name none
 * @param roles realm roles, any one of which may use them
 */
export const mediaAreaOver = (
  layer: Layer.Layer<MediaServices, StartError>,
  accountId: string | undefined,
  roles: ReadonlyArray<string>,
): Area =>
  makeArea(layer, (services, parts) => ({
    open: [mediaRoutes({ services, roles, accountId, ...parts })],
    measure: measurePosts(services),
    schemas: MEDIA_SCHEMAS,
  }))

/**
 * The media area where a graph is configured. The journal lives in the store.
 *
 * @fails {InvalidConfiguration} for a graph that can never work
 */
export const mediaArea = Effect.fnUntraced(function* (
  config: Config,
  store: Store,
): Effect.fn.Return<Area | undefined, InvalidConfiguration> {
  const graph = yield* graphSetup(config, {
    timeoutMs: SERVICE_TIMEOUT_MS,
    rules: { ...DEFAULT_MEDIA_RULES, pauseMaxMs: SERVICE_PAUSE_MAX_MS },
  })
  return graph === undefined
    ? undefined
    : mediaAreaOver(Layer.merge(graphLayer(graph), store), graph.accountId, config.MEDIA_ROLES)
})
