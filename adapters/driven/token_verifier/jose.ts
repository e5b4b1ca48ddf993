import { Effect, Layer, type Scope } from "effect"
import { judgeClaims } from "../../../domain/identity/access_token.ts"
import { InvalidIdentitySetup } from "../../../domain/identity/errors.ts"
import { makeTokenRules, type TokenRules } from "../../../domain/identity/token_rules.ts"
import { TokenVerifier } from "../../../domain/identity/token_verifier.ts"
import { VERIFIED_TOKENS_DEFAULT, VerifiedTokens } from "../../../domain/identity/verified_tokens.ts"
import { followKeySet } from "./jose_key_set.ts"
import { readKeys } from "./jose_keys.ts"
import { fixed, type KeysFor, published, readHeader, signedPayload } from "./jose_signature.ts"

/** Where the realm's keys come from, and what its tokens must satisfy. */
export interface JoseOptions extends TokenRules {
  /** Fixed key or keys, in any form {@link readKeys} takes. Exactly one of `keys` and `jwksUrl` is given. */
  readonly keys?: string
  /** Address of the realm's JWKS document. */
  readonly jwksUrl?: string
  /** Milliseconds a fetch of that document may take; 5000 when absent. */
  readonly jwksTimeoutMs?: number
  /** Verified tokens remembered at most; {@link VERIFIED_TOKENS_DEFAULT} when absent, 0 for none. */
  readonly cacheSize?: number
}

interface Keys {
  readonly keysFor: KeysFor
  readonly ready: TokenVerifier["Service"]["ready"]
}

const makeKeys = Effect.fnUntraced(function* (
  { keys, jwksUrl, jwksTimeoutMs }: JoseOptions,
  onChange: () => void,
): Effect.fn.Return<Keys, InvalidIdentitySetup, Scope.Scope> {
  if (keys !== undefined && jwksUrl !== undefined)
    return yield* new InvalidIdentitySetup({ option: "jwksUrl", rule: "must not be given beside 'keys'" })
  if (jwksUrl !== undefined) {
    const set = yield* followKeySet(jwksUrl, onChange, jwksTimeoutMs)
    return { keysFor: published(set), ready: set.ready }
  }
  if (keys !== undefined) return { keysFor: fixed(yield* readKeys(keys)), ready: Effect.void }
  return yield* new InvalidIdentitySetup({ option: "keys", rule: "must be given, or 'jwksUrl' instead" })
})

const makeVerifier = Effect.fnUntraced(function* (options: JoseOptions) {
  const { cacheSize = VERIFIED_TOKENS_DEFAULT } = options
  if (!Number.isSafeInteger(cacheSize) || cacheSize < 0)
    return yield* new InvalidIdentitySetup({ option: "cacheSize", rule: "must be a whole number from 0" })
  const rules = yield* makeTokenRules(options)
  let verified = new VerifiedTokens(cacheSize)
  const { keysFor, ready } = yield* makeKeys(options, () => {
    verified = new VerifiedTokens(cacheSize)
  })

  const judge = Effect.fnUntraced(function* (token: string, nowS: number) {
    const header = yield* readHeader(token)
    const keys = yield* keysFor(header)
    // Taken together with the keys: when they change meanwhile, their verdict is remembered by nobody.
    const memory = verified
    const payload = yield* signedPayload(token, keys)
    const claims = yield* judgeClaims(payload, header, rules, nowS)
    memory.add(token, claims, Number(payload["nbf"] ?? 0))
    return claims
  })

  return TokenVerifier.of({
    ready,
    recall: (token, nowS) => verified.get(token, nowS),
    verify: (token) =>
      Effect.clockWith((clock) => {
        const nowS = clock.currentTimeMillisUnsafe() / 1000
        const remembered = verified.get(token, nowS)
        return remembered === undefined ? judge(token, nowS) : Effect.succeed(remembered)
      }),
  })
})

/**
 * Verifies RS256 access tokens with the realm's fixed keys or its published key set.
 *
 * @fails {InvalidIdentitySetup} at start when a key, address, issuer, audience, tolerance or size can never work
 * @see seed section 5; contract section 2, token rules
 */
export const layer = (options: JoseOptions): Layer.Layer<TokenVerifier, InvalidIdentitySetup> =>
  Layer.effect(TokenVerifier, makeVerifier(options))
