import { Effect, Layer, type Scope } from "effect"
import { LRUCache } from "lru-cache"
import { judgeClaims } from "../../../domain/identity/access_token.ts"
import type { Claims } from "../../../domain/identity/claims.ts"
import { InvalidIdentitySetup } from "../../../domain/identity/errors.ts"
import type { TokenObject } from "../../../domain/identity/token_kind.ts"
import { makeTokenRules, type TokenRules } from "../../../domain/identity/token_rules.ts"
import { TokenVerifier } from "../../../domain/identity/token_verifier.ts"
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
  /** Verified tokens remembered at most; 10000 when absent, 0 for none. */
  readonly cacheSize?: number
}

/** Verified tokens remembered when the setup does not say: at 1 KB each about 10 MB. */
const CACHE_SIZE_DEFAULT = 10_000

interface VerifiedToken {
  readonly claims: Claims
  /** `nbf` of the token, seconds since the epoch; 0 without one. */
  readonly notBefore: number
}

/** Both ends are checked at every use: the system's clock may also be set back. */
const holdsAt = ({ claims, notBefore }: VerifiedToken, nowS: number): boolean =>
  nowS >= notBefore && nowS < claims.expiresAt

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

const makeVerifier = Effect.fnUntraced(function* (options: JoseOptions, now: () => number) {
  const { cacheSize = CACHE_SIZE_DEFAULT } = options
  if (!Number.isSafeInteger(cacheSize) || cacheSize < 0)
    return yield* new InvalidIdentitySetup({ option: "cacheSize", rule: "must be a whole number from 0" })
  const rules = yield* makeTokenRules(options)
  const emptyMemory = () => (cacheSize === 0 ? undefined : new LRUCache<string, VerifiedToken>({ max: cacheSize }))
  let verified = emptyMemory()
  const { keysFor, ready } = yield* makeKeys(options, () => {
    verified = emptyMemory()
  })

  const judge = (token: string, header: TokenObject) =>
    Effect.flatMapEager(
      keysFor(header),
      Effect.fnUntraced(function* (keys) {
        // The memory that belongs to these keys. If the keys change during the check, a new memory is in use by then,
        // and this result goes into the old one, which nobody reads any more.
        const memory = verified
        const payload = yield* signedPayload(token, keys)
        const claims = yield* judgeClaims(payload, header, rules, now())
        memory?.set(token, { claims, notBefore: Number(payload["nbf"] ?? 0) })
        return claims
      }),
    )

  return TokenVerifier.of({
    ready,
    verify: (token) => {
      const known = verified?.get(token)
      if (known !== undefined && holdsAt(known, now())) return Effect.succeed(known.claims)
      return Effect.flatMapEager(readHeader(token), (header) => judge(token, header))
    },
  })
})

/**
 * Verifies RS256 access tokens with the realm's fixed keys or its published key set.
 *
 * Accepted tokens are remembered by their whole text until their `exp`, and forgotten when the published keys change.
 * Refused tokens are not remembered, so a flood of them pushes no good one out.
 *
 * @param options the realm's keys, and the rules its tokens must satisfy
 * @param now gives the time, seconds since the epoch; the system's clock when omitted
 * @fails {InvalidIdentitySetup} at start when a key, address, issuer, audience, tolerance or size can never work
 * @see seed section 5; contract section 2, token rules
 */
export const layer = (
  options: JoseOptions,
  now: () => number = () => Date.now() / 1000,
): Layer.Layer<TokenVerifier, InvalidIdentitySetup> => Layer.effect(TokenVerifier, makeVerifier(options, now))
