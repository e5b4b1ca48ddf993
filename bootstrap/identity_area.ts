import { type Layer, Redacted } from "effect"
import * as joseVerifier from "../adapters/driven/token_verifier/jose.ts"
import type { InvalidIdentitySetup } from "../domain/identity/errors.ts"
import type { TokenVerifier } from "../domain/identity/token_verifier.ts"
import type { Config } from "./config.ts"

/**
 * The configured realm's verifier.
 *
 * @fails {InvalidIdentitySetup} at start, naming the option that can never work
 */
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
