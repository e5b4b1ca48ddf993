import { Effect, Layer, Redacted } from "effect"
import * as memoryRecords from "../adapters/driven/record_repository/memory.ts"
import * as joseVerifier from "../adapters/driven/token_verifier/jose.ts"
import type { InvalidIdentitySetup } from "../domain/identity/errors.ts"
import type { TokenVerifier } from "../domain/identity/token_verifier.ts"
import type { StoreUnavailable } from "../domain/records/errors.ts"
import type { RecordRepository } from "../domain/records/record_repository.ts"
import { type Config, type Mistake, sqlitePath, type VariableName } from "./config.ts"

/**
 * The swap table: which adapter stands behind a port, chosen by configuration. An adapter that needs a package of its
 * own is imported only when it is chosen: the MongoDB driver alone would double the start time.
 */
export const repositoryLayer = (config: Config): Layer.Layer<RecordRepository, StoreUnavailable> => {
  switch (config.STORE) {
    case "memory":
      return memoryRecords.layer
    case "sqlite":
      return Layer.unwrap(
        Effect.promise(async () => {
          const records = await import("../adapters/driven/record_repository/sqlite.ts")
          const database = await import("../adapters/driven/sqlite_database.ts")
          return Layer.provide(records.layer, database.layer({ path: sqlitePath(config) }))
        }),
      )
    case "mongo":
      return Layer.unwrap(
        Effect.promise(async () => {
          const records = await import("../adapters/driven/record_repository/mongo.ts")
          const connection = await import("../adapters/driven/mongo_connection.ts")
          return Layer.provide(
            records.layer,
            connection.layer({
              url: config.MONGODB_URL ?? Redacted.make(""),
              maxOpenConnections: config.DB_MAX_OPEN_CONNS,
              maxIdleConnections: config.DB_MAX_IDLE_CONNS,
            }),
          )
        }),
      )
  }
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
