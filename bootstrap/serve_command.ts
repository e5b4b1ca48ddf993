import { Effect } from "effect"
import { done } from "../adapters/driving/cli/command.ts"
import { products } from "../domain/records/products.ts"
import { makeSecretMask } from "../domain/secret_mask.ts"
import type { Area, StartError } from "./area.ts"
import { type Config, configuredSecrets, InvalidConfiguration, readEnvironment } from "./config.ts"
import { verifierLayer } from "./identity_area.ts"
import { makeLog, standardError } from "./log_output.ts"
import { serveUntilStopped } from "./serve.ts"
import { makeService, type ServiceOptions } from "./service.ts"
import { setupMistake } from "./setup_mistake.ts"
import { type Store, storeLayer } from "./store.ts"
import { telemetryLayer } from "./telemetry.ts"
import { watchedStore } from "./watched_ports.ts"

/** What a way to serve adds to what is configured. */
type Extension = Pick<ServiceOptions, "collections"> & Partial<Pick<ServiceOptions, "areas" | "extend" | "pageToken">>

/**
 * Builds the service from the configuration and serves it until a signal comes.
 *
 * @param extension what is served beside the configured areas
 * @param announce called with the public address once it answers
 */
export const serveConfigured = (
  config: Config,
  { areas: added = [], ...extension }: Extension,
  announce: (url: string) => void,
) =>
  Effect.gen(function* () {
    const output = standardError()
    const log = makeLog(config, output)
    if (config.STORE === "memory") log.line("WARN", "STORE=memory: records and journals are lost when the process ends")
    const telemetry = telemetryLayer(config)
    const store = watchedStore(storeLayer(config), config.STORE, telemetry !== undefined)
    const areas = yield* configuredAreas(config, store)
    const service = yield* Effect.tryPromise({
      try: () =>
        makeService({
          log,
          repository: store,
          areas: [...areas, ...added],
          verifier: verifierLayer(config),
          ...(telemetry === undefined ? {} : { telemetry }),
          separateAdmin: config.ADMIN_PORT !== undefined,
          maxInFlight: config.MAX_IN_FLIGHT,
          maxFeeds: config.MAX_FEEDS,
          ...(config.CORS_ORIGINS === undefined ? {} : { corsOrigins: config.CORS_ORIGINS }),
          ...extension,
        }),
      catch: (failure) => failure as StartError,
    }).pipe(Effect.mapError((error) => (error._tag === "StoreUnavailable" ? error : setupMistake(error))))
    yield* serveUntilStopped(config, service, log, output, announce)
    return done(null)
  })

/** The areas beside records that are configured; an area that is not costs nothing at start, not even its import. */
const configuredAreas = Effect.fnUntraced(function* (config: Config, store: Store) {
  const areas: Array<Area> = []
  if (config.SCHEDULER_URL !== undefined) {
    const { schedulerArea } = yield* Effect.promise(() => import("./scheduler_area.ts"))
    areas.push(schedulerArea(config, config.SCHEDULER_URL, store))
  }
  if (config.GRAPH_URL !== undefined) {
    const { mediaArea } = yield* Effect.promise(() => import("./media_area.ts"))
    const media = yield* mediaArea(config, store)
    if (media !== undefined) areas.push(media)
  }
  return areas
})

/** The collections of the author's file. What a module says when it throws is shown, so it is masked. */
const authored = Effect.fnUntraced(function* (config: Config, file: string) {
  const { loadCollections } = yield* Effect.promise(() => import("./collections_file.ts"))
  const mask = makeSecretMask(configuredSecrets(config))
  return yield* Effect.mapError(
    loadCollections(file),
    ({ mistakes }) =>
      new InvalidConfiguration({
        mistakes: mistakes.map(({ variable, rule }) => ({ variable, rule: mask.text(rule) })),
      }),
  )
})

/**
 * `portolan serve`: production; it needs the realm's keys (specification 10).
 *
 * @param port to listen on; PORT when undefined
 */
export const serve = Effect.fnUntraced(function* (port: number | undefined) {
  const config = yield* readEnvironment
  if (config.AUTH_PUBLIC_KEY === undefined && config.AUTH_JWKS_URL === undefined)
    return yield* new InvalidConfiguration({
      mistakes: [{ variable: "AUTH_PUBLIC_KEY", rule: "is required by 'serve', or AUTH_JWKS_URL instead" }],
      instead: "demo",
    })
  const collections = config.COLLECTIONS === undefined ? [products] : yield* authored(config, config.COLLECTIONS)
  return yield* serveConfigured({ ...config, PORT: port ?? config.PORT }, { collections }, () => {})
})
