import { Effect, Layer, Redacted } from "effect"
import { CodeExchange, CodeRefused, ProviderUnavailable } from "../../../domain/gateway/code_exchange.ts"
import { isObject } from "../../../domain/json_object.ts"
import { send } from "../http_exchange.ts"

/** Where codes are exchanged, and as whom. */
export interface CodeExchangeOptions {
  /** Token endpoint of the realm, as this process reaches it. */
  readonly tokenUrl: string
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted
}

/** Time the exchange may take, milliseconds. A browser waits for it. */
const TIMEOUT_MS = 5000

/** The ID token of an answer's body; `undefined` when the body is no JSON or holds none. */
const idTokenOf = (text: string): string | undefined => {
  try {
    const answer: unknown = JSON.parse(text)
    const idToken = isObject(answer) ? answer["id_token"] : undefined
    return typeof idToken === "string" ? idToken : undefined
  } catch {
    return undefined
  }
}

/**
 * Exchanges codes at an OpenID provider's token endpoint.
 *
 * Status 4xx is {@link CodeRefused}; every other answer without an ID token, and none within 5 s, {@link ProviderUnavailable}.
 *
 * @see OpenID Connect Core section 3.1.3
 */
export const layer = ({ tokenUrl, clientId, clientSecret }: CodeExchangeOptions): Layer.Layer<CodeExchange> =>
  Layer.succeed(
    CodeExchange,
    CodeExchange.of({
      redeem: Effect.fnUntraced(function* ({ code, verifier, redirectUri }) {
        const form = new URLSearchParams({
          grant_type: "authorization_code",
          code,
          redirect_uri: redirectUri,
          client_id: clientId,
          client_secret: Redacted.value(clientSecret),
          code_verifier: verifier,
        })
        const { status, text } = yield* send({
          method: "POST",
          url: tokenUrl,
          headers: { accept: "application/json", "content-type": "application/x-www-form-urlencoded" },
          body: form.toString(),
          timeoutMs: TIMEOUT_MS,
        }).pipe(Effect.catchTag("ExchangeFailed", ({ kind }) => new ProviderUnavailable({ reason: kind })))
        if (status >= 400 && status < 500) return yield* new CodeRefused({ status })
        const idToken = status === 200 ? idTokenOf(text) : undefined
        return idToken ?? (yield* new ProviderUnavailable({ reason: `status ${status} without an ID token` }))
      }),
    }),
  )
