import { Effect, Layer } from "effect"
import { LRUCache } from "lru-cache"
import type { InvalidIdentitySetup } from "../../../domain/identity/errors.ts"
import { type SignedToken, SignedTokens } from "../../../domain/identity/signed_tokens.ts"
import type { TokenObject } from "../../../domain/identity/token_kind.ts"
import { followKeySet } from "./jose_key_set.ts"
import { published, readHeader, signedPayload } from "./jose_signature.ts"

/** Opened tokens remembered at most: at 3 KB each about 3 MB. What a token says, its times included, the caller judges at each use. */
const REMEMBERED = 1000

const emptyMemory = () => new LRUCache<string, SignedToken>({ max: REMEMBERED })

/**
 * Opens tokens with the keys a realm publishes.
 *
 * @param jwksUrl address of the realm's JWKS document
 * @fails {InvalidIdentitySetup} at start when the address can never work
 */
export const layer = (jwksUrl: string): Layer.Layer<SignedTokens, InvalidIdentitySetup> =>
  Layer.effect(
    SignedTokens,
    Effect.gen(function* () {
      let opened = emptyMemory()
      const keys = yield* followKeySet(jwksUrl, () => {
        opened = emptyMemory()
      })
      const keysFor = published(keys)

      const open = (token: string, header: TokenObject) =>
        Effect.flatMapEager(keysFor(header), (candidates) => {
          // The memory that belongs to these keys. If the keys change during the check, a new memory is in use by then,
          // and this result goes into the old one, which nobody reads any more.
          const memory = opened
          return Effect.map(signedPayload(token, candidates), (payload) => {
            const signed: SignedToken = { header, payload }
            memory.set(token, signed)
            return signed
          })
        })

      return SignedTokens.of({
        open: (token) => {
          const known = opened.get(token)
          return known === undefined
            ? Effect.flatMapEager(readHeader(token), (header) => open(token, header))
            : Effect.succeed(known)
        },
        ready: Effect.catch(keys.ready, () => keys.refresh),
      })
    }),
  )
