import { Clock, Effect, Layer, Redacted } from "effect"
import { TokenRequestFailed } from "../../../domain/identity/errors.ts"
import { TokenIssuer } from "../../../domain/identity/token_issuer.ts"

/** A made-up identity provider, and who asks it. */
export interface MemoryIssuerOptions {
  /** Client id -> its secret. */
  readonly clients: ReadonlyMap<string, string>
  /** Seconds a token lives; tokens do not say when absent. */
  readonly lifetimeS?: number
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted<string>
}

/**
 * Hands out `token-1`, `token-2`, ... to clients that know their secret. For tests.
 *
 * @param options the made-up provider's clients and lifetime, and the client that asks
 */
export const layer = (options: MemoryIssuerOptions): Layer.Layer<TokenIssuer> =>
  Layer.sync(TokenIssuer, () => {
    let issued = 0
    return TokenIssuer.of({
      requestToken: Effect.gen(function* () {
        const secret = options.clients.get(options.clientId)
        if (secret !== Redacted.value(options.clientSecret)) {
          // The two codes are what Keycloak 26 answers.
          const error = secret === undefined ? "invalid_client" : "unauthorized_client"
          return yield* new TokenRequestFailed({ kind: "refused", error, status: 401 })
        }
        issued += 1
        const nowS = (yield* Clock.currentTimeMillis) / 1000
        const expiry = options.lifetimeS === undefined ? {} : { expiresAt: nowS + options.lifetimeS }
        return { text: Redacted.make(`token-${issued}`), ...expiry }
      }),
    })
  })
