import { Effect, Layer, type Scope } from "effect"
import { base64url, compactVerify, errors } from "jose"
import { isCompactToken, judgeClaims, judgeHeader } from "../../../domain/identity/access_token.ts"
import { InvalidIdentitySetup, type KeysUnavailable, Unauthenticated } from "../../../domain/identity/errors.ts"
import type { TokenObject } from "../../../domain/identity/token_kind.ts"
import { makeTokenRules, type TokenRules } from "../../../domain/identity/token_rules.ts"
import { TokenVerifier } from "../../../domain/identity/token_verifier.ts"
import { VERIFIED_TOKENS_DEFAULT, VerifiedTokens } from "../../../domain/identity/verified_tokens.ts"
import { followKeySet, type KeySet } from "./jose_key_set.ts"
import { type RealmKey, readKeys } from "./jose_keys.ts"

/** Where the realm's keys come from, and what its tokens must satisfy. */
export interface JoseOptions extends TokenRules {
  /** Fixed key or keys, in any form {@link readKeys} takes. Exactly one of `keys` and `jwksUrl` is given. */
  readonly keys?: string
  /** Address of the realm's JWKS document. */
  readonly jwksUrl?: string
  /** Verified tokens remembered at most; {@link VERIFIED_TOKENS_DEFAULT} when absent, 0 for none. */
  readonly cacheSize?: number
}

/** Finds the keys that may have signed a token with this header. */
type KeysFor = (header: TokenObject) => Effect.Effect<ReadonlyArray<RealmKey>, Unauthenticated | KeysUnavailable>

const refuse = (reason: Unauthenticated["reason"]) => new Unauthenticated({ reason })

const malformed = () => refuse("malformed")

/** A fixed key is tried whatever the token's `kid` says: certificates and bare keys have none. */
const fixed =
  (keys: ReadonlyArray<RealmKey>): KeysFor =>
  () =>
    Effect.succeed(keys)

const published =
  (set: KeySet): KeysFor =>
  (header) => {
    const { kid } = header
    const candidates = () => (kid === undefined ? set.known() : set.known().filter((key) => key.kid === kid))
    const found = candidates()
    return found.length > 0 ? Effect.succeed(found) : Effect.map(set.refresh, candidates)
  }

// Broken UTF-8 and a byte order mark are refused: what was signed is what is read.
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

const objectOf = (bytes: () => Uint8Array): Effect.Effect<TokenObject, Unauthenticated> =>
  Effect.try({ try: (): unknown => JSON.parse(utf8.decode(bytes())), catch: malformed }).pipe(
    Effect.filterOrFail(
      (value): value is TokenObject => typeof value === "object" && value !== null && !Array.isArray(value),
      malformed,
    ),
  )

/** Every failure of the token library is a refusal: keys were checked at setup, so it can only be the token's fault. */
const checkSignature = (token: string, { key }: RealmKey): Effect.Effect<Uint8Array, Unauthenticated> =>
  Effect.tryPromise({
    try: () => compactVerify(token, key, { algorithms: ["RS256"] }),
    catch: (failure) => (failure instanceof errors.JWSSignatureVerificationFailed ? refuse("signature") : malformed()),
  }).pipe(Effect.map(({ payload }) => payload))

/** The payload as any one of the keys has signed it. */
const signedPayload = (token: string, keys: ReadonlyArray<RealmKey>): Effect.Effect<TokenObject, Unauthenticated> => {
  const [first, ...others] = keys.map((key) => checkSignature(token, key))
  return first === undefined
    ? Effect.fail(refuse("signature"))
    : Effect.flatMap(Effect.firstSuccessOf([first, ...others]), (payload) => objectOf(() => payload))
}

const makeKeysFor = Effect.fnUntraced(function* (
  { keys, jwksUrl }: JoseOptions,
  onChange: () => void,
): Effect.fn.Return<KeysFor, InvalidIdentitySetup, Scope.Scope> {
  if (keys !== undefined && jwksUrl !== undefined)
    return yield* new InvalidIdentitySetup({ option: "jwksUrl", rule: "must not be given beside 'keys'" })
  if (jwksUrl !== undefined) return published(yield* followKeySet(jwksUrl, onChange))
  if (keys !== undefined) return fixed(yield* readKeys(keys))
  return yield* new InvalidIdentitySetup({ option: "keys", rule: "must be given, or 'jwksUrl' instead" })
})

const makeVerifier = Effect.fnUntraced(function* (options: JoseOptions) {
  const { cacheSize = VERIFIED_TOKENS_DEFAULT } = options
  if (!Number.isSafeInteger(cacheSize) || cacheSize < 0)
    return yield* new InvalidIdentitySetup({ option: "cacheSize", rule: "must be a whole number from 0" })
  const rules = yield* makeTokenRules(options)
  let verified = new VerifiedTokens(cacheSize)
  const keysFor = yield* makeKeysFor(options, () => {
    verified = new VerifiedTokens(cacheSize)
  })

  const judge = Effect.fnUntraced(function* (token: string, nowS: number) {
    if (!isCompactToken(token)) return yield* malformed()
    const header = yield* objectOf(() => base64url.decode(token.slice(0, token.indexOf("."))))
    yield* judgeHeader(header)
    const keys = yield* keysFor(header)
    // Taken together with the keys: when they change meanwhile, their verdict is remembered by nobody.
    const memory = verified
    const payload = yield* signedPayload(token, keys)
    const claims = yield* judgeClaims(payload, header, rules, nowS)
    memory.add(token, claims, Number(payload["nbf"] ?? 0))
    return claims
  })

  return TokenVerifier.of({
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
