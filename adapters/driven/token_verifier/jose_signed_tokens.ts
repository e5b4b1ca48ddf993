import { Effect, Layer, type Scope } from "effect"
import { LRUCache } from "lru-cache"
import type { InvalidIdentitySetup } from "../../../domain/identity/errors.ts"
import { type SignedToken, SignedTokens } from "../../../domain/identity/signed_tokens.ts"
import type { TokenObject } from "../../../domain/identity/token_kind.ts"
import { followKeySet } from "./jose_key_set.ts"
import { type KeysFor, published, readHeader, signedPayload } from "./jose_signature.ts"

/** Opened tokens remembered when the setup does not say: at 3 KB each about 12 MB. */
export const REMEMBERED = 4_000

/** Where the keys come from, once they are followed. */
export interface SigningKeys {
  readonly keysFor: KeysFor
  readonly ready: SignedTokens["Service"]["ready"]
}

/**
 * Opens tokens, and remembers by their whole text those whose signature holds: checking one costs a hundred times as much
 * as the rest of a request. What a token says, its times included, the caller judges at each use.
 *
 * @param makeKeys follows the keys; calls what it is given whenever they have changed
 * @param remembered tokens remembered at most, 0 for none
 */
export const makeSignedTokens = Effect.fnUntraced(function* (
  makeKeys: (onChange: () => void) => Effect.Effect<SigningKeys, InvalidIdentitySetup, Scope.Scope>,
  remembered: number,
) {
  const emptyMemory = () => (remembered === 0 ? undefined : new LRUCache<string, SignedToken>({ max: remembered }))
  let opened = emptyMemory()
  const { keysFor, ready } = yield* makeKeys(() => {
    opened = emptyMemory()
  })

  const open = (token: string, header: TokenObject) =>
    Effect.flatMapEager(keysFor(header), (keys) => {
      // The memory that belongs to these keys. If the keys change during the check, a new memory is in use by then,
      // and this result goes into the old one, which nobody reads any more.
      const memory = opened
      return Effect.map(signedPayload(token, keys), (payload) => {
        const signed: SignedToken = { header, payload }
        memory?.set(token, signed)
        return signed
      })
    })

  return SignedTokens.of({
    ready,
    open: (token) => {
      const known = opened?.get(token)
      return known === undefined
        ? Effect.flatMapEager(readHeader(token), (header) => open(token, header))
        : Effect.succeed(known)
    },
  })
})

/**
 * Opens tokens with the keys a realm publishes.
 *
 * @param jwksUrl address of the realm's JWKS document
 * @fails {InvalidIdentitySetup} at start when the address can never work
 */
export const layer = (jwksUrl: string): Layer.Layer<SignedTokens, InvalidIdentitySetup> =>
  Layer.effect(
    SignedTokens,
    makeSignedTokens(
      (onChange) =>
        Effect.map(followKeySet(jwksUrl, onChange), (set) => ({
          keysFor: published(set),
          ready: Effect.catch(set.ready, () => set.refresh),
        })),
      REMEMBERED,
    ),
  )
