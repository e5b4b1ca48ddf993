import { Effect, Layer } from "effect"
import type { Claims } from "../../../domain/identity/claims.ts"
import { Unauthenticated } from "../../../domain/identity/errors.ts"
import { TokenVerifier } from "../../../domain/identity/token_verifier.ts"

/**
 * Accepts exactly the tokens of a table, each until its `expiresAt`. For tests and for use cases called directly.
 *
 * @param tokens token text -> what it stands for
 * @param now gives the time, seconds since the epoch; the system's clock when omitted
 */
export const layer = (
  tokens: ReadonlyMap<string, Claims>,
  now: () => number = () => Date.now() / 1000,
): Layer.Layer<TokenVerifier> =>
  Layer.succeed(
    TokenVerifier,
    TokenVerifier.of({
      verify: (token) => {
        const claims = tokens.get(token)
        if (claims === undefined) return Effect.fail(new Unauthenticated({ reason: "signature" }))
        return now() < claims.expiresAt
          ? Effect.succeed(claims)
          : Effect.fail(new Unauthenticated({ reason: "expired" }))
      },
      ready: Effect.void,
    }),
  )
