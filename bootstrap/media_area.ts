import { Effect, Redacted } from "effect"
import type { InvalidMediaSetup } from "../domain/media/errors.ts"
import { checkSecret } from "../domain/media/graph_address.ts"
import { DEFAULT_MEDIA_RULES } from "../domain/media/policy.ts"
import { type Config, InvalidConfiguration, type Mistake, type VariableName } from "./config.ts"
import { checkGraphSetup, type GraphSetup, mediaLayer } from "./media_layers.ts"
import type { MediaArea } from "./service.ts"
import type { Store } from "./store.ts"

const VARIABLE_OF: Readonly<Record<string, VariableName>> = {
  graphUrl: "GRAPH_URL",
  apiVersion: "GRAPH_API_VERSION",
  accountId: "GRAPH_ACCOUNT_ID",
  accessToken: "GRAPH_ACCESS_TOKEN",
}

/** A media setup that can never work, as a mistake in the variable it came from. */
export const mediaMistake = ({ option, rule }: InvalidMediaSetup): Mistake => ({
  variable: VARIABLE_OF[option] ?? "GRAPH_URL",
  rule,
})

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
  yield* Effect.mapError(checks, (error) => new InvalidConfiguration({ mistakes: [mediaMistake(error)] }))
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
): Effect.fn.Return<MediaArea | undefined, InvalidConfiguration> {
  const setup = yield* graphSetup(config, {
    timeoutMs: SERVICE_TIMEOUT_MS,
    rules: { ...DEFAULT_MEDIA_RULES, pauseMaxMs: SERVICE_PAUSE_MAX_MS },
  })
  return setup === undefined
    ? undefined
    : { layer: mediaLayer(setup, store), roles: config.MEDIA_ROLES, accountId: setup.accountId }
})
