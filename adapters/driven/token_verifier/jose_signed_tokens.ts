import { Effect, Layer } from "effect"
import type { InvalidIdentitySetup } from "../../../domain/identity/errors.ts"
import { type SignedToken, SignedTokens } from "../../../domain/identity/signed_tokens.ts"
import { followKeySet } from "./jose_key_set.ts"
import { openToken, published } from "./jose_signature.ts"

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
      const opened = new Map<string, SignedToken>()
      const keys = yield* followKeySet(jwksUrl, () => opened.clear())
      const keysFor = published(keys)

      const remember = (token: string, signed: SignedToken) => {
        opened.set(token, signed)
        const oldest = opened.size > REMEMBERED ? opened.keys().next().value : undefined
        if (oldest !== undefined) opened.delete(oldest)
      }
      return SignedTokens.of({
        open: (token) =>
          Effect.suspend(() => {
            const known = opened.get(token)
            if (known !== undefined) return Effect.succeed(known)
            return Effect.tap(openToken(token, keysFor), (signed) => Effect.sync(() => remember(token, signed)))
          }),
        ready: Effect.suspend(() => (keys.known().length > 0 ? Effect.void : keys.refresh)),
      })
    }),
  )
