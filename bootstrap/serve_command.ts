import { Effect, Redacted } from "effect"
import { Elysia } from "elysia"
import { done, type Terminal } from "../adapters/driving/cli/command.ts"
import { collectionDocs } from "../adapters/driving/http/collection_docs.ts"
import { products } from "../domain/records/products.ts"
import { makeSecretMask } from "../domain/secret_mask.ts"
import type { Area, StartError } from "./area.ts"
import {
  type Config,
  configuredSecrets,
  InvalidConfiguration,
  isConfigured,
  readEnvironment,
  type VariableName,
} from "./config.ts"
import { DEMO_ROLES, makeDemoRealm } from "./demo_realm.ts"
import { verifierLayer } from "./identity_area.ts"
import { makeLog, standardError } from "./log_output.ts"
import { serveUntilStopped } from "./serve.ts"
import { makeService, type ServiceOptions } from "./service.ts"
import { setupMistake } from "./setup_mistake.ts"
import { type Store, storeLayer } from "./store.ts"
import { telemetryLayer } from "./telemetry.ts"

const invalid = (variable: VariableName, rule: string) => new InvalidConfiguration({ mistakes: [{ variable, rule }] })

type Extension = Pick<ServiceOptions, "collections"> & Partial<Pick<ServiceOptions, "extend">>

/** Builds the service from the configuration and serves it until a signal comes. */
const run = (config: Config, extension: Extension, announce: (url: string) => void) =>
  Effect.gen(function* () {
    const output = standardError()
    const log = makeLog(config, output)
    if (config.STORE === "memory") log.line("WARN", "STORE=memory: records and journals are lost when the process ends")
    const store = storeLayer(config)
    const areas = yield* configuredAreas(config, store)
    const telemetry = telemetryLayer(config)
    const service = yield* Effect.tryPromise({
      try: () =>
        makeService({
          log,
          repository: store,
          areas,
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

/** `portolan serve`: production; it needs the realm's keys (contract section 0). */
export const serve = Effect.gen(function* () {
  const config = yield* readEnvironment
  if (config.AUTH_PUBLIC_KEY === undefined && config.AUTH_JWKS_URL === undefined)
    return yield* invalid("AUTH_PUBLIC_KEY", "is required by 'serve', or AUTH_JWKS_URL instead")
  const collections = config.COLLECTIONS === undefined ? [products] : yield* authored(config, config.COLLECTIONS)
  return yield* run(config, { collections }, () => {})
})

const AUTH_VARIABLES = [
  "AUTH_PUBLIC_KEY",
  "AUTH_JWKS_URL",
  "AUTH_ISSUER",
  "AUTH_AUDIENCE",
  "AUTH_CLOCK_TOLERANCE_S",
  "AUTH_REQUIRE_TYP",
] as const

/** The delete handler mounted a second time, behind a role (seed 4.1, "Custom mounting"). */
export const demoRoutes: NonNullable<ServiceOptions["extend"]> = (setups, { guard }) => {
  const handler = setups.get("products")?.handler
  if (handler === undefined) return []
  const roles = ["catalogue-admin"]
  return [
    new Elysia().delete("/admin/products/:id", handler.delete, {
      beforeHandle: guard.requireRoles(roles),
      detail: {
        ...collectionDocs({ ...products, roles: { delete: roles } }).delete,
        operationId: "delete_products_as_admin",
        summary: "Delete as a catalogue admin",
      },
    }),
  ]
}

const demoScreen = (url: string, token: string): string => {
  const authorization = `-H "Authorization: Bearer ${token}"`
  return `Portolan demo: not for production. Its realm and token exist for this run only.

  Address   ${url}
  API page  ${url}/openapi
  Roles     ${DEMO_ROLES.join(", ")}

Token:

${token}

Create, list, get:

curl -s -X POST ${url}/api/products -H "Content-Type: application/json" -d '{"name":"Anchor chain","price":12.5}' ${authorization}

curl -s "${url}/api/products?limit=10" ${authorization}

curl -s ${url}/api/products/1 ${authorization}

Stop with Ctrl-C. Log lines follow.

`
}

/** `portolan demo`: the products collection behind a realm made for this run (contract section 0). */
export const demo = Effect.fnUntraced(function* (terminal: Terminal) {
  const config = yield* readEnvironment
  const set = AUTH_VARIABLES.filter(isConfigured)
  if (set.length > 0)
    return yield* new InvalidConfiguration({
      mistakes: set.map((variable) => ({
        variable,
        rule: "must not be set for the demo, which makes its own realm; use 'portolan serve'",
      })),
    })
  const { publicKey, token } = yield* Effect.promise(makeDemoRealm)
  return yield* run(
    { ...config, AUTH_PUBLIC_KEY: Redacted.make(publicKey) },
    { collections: [products], extend: demoRoutes },
    (url) => terminal.out(demoScreen(url, token)),
  )
})
