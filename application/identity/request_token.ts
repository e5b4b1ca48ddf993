import { Clock, Effect, Exit, Semaphore } from "effect"
import type { TokenRequestFailed } from "../../domain/identity/errors.ts"
import { type AccessToken, TokenIssuer } from "../../domain/identity/token_issuer.ts"

/** Seconds before its expiry at which a token is replaced, so that it does not die on its way; half the life of a short one. */
export const RENEWAL_MARGIN_S = 30

interface Held {
  readonly token: AccessToken
  /** Seconds since the epoch from which on a new token is asked for. */
  readonly renewAtS: number
}

const held = (token: AccessToken, nowS: number): Held | undefined =>
  token.expiresAt === undefined
    ? undefined
    : { token, renewAtS: token.expiresAt - Math.min(RENEWAL_MARGIN_S, (token.expiresAt - nowS) / 2) }

/**
 * Makes the use case "request an access token for our own service". Made once; every call of its result gives the held
 * token until shortly before it expires. Concurrent calls share one request, its failure included; a failure is not held.
 *
 * @returns an Effect that fails with {TokenRequestFailed} when the identity provider refuses or cannot answer
 * @see seed 4.2 and section 5.4
 */
export const makeRequestToken: Effect.Effect<
  Effect.Effect<AccessToken, TokenRequestFailed>,
  never,
  TokenIssuer
> = Effect.gen(function* () {
  const issuer = yield* TokenIssuer
  const one = yield* Semaphore.make(1)
  let current: Held | undefined
  let answers = 0
  let lastAnswer: Exit.Exit<AccessToken, TokenRequestFailed> | undefined

  const ask = Effect.gen(function* () {
    const nowS = (yield* Clock.currentTimeMillis) / 1000
    // An interrupted request is no answer: whoever waits next asks again.
    const answer = yield* Effect.exit(issuer.requestToken)
    answers += 1
    lastAnswer = answer
    current = Exit.isSuccess(answer) ? held(answer.value, nowS) : undefined
    return yield* answer
  })

  return Effect.gen(function* () {
    const nowS = (yield* Clock.currentTimeMillis) / 1000
    if (current !== undefined && nowS < current.renewAtS) return current.token
    const seen = answers
    return yield* one.withPermits(1)(
      Effect.suspend(() => (answers === seen || lastAnswer === undefined ? ask : lastAnswer)),
    )
  }).pipe(Effect.withSpan("requestToken"))
})
