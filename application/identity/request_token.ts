import { Cache, Clock, Effect, Exit } from "effect"
import type { TokenRequestFailed } from "../../domain/identity/errors.ts"
import { type AccessToken, TokenIssuer } from "../../domain/identity/token_issuer.ts"

/** Seconds before its expiry at which a token is replaced, so that it does not die on its way; half the life of a short one. */
export const RENEWAL_MARGIN_S = 30

/** Milliseconds a token may be held from now on; 0 for one that does not say when it expires. */
const holdMs = ({ expiresAt }: AccessToken, nowMs: number): number => {
  if (expiresAt === undefined) return 0
  const lifeMs = expiresAt * 1000 - nowMs
  return Math.max(0, lifeMs - Math.min(RENEWAL_MARGIN_S * 1000, lifeMs / 2))
}

/**
 * Makes the use case "request an access token for our own service". Made once; every call of its result gives the held
 * token until shortly before it expires. Concurrent calls share one request, its failure included; a failure is not held.
 *
 * @returns an Effect that fails with {TokenRequestFailed} when the identity provider refuses or cannot answer
 * @see specification 4.2 and 5.4
 */
export const makeRequestToken: Effect.Effect<
  Effect.Effect<AccessToken, TokenRequestFailed>,
  never,
  TokenIssuer
> = Effect.gen(function* () {
  const { requestToken } = yield* TokenIssuer
  const lookup = Effect.gen(function* () {
    const token = yield* requestToken
    return { token, holdMs: holdMs(token, yield* Clock.currentTimeMillis) }
  })
  const held = yield* Cache.makeWith((_ours: "token") => lookup, {
    capacity: 1,
    timeToLive: (exit) => (Exit.isSuccess(exit) ? exit.value.holdMs : 0),
  })
  return Effect.map(Cache.get(held, "token"), ({ token }) => token).pipe(Effect.withSpan("requestToken"))
})
