import { Effect, Layer, Redacted } from "effect"
import * as memoryRecords from "../adapters/driven/record_repository/memory.ts"
import * as joseVerifier from "../adapters/driven/token_verifier/jose.ts"
import type { InvalidIdentitySetup } from "../domain/identity/errors.ts"
import type { TokenVerifier } from "../domain/identity/token_verifier.ts"
import type { StoreUnavailable } from "../domain/records/errors.ts"
import type { RecordRepository } from "../domain/records/record_repository.ts"
import { type Config, type Mistake, sqlitePath, type VariableName } from "./config.ts"

/** Where records live. */
export type StoreChoice =
  | "memory"
  /** Path of the SQLite file. */
  | { readonly sqlite: string }
  /** Connection string; the database comes from its path, else `portolan`. Pool sizes: the driver's own when omitted. */
  | { readonly mongodb: string; readonly maxOpenConnections?: number; readonly maxIdleConnections?: number }

/**
 * The swap table: which adapter stands behind the port. An adapter that needs a package of its own is imported only
 * when it is chosen: the MongoDB driver alone would double the start time.
 */
export const repositoryOf = (store: StoreChoice): Layer.Layer<RecordRepository, StoreUnavailable> => {
  if (store === "memory") return memoryRecords.layer
  if ("sqlite" in store)
    return Layer.unwrap(
      Effect.promise(async () => {
        const records = await import("../adapters/driven/record_repository/sqlite.ts")
        const database = await import("../adapters/driven/sqlite_database.ts")
        return Layer.provide(records.layer, database.layer({ path: store.sqlite }))
      }),
    )
  return Layer.unwrap(
    Effect.promise(async () => {
      const records = await import("../adapters/driven/record_repository/mongo.ts")
      const connection = await import("../adapters/driven/mongo_connection.ts")
      const { mongodb, maxOpenConnections, maxIdleConnections } = store
      return Layer.provide(
        records.layer,
        connection.layer({ url: Redacted.make(mongodb), maxOpenConnections, maxIdleConnections }),
      )
    }),
  )
}

/** The configured store. */
export const repositoryLayer = (config: Config): Layer.Layer<RecordRepository, StoreUnavailable> => {
  if (config.STORE === "memory") return repositoryOf("memory")
  if (config.STORE === "sqlite") return repositoryOf({ sqlite: sqlitePath(config) })
  const { MONGODB_URL = Redacted.make(""), DB_MAX_OPEN_CONNS: open, DB_MAX_IDLE_CONNS: idle } = config
  return repositoryOf({
    mongodb: Redacted.value(MONGODB_URL),
    ...(open === undefined ? {} : { maxOpenConnections: open }),
    ...(idle === undefined ? {} : { maxIdleConnections: idle }),
  })
}

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
