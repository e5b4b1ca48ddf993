import { Effect, Layer } from "effect"
import type { InvalidIdentitySetup } from "../../../domain/identity/errors.ts"
import { type SignedToken, SignedTokens } from "../../../domain/identity/signed_tokens.ts"
import { followKeySet } from "./jose_key_set.ts"
import { published, readHeader, signedPayload } from "./jose_signature.ts"

/** Opened tokens remembered: at 3 KB each about 3 MB. A remembered one is still judged, time included, at each use. */
const REMEMBERED = 1000

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
      let opened = new Map<string, SignedToken>()
      const keys = yield* followKeySet(jwksUrl, () => {
        opened = new Map()
      })
      const keysFor = published(keys)

      const open = Effect.fnUntraced(function* (token: string) {
        const header = yield* readHeader(token)
        const candidates = yield* keysFor(header)
        // Taken together with the keys: when they change meanwhile, their verdict is remembered by nobody.
        const memory = opened
        const signed: SignedToken = { header, payload: yield* signedPayload(token, candidates) }
        memory.set(token, signed)
        const oldest = memory.size > REMEMBERED ? memory.keys().next().value : undefined
        if (oldest !== undefined) memory.delete(oldest)
        return signed
      })

      return SignedTokens.of({
        open: (token) =>
          Effect.suspend(() => {
            const known = opened.get(token)
            return known === undefined ? open(token) : Effect.succeed(known)
          }),
        ready: Effect.catch(keys.ready, () => keys.refresh),
      })
    }),
  )
