import { Effect, Layer } from "effect"
import { judgeClaims } from "../../../domain/identity/access_token.ts"
import { InvalidIdentitySetup } from "../../../domain/identity/errors.ts"
import { makeTokenRules, type TokenRules } from "../../../domain/identity/token_rules.ts"
import { TokenVerifier } from "../../../domain/identity/token_verifier.ts"
import { followKeySet } from "./jose_key_set.ts"
import { readKeys } from "./jose_keys.ts"
import { fixed, published } from "./jose_signature.ts"
import { makeSignedTokens, REMEMBERED } from "./jose_signed_tokens.ts"

/** Where the realm's keys come from, and what its tokens must satisfy. */
export interface JoseOptions extends TokenRules {
  /** Fixed key or keys, in any form {@link readKeys} takes. Exactly one of `keys` and `jwksUrl` is given. */
  readonly keys?: string
  /** Address of the realm's JWKS document. */
  readonly jwksUrl?: string
  /** Milliseconds a fetch of that document may take; 5000 when absent. */
  readonly jwksTimeoutMs?: number
  /** Tokens remembered at most; 4000 when absent, 0 for none. */
  readonly cacheSize?: number
}

const makeKeys =
  ({ keys, jwksUrl, jwksTimeoutMs }: JoseOptions) =>
  (onChange: () => void) =>
    Effect.gen(function* () {
      if (keys !== undefined && jwksUrl !== undefined)
        return yield* new InvalidIdentitySetup({ option: "jwksUrl", rule: "must not be given beside 'keys'" })
      if (jwksUrl !== undefined) {
        const set = yield* followKeySet(jwksUrl, onChange, jwksTimeoutMs)
        return { keysFor: published(set), ready: set.ready }
      }
      if (keys !== undefined) return { keysFor: fixed(yield* readKeys(keys)), ready: Effect.void }
      return yield* new InvalidIdentitySetup({ option: "keys", rule: "must be given, or 'jwksUrl' instead" })
    })

const makeVerifier = Effect.fnUntraced(function* (options: JoseOptions, now: () => number) {
  const { cacheSize = REMEMBERED } = options
  if (!Number.isSafeInteger(cacheSize) || cacheSize < 0)
    return yield* new InvalidIdentitySetup({ option: "cacheSize", rule: "must be a whole number from 0" })
  const rules = yield* makeTokenRules(options)
  const { open, ready } = yield* makeSignedTokens(makeKeys(options), cacheSize)
  return TokenVerifier.of({
    ready,
    verify: (token) =>
      Effect.flatMapEager(open(token), ({ header, payload }) => judgeClaims(payload, header, rules, now())),
  })
})

/**
 * Verifies RS256 access tokens with the realm's fixed keys or its published key set.
 *
 * Tokens whose signature holds are remembered until the published keys change; what they say is judged at every use. Others
 * are not remembered, so a flood of made-up tokens pushes no good one out.
 *
 * @param options the realm's keys, and the rules its tokens must satisfy
 * @param now gives the time, seconds since the epoch; the system's clock when omitted
 * @fails {InvalidIdentitySetup} at start when a key, address, issuer, audience, tolerance or size can never work
 * @see specification 5 and 12, token rules
 */
export const layer = (
  options: JoseOptions,
  now: () => number = () => Date.now() / 1000,
): Layer.Layer<TokenVerifier, InvalidIdentitySetup> => Layer.effect(TokenVerifier, makeVerifier(options, now))
