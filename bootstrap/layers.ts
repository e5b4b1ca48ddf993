import { Effect, Layer, Redacted } from "effect"
import * as memoryRecords from "../adapters/driven/record_repository/memory.ts"
import * as memoryRestarts from "../adapters/driven/restart_journal/memory.ts"
import * as httpScheduler from "../adapters/driven/scheduler/http.ts"
import * as joseVerifier from "../adapters/driven/token_verifier/jose.ts"
import * as restarts from "../application/scheduler/restarts.ts"
import type { InvalidIdentitySetup } from "../domain/identity/errors.ts"
import type { TokenVerifier } from "../domain/identity/token_verifier.ts"
import type { StoreUnavailable } from "../domain/records/errors.ts"
import type { RecordRepository } from "../domain/records/record_repository.ts"
import type { InvalidSchedulerSetup } from "../domain/scheduler/errors.ts"
import type { RestartJournal } from "../domain/scheduler/restart_journal.ts"
import { RESTART_RULES } from "../domain/scheduler/restart_plan.ts"
import type { SchedulerPort } from "../domain/scheduler/scheduler_port.ts"
import { type Config, type Mistake, sqlitePath, type VariableName } from "./config.ts"
import type { SchedulerArea } from "./service.ts"

/** Where records and journals live. */
export type StoreChoice =
  | "memory"
  /** Path of the SQLite file. */
  | { readonly sqlite: string }
  /** Connection string; the database comes from its path, else `portolan`. Pool sizes: the driver's own when omitted. */
  | { readonly mongodb: string; readonly maxOpenConnections?: number; readonly maxIdleConnections?: number }

/** What one store holds: records, and the journal of restarts. */
type Store = Layer.Layer<RecordRepository | RestartJournal, StoreUnavailable>

/**
 * The swap table: which adapters stand behind the ports of a store, over one connection. An adapter that needs a package of its own is imported only
 * when it is chosen: the MongoDB driver alone would double the start time.
 */
export const storeOf = (store: StoreChoice): Store => {
  if (store === "memory") return Layer.merge(memoryRecords.layer, memoryRestarts.layer)
  if ("sqlite" in store)
    return Layer.unwrap(
      Effect.promise(async () => {
        const records = await import("../adapters/driven/record_repository/sqlite.ts")
        const journal = await import("../adapters/driven/restart_journal/sqlite.ts")
        const database = await import("../adapters/driven/sqlite_database.ts")
        return Layer.provide(Layer.merge(records.layer, journal.layer), database.layer({ path: store.sqlite }))
      }),
    )
  return Layer.unwrap(
    Effect.promise(async () => {
      const records = await import("../adapters/driven/record_repository/mongo.ts")
      const journal = await import("../adapters/driven/restart_journal/mongo.ts")
      const connection = await import("../adapters/driven/mongo_connection.ts")
      const { mongodb, maxOpenConnections, maxIdleConnections } = store
      return Layer.provide(
        Layer.merge(records.layer, journal.layer),
        connection.layer({ url: Redacted.make(mongodb), maxOpenConnections, maxIdleConnections }),
      )
    }),
  )
}

/** The configured store. */
export const storeLayer = (config: Config): Store => {
  if (config.STORE === "memory") return storeOf("memory")
  if (config.STORE === "sqlite") return storeOf({ sqlite: sqlitePath(config) })
  const { MONGODB_URL = Redacted.make(""), DB_MAX_OPEN_CONNS: open, DB_MAX_IDLE_CONNS: idle } = config
  return storeOf({
    mongodb: Redacted.value(MONGODB_URL),
    ...(open === undefined ? {} : { maxOpenConnections: open }),
    ...(idle === undefined ? {} : { maxIdleConnections: idle }),
  })
}

/** How long the end of the service waits for second steps of restarts, within the time a supervisor usually grants. */
const RESTART_GRACE = "8 seconds"

/** The scheduler's client and restarts, when an agent is configured. The journal lives in the store. */
export const schedulerArea = (config: Config, store: Store): SchedulerArea | undefined => {
  if (config.SCHEDULER_URL === undefined) return undefined
  const client = schedulerClient(config, config.SCHEDULER_URL)
  const layer = restarts.layer(RESTART_RULES, RESTART_GRACE).pipe(Layer.provideMerge(client), Layer.provide(store))
  return { layer, roles: config.SCHEDULER_ROLES }
}

export const schedulerClient = (config: Config, baseUrl: string): Layer.Layer<SchedulerPort, InvalidSchedulerSetup> =>
  httpScheduler.layer({
    baseUrl,
    scaleGroup: config.SCHEDULER_SCALE_GROUP,
    debug: config.SCHEDULER_LOG_LEVEL === "debug",
    ...(config.SCHEDULER_TOKEN === undefined ? {} : { token: config.SCHEDULER_TOKEN }),
  })

const SCHEDULER_VARIABLES: Readonly<Record<string, VariableName>> = {
  baseUrl: "SCHEDULER_URL",
  token: "SCHEDULER_TOKEN",
  scaleGroup: "SCHEDULER_SCALE_GROUP",
}

/** A scheduler setup that can never work, as a mistake in the variable it came from. */
export const schedulerMistake = ({ option, rule }: InvalidSchedulerSetup): Mistake => ({
  variable: SCHEDULER_VARIABLES[option] ?? "SCHEDULER_URL",
  rule,
})

export const verifierLayer = (config: Config): Layer.Layer<TokenVerifier, InvalidIdentitySetup> => {
  const { AUTH_PUBLIC_KEY, AUTH_JWKS_URL, AUTH_ISSUER, AUTH_AUDIENCE } = config
  return joseVerifier.layer({
    ...(AUTH_PUBLIC_KEY === undefined ? {} : { keys: Redacted.value(AUTH_PUBLIC_KEY) }),
    ...(AUTH_JWKS_URL === undefined ? {} : { jwksUrl: AUTH_JWKS_URL }),
    ...(AUTH_ISSUER === undefined ? {} : { issuer: AUTH_ISSUER }),
    ...(AUTH_AUDIENCE === undefined ? {} : { audience: AUTH_AUDIENCE }),
    clockToleranceS: config.AUTH_CLOCK_TOLERANCE_S,
    requireTyp: config.AUTH_REQUIRE_TYP,
  })
}

const VARIABLE_OF: Readonly<Record<string, VariableName>> = {
  keys: "AUTH_PUBLIC_KEY",
  jwksUrl: "AUTH_JWKS_URL",
  issuer: "AUTH_ISSUER",
  audience: "AUTH_AUDIENCE",
  clockToleranceS: "AUTH_CLOCK_TOLERANCE_S",
}

/** An identity setup that can never work, as a mistake in the variable it came from. */
export const identityMistake = ({ option, rule }: InvalidIdentitySetup): Mistake => ({
  variable: VARIABLE_OF[option] ?? "AUTH_PUBLIC_KEY",
  rule,
})
