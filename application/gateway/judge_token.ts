import { Clock, Effect } from "effect"
import { refusedToken, type WantedToken } from "../../domain/gateway/bearer_policy.ts"
import { type GatewayRequest, headerValue } from "../../domain/gateway/gateway_request.ts"
import type { GatewaySettings } from "../../domain/gateway/gateway_settings.ts"
import { readBearer } from "../../domain/identity/bearer.ts"
import { Unauthenticated } from "../../domain/identity/errors.ts"
import { SignedTokens } from "../../domain/identity/signed_tokens.ts"

/**
 * Judges a token: its signature by the realm's keys, and what it says by the policy.
 *
 * @param token a compact JWS
 * @returns the token's claims
 * @fails {Unauthenticated} when the signature does not hold, or the token is not what is wanted
 * @fails {KeysUnavailable} when the realm's keys are not known and cannot be fetched
 */
export const judgeToken = Effect.fnUntraced(function* (token: string, wanted: WantedToken, settings: GatewaySettings) {
  const signed = yield* (yield* SignedTokens).open(token)
  const reason = refusedToken(signed, wanted, settings, (yield* Clock.currentTimeMillis) / 1000)
  return reason === undefined ? signed.payload : yield* new Unauthenticated({ reason })
})

/**
 * Judges the bearer token of a request. It is taken from the `Authorization` header and from nowhere else.
 *
 * @returns the token's claims
 * @fails {Unauthenticated} reason `missing` when no bearer token came, another when one came and is refused
 * @fails {KeysUnavailable} when the realm's keys are not known and cannot be fetched
 */
export const judgeBearer = Effect.fnUntraced(function* (
  request: GatewayRequest,
  wanted: WantedToken,
  settings: GatewaySettings,
) {
  return yield* judgeToken(yield* readBearer(headerValue(request, "authorization")), wanted, settings)
})
