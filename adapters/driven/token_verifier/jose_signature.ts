import { Effect } from "effect"
import { base64url, compactVerify, errors } from "jose"
import { isCompactToken, judgeHeader } from "../../../domain/identity/access_token.ts"
import { type KeysUnavailable, Unauthenticated } from "../../../domain/identity/errors.ts"
import type { TokenObject } from "../../../domain/identity/token_kind.ts"
import { isObject } from "../../../domain/json_object.ts"
import type { KeySet } from "./jose_key_set.ts"
import type { RealmKey } from "./jose_keys.ts"

/** Finds the keys that may have signed a token with this header. */
export type KeysFor = (header: TokenObject) => Effect.Effect<ReadonlyArray<RealmKey>, Unauthenticated | KeysUnavailable>

const refuse = (reason: Unauthenticated["reason"]) => new Unauthenticated({ reason })

const malformed = () => refuse("malformed")

/** A fixed key is tried whatever the token's `kid` says: certificates and bare keys have none. */
export const fixed =
  (keys: ReadonlyArray<RealmKey>): KeysFor =>
  () =>
    Effect.succeed(keys)

/** A published key is chosen by `kid`; an unknown one has the set fetched again. */
export const published =
  (set: KeySet): KeysFor =>
  (header) => {
    const { kid } = header
    const candidates = () => (kid === undefined ? set.known() : set.known().filter((key) => key.kid === kid))
    const found = candidates()
    return found.length > 0 ? Effect.succeed(found) : Effect.map(set.refresh, candidates)
  }

// Broken UTF-8 and a byte order mark are refused, not repaired: the claims must be exactly the signed bytes.
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

const objectOf = (bytes: () => Uint8Array): Effect.Effect<TokenObject, Unauthenticated> => {
  try {
    const value: unknown = JSON.parse(utf8.decode(bytes()))
    return isObject(value) ? Effect.succeed(value) : Effect.fail(malformed())
  } catch {
    return Effect.fail(malformed())
  }
}

/** Every failure of the token library is a refusal: keys were checked at setup, so it can only be the token's fault. */
const checkSignature = (token: string, { key }: RealmKey): Effect.Effect<Uint8Array, Unauthenticated> =>
  Effect.tryPromise({
    try: () => compactVerify(token, key, { algorithms: ["RS256"] }),
    catch: (failure) => (failure instanceof errors.JWSSignatureVerificationFailed ? refuse("signature") : malformed()),
  }).pipe(Effect.map(({ payload }) => payload))

/**
 * Reads the header of a token whose signature is still to be checked. The effect is completed at once.
 *
 * @param token the compact form of a JWS (RFC 7515 section 3.1)
 * @fails {Unauthenticated} when the token's form or its header is wrong
 */
export const readHeader = (token: string): Effect.Effect<TokenObject, Unauthenticated> => {
  if (!isCompactToken(token)) return Effect.fail(malformed())
  const header = objectOf(() => base64url.decode(token.slice(0, token.indexOf("."))))
  return Effect.flatMapEager(header, (value) => Effect.mapEager(judgeHeader(value), () => value))
}

/**
 * The payload as any one of the keys has signed it; what it says is not judged here.
 *
 * @fails {Unauthenticated} when none has, or what they signed is no JSON object
 */
export const signedPayload = (
  token: string,
  keys: ReadonlyArray<RealmKey>,
): Effect.Effect<TokenObject, Unauthenticated> => {
  const [first, ...others] = keys.map((key) => checkSignature(token, key))
  return first === undefined
    ? Effect.fail(refuse("signature"))
    : Effect.flatMap(Effect.firstSuccessOf([first, ...others]), (payload) => objectOf(() => payload))
}
