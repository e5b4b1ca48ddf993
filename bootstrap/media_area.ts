import { Effect, Redacted } from "effect"
import { mediaRoutes } from "../adapters/driving/http/media_routes.ts"
import { checkSecret } from "../domain/media/graph_address.ts"
import { DEFAULT_MEDIA_RULES } from "../domain/media/policy.ts"
import { type Area, makeArea } from "./area.ts"
import type { Config, InvalidConfiguration } from "./config.ts"
import { checkGraphSetup, type GraphSetup, mediaLayer } from "./media_layers.ts"
import { setupMistake } from "./setup_mistake.ts"
import type { Store } from "./store.ts"

/**
 * The configured graph, checked; `undefined` when none is configured.
 *
 * @fails {InvalidConfiguration} naming the variable and the rule it breaks
 */
export const graphSetup = Effect.fnUntraced(function* (
  config: Config,
  change: Partial<GraphSetup>,
): Effect.fn.Return<GraphSetup | undefined, InvalidConfiguration> {
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
  const checks = Effect.andThen(
    checkGraphSetup(setup),
    accessToken === undefined ? Effect.void : checkSecret("accessToken", Redacted.value(accessToken)),
  )
  yield* Effect.mapError(checks, setupMistake)
  return setup
})

/** Requests are answered within 15 s: an exchange that cannot be interrupted must end soon after. */
const SERVICE_TIMEOUT_MS = 10_000
const SERVICE_PAUSE_MAX_MS = 5_000

/**
 * The media area where a graph is configured. The journal lives in the store.
 *
 * @fails {InvalidConfiguration} for a graph that can never work
 */
export const mediaArea = Effect.fnUntraced(function* (
  config: Config,
  store: Store,
): Effect.fn.Return<Area | undefined, InvalidConfiguration> {
  const setup = yield* graphSetup(config, {
    timeoutMs: SERVICE_TIMEOUT_MS,
    rules: { ...DEFAULT_MEDIA_RULES, pauseMaxMs: SERVICE_PAUSE_MAX_MS },
  })
  return setup === undefined
    ? undefined
    : makeArea(mediaLayer(setup, store), (services, parts) => ({
        open: [mediaRoutes({ services, roles: config.MEDIA_ROLES, accountId: setup.accountId, ...parts })],
      }))
})
