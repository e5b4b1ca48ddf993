import { Effect, Layer, ManagedRuntime, Redacted } from "effect"
import { mediaRoutes } from "../adapters/driving/http/media_routes.ts"
import type { InvalidMediaSetup } from "../domain/media/errors.ts"
import { checkSecret } from "../domain/media/graph_address.ts"
import { DEFAULT_MEDIA_RULES } from "../domain/media/policy.ts"
import type { StoreUnavailable } from "../domain/records/errors.ts"
import { type Config, InvalidConfiguration, type VariableName } from "./config.ts"
import { type StoreChoice, storeChoice } from "./layers.ts"
import type { Log } from "./log_output.ts"
import { checkGraphSetup, type GraphSetup, mediaLayer, publishJournalOf } from "./media_layers.ts"
import type { ServiceOptions } from "./service.ts"

const VARIABLE_OF: Readonly<Record<string, VariableName>> = {
  graphUrl: "GRAPH_URL",
  apiVersion: "GRAPH_API_VERSION",
  accountId: "GRAPH_ACCOUNT_ID",
  accessToken: "GRAPH_ACCESS_TOKEN",
}

/** A media setup that can never work, as a mistake in the variable it came from. */
const mediaMistake = ({ option, rule }: InvalidMediaSetup): InvalidConfiguration =>
  new InvalidConfiguration({ mistakes: [{ variable: VARIABLE_OF[option] ?? "GRAPH_URL", rule }] })

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
  yield* Effect.mapError(checks, mediaMistake)
  return setup
})

/** Requests are answered within 15 s: an exchange that cannot be interrupted must end soon after. */
const SERVICE_TIMEOUT_MS = 10_000
const SERVICE_PAUSE_MAX_MS = 5_000

/** The media area of a service: its routes, and an end that drains them. */
export interface MediaArea {
  readonly extend: NonNullable<ServiceOptions["extend"]>
  readonly close: Effect.Effect<void>
}

const NONE: MediaArea = { extend: () => [], close: Effect.void }

/**
 * Opens the media area where a graph is configured.
 *
 * @fails {InvalidConfiguration} for a graph that can never work, {StoreUnavailable} when the journal cannot be opened
 */
export const openMediaArea = Effect.fnUntraced(function* (
  config: Config,
  log: Log,
): Effect.fn.Return<MediaArea, InvalidConfiguration | StoreUnavailable> {
  const setup = yield* graphSetup(config, {
    timeoutMs: SERVICE_TIMEOUT_MS,
    rules: { ...DEFAULT_MEDIA_RULES, pauseMaxMs: SERVICE_PAUSE_MAX_MS },
  })
  if (setup === undefined) return NONE
  const store: StoreChoice = storeChoice(config)
  const layer = Layer.provideMerge(mediaLayer(setup, publishJournalOf(store)), log.layer)
  const runtime = ManagedRuntime.make(layer)
  const services = yield* runtime.contextEffect.pipe(
    Effect.catchTag("InvalidMediaSetup", (error) => Effect.fail(mediaMistake(error))),
  )
  return {
    extend: (_setups, { guard, answerer }) => [
      mediaRoutes({ services, guard, answerer, roles: config.MEDIA_ROLES, accountId: setup.accountId }),
    ],
    close: Effect.promise(() => runtime.dispose()),
  }
})
