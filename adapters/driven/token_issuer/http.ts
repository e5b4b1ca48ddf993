import { Clock, Effect, Layer } from "effect"
import { type InvalidIdentitySetup, TokenRequestFailed } from "../../../domain/identity/errors.ts"
import { TokenIssuer } from "../../../domain/identity/token_issuer.ts"
import { send } from "../http_exchange.ts"
import { type IssuerOptions, readToken, tokenRequest } from "./token_request.ts"

/**
 * Asks a Keycloak-shaped identity provider over HTTP.
 *
 * @param options the identity provider, and our client there
 * @fails {InvalidIdentitySetup} at start when an option can never work
 * @see specification 4.2
 */
export const layer = (options: IssuerOptions): Layer.Layer<TokenIssuer, InvalidIdentitySetup> =>
  Layer.effect(
    TokenIssuer,
    Effect.map(tokenRequest(options), (request) =>
      TokenIssuer.of({
        requestToken: Effect.gen(function* () {
          const askedAtS = (yield* Clock.currentTimeMillis) / 1000
          const answer = yield* send(request)
          return yield* readToken(answer, askedAtS)
        }).pipe(
          Effect.catchTag(
            "ExchangeFailed",
            ({ kind }) => new TokenRequestFailed({ kind: kind === "timeout" ? "timeout" : "unreachable" }),
          ),
        ),
      }),
    ),
  )
