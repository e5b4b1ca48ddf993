import { Clock, Effect, Layer } from "effect"
import type { Claims } from "../../../domain/identity/claims.ts"
import { Unauthenticated } from "../../../domain/identity/errors.ts"
import { TokenVerifier } from "../../../domain/identity/token_verifier.ts"

/**
 * Accepts exactly the tokens of a table, each until its `expiresAt`. For tests and for use cases called directly.
 *
 * @param tokens token text -> what it stands for
 */
export const layer = (tokens: ReadonlyMap<string, Claims>): Layer.Layer<TokenVerifier> =>
  Layer.succeed(
    TokenVerifier,
    TokenVerifier.of({
      verify: Effect.fnUntraced(function* (token) {
        const claims = tokens.get(token)
        if (claims === undefined) return yield* new Unauthenticated({ reason: "signature" })
        const nowS = (yield* Clock.currentTimeMillis) / 1000
        return nowS < claims.expiresAt ? claims : yield* new Unauthenticated({ reason: "expired" })
      }),
      ready: Effect.void,
      recall: (token, nowS) => {
        const claims = tokens.get(token)
        return claims !== undefined && nowS < claims.expiresAt ? claims : undefined
      },
    }),
  )
