// A made-up identity provider: the token endpoint and the published keys of one realm, over local HTTP.
import { Effect } from "effect"
import { type Answer, localServer, type Seen } from "./local_server.ts"

const TOKEN_PATH = "/auth/realms/demo%20realm/protocol/openid-connect/token"

interface ProviderOptions {
  /** Client id -> its secret. */
  readonly clients: ReadonlyMap<string, string>
  /** Seconds; tokens do not say when absent. */
  readonly lifetimeS?: number
  /** Answers instead, when it gives something. */
  readonly instead?: () => Answer | undefined
}

const answerOf = (options: ProviderOptions, { method, path, headers, body }: Seen, issued: () => number): Answer => {
  if (method !== "POST" || path !== TOKEN_PATH) return { status: 404, body: '{"error":"Realm does not exist"}' }
  if (headers["content-type"] !== "application/x-www-form-urlencoded") return { status: 415 }
  const form = new URLSearchParams(body)
  if (form.get("grant_type") !== "client_credentials")
    return { status: 400, body: '{"error":"unsupported_grant_type"}' }
  const secret = options.clients.get(form.get("client_id") ?? "")
  // The two codes are what Keycloak 26 answers.
  if (secret === undefined || secret !== form.get("client_secret"))
    return {
      status: 401,
      body: JSON.stringify({
        error: secret === undefined ? "invalid_client" : "unauthorized_client",
        error_description: `Invalid client or secret ${form.get("client_secret")}`,
      }),
    }
  return {
    body: JSON.stringify({ access_token: `token-${issued()}`, token_type: "Bearer", expires_in: options.lifetimeS }),
  }
}

export const identityProvider = (options: ProviderOptions) =>
  Effect.suspend(() => {
    let issued = 0
    return localServer((request) => options.instead?.() ?? answerOf(options, request, () => ++issued))
  })
