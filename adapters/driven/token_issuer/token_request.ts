// The token request of specification 4.2: what is sent, and what the answers mean. Nothing is sent here; that is http.ts.
import { Effect, Redacted } from "effect"
import { InvalidIdentitySetup, TokenRequestFailed } from "../../../domain/identity/errors.ts"
import type { AccessToken } from "../../../domain/identity/token_issuer.ts"
import { isObject, type JsonObject } from "../../../domain/json_object.ts"
import type { ExchangeRequest, ExchangeResponse } from "../http_exchange.ts"

/** The identity provider and our client there. */
export interface IssuerOptions {
  /** Address of the identity provider, with or without a trailing slash. */
  readonly authUrl: string
  readonly realm: string
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted<string>
  /** Milliseconds a token request may take; 10000 when omitted. */
  readonly timeoutMs?: number
}

const TIMEOUT_MS = 10_000

/** Error codes are shown and logged, so an answer may only choose among the letters RFC 6749 section 5.2 uses. */
const ERROR_CODE = /^[a-z_]{1,64}$/

const unusable = (option: keyof IssuerOptions, rule: string) => Effect.fail(new InvalidIdentitySetup({ option, rule }))

/**
 * Describes the request for a token completely. It never changes, so it is made once.
 *
 * @fails {InvalidIdentitySetup} when an option can never work; the secret is not named
 */
export const tokenRequest = (options: IssuerOptions): Effect.Effect<ExchangeRequest, InvalidIdentitySetup> => {
  const { authUrl, realm, clientId, clientSecret } = options
  const url = URL.canParse(authUrl) ? new URL(authUrl) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== "" || url.search !== "")
    return unusable("authUrl", "must be an http or https address without user and query")
  if (realm.trim() === "" || realm === "." || realm === ".." || !realm.isWellFormed())
    return unusable("realm", "must be the name of a realm")
  if (clientId.trim() === "") return unusable("clientId", "must not be empty")
  if (Redacted.value(clientSecret) === "") return unusable("clientSecret", "must not be empty")
  const form = new URLSearchParams([
    ["grant_type", "client_credentials"],
    ["client_id", clientId],
    ["client_secret", Redacted.value(clientSecret)],
  ])
  const base = (url.origin + url.pathname).replace(/\/+$/, "")
  return Effect.succeed({
    method: "POST",
    url: `${base}/realms/${encodeURIComponent(realm)}/protocol/openid-connect/token`,
    headers: { "content-type": "application/x-www-form-urlencoded", accept: "application/json" },
    body: form.toString(),
    timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
  })
}

/** The fields of an answer; none when it is no JSON object. */
const fieldsOf = (text: string): JsonObject => {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

const isBearer = (type: unknown): boolean =>
  type === undefined || (typeof type === "string" && type.toLowerCase() === "bearer")

/**
 * Reads an answer. `error_description` is dropped: providers put submitted values into it.
 *
 * @param askedAtS when the request left, seconds since the epoch; the lifetime counts from there
 * @fails {TokenRequestFailed} `refused` on a 4xx answer, `unreachable` on 429 and 5xx, `malformed` without a bearer token
 * @see RFC 6749 sections 5.1 and 5.2
 */
export const readToken = (
  { status, text }: ExchangeResponse,
  askedAtS: number,
): Effect.Effect<AccessToken, TokenRequestFailed> => {
  const { access_token: token, token_type: type, expires_in: lifetimeS, error } = fieldsOf(text)
  if (status === 429 || status >= 500) return Effect.fail(new TokenRequestFailed({ kind: "unreachable", status }))
  if (status >= 400) {
    const known = typeof error === "string" && ERROR_CODE.test(error) ? { error } : {}
    return Effect.fail(new TokenRequestFailed({ kind: "refused", status, ...known }))
  }
  if (typeof token !== "string" || token === "" || !isBearer(type))
    return Effect.fail(new TokenRequestFailed({ kind: "malformed", status }))
  const lives = typeof lifetimeS === "number" && Number.isFinite(lifetimeS) && lifetimeS > 0
  return Effect.succeed({ text: Redacted.make(token), ...(lives ? { expiresAt: askedAtS + lifetimeS } : {}) })
}
