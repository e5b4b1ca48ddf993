import { Clock, Effect } from "effect"
import type { KeysUnavailable } from "../identity/errors.ts"
import { SignedTokens } from "../identity/signed_tokens.ts"
import { judgeSigned } from "./bearer_guard.ts"
import { BrowserSessions, type PendingLogin, type Session } from "./browser_sessions.ts"
import { CodeExchange, type ProviderUnavailable } from "./code_exchange.ts"
import { cookieNames, setCookie } from "./cookies.ts"
import { cookieValue, headerValue, headerValues, type ReadRequest } from "./gateway_request.ts"
import type { GatewaySettings } from "./gateway_settings.ts"
import { LoginSecrets } from "./login_secrets.ts"
import { crossSite, loginRefused, loginUnknown, redirect, unauthenticated, type Verdict } from "./verdict.ts"

/** Seconds a login may take. */
const LOGIN_S = 600
/** Seconds a session lasts, used or not. */
const SESSION_S = 3600
/** Longest path a browser is brought back to, in characters. */
const RETURN_MAX = 2048
/** What {@link LoginSecrets} draws. Anything else in a cookie was not made here. */
const SECRET = /^[\w-]{43}$/

const CALLBACK = "/cb"
const LOGOUT = "/logout"

const nowS = Effect.map(Clock.currentTimeMillis, (millis) => millis / 1000)

const secretCookie = (request: ReadRequest, name: string): string | undefined => {
  const value = cookieValue(request, name)
  return value !== undefined && SECRET.test(value) ? value : undefined
}

/** The session a request's cookie names, if it is still open. */
export const sessionOf = Effect.fnUntraced(function* (request: ReadRequest, { publicUrl }: GatewaySettings) {
  const id = secretCookie(request, cookieNames(publicUrl).session)
  return id === undefined ? undefined : yield* (yield* BrowserSessions).find(id, yield* nowS)
})

/** True when a person's browser is going somewhere, rather than a script asking. */
const isNavigation = (request: ReadRequest): boolean => {
  const mode = headerValue(request, "sec-fetch-mode")
  if (mode !== undefined) return mode === "navigate"
  const accept = headerValues(request, "accept").join(",")
  return !/\bjson\b/i.test(accept) || /text\/html/i.test(accept)
}

const returnPath = ({ method, target }: ReadRequest, prefix: string): string => {
  const wanted = target.query === undefined ? target.path : `${target.path}?${target.query}`
  return method === "GET" && wanted.length <= RETURN_MAX ? wanted : prefix
}

/** Sends the browser to the identity provider: authorization code with PKCE, state and nonce (RFC 6749, 7636, 9700). */
const beginLogin = Effect.fnUntraced(function* (request: ReadRequest, prefix: string, settings: GatewaySettings) {
  if (!isNavigation(request)) return unauthenticated(settings.realm)
  // A login that could not be finished is not begun: 503 here is kinder than a dead page there.
  yield* (yield* SignedTokens).ready
  const { draw, digest } = yield* LoginSecrets
  const names = cookieNames(settings.publicUrl)
  const [state, nonce, verifier] = [yield* draw, yield* draw, yield* draw]
  // Kept when it is there, so that a second tab does not spoil the login of the first.
  const browser = secretCookie(request, names.login) ?? (yield* draw)
  const login: PendingLogin = {
    browser,
    nonce,
    verifier,
    returnTo: returnPath(request, prefix),
    expiresAt: (yield* nowS) + LOGIN_S,
  }
  yield* (yield* BrowserSessions).begin(state, login)
  const query = new Map([
    ["response_type", "code"],
    ["client_id", settings.clientId],
    ["scope", "openid profile email"],
    ["redirect_uri", `${settings.publicUrl}${prefix}${CALLBACK}`],
    ["state", state],
    ["nonce", nonce],
    ["code_challenge", yield* digest(verifier)],
    ["code_challenge_method", "S256"],
  ])
  return redirect(
    `${settings.authorizationUrl}?${encodeQuery(query)}`,
    setCookie(settings.publicUrl, names.login, browser, LOGIN_S),
  )
})

const encodeQuery = (query: ReadonlyMap<string, string>): string =>
  [...query].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&")

/** Parameters of a callback; `undefined` when one comes twice or cannot be decoded. */
const readQuery = (query: string): ReadonlyMap<string, string> | undefined => {
  const read = new Map<string, string>()
  for (const pair of query.split("&").filter((each) => each !== "")) {
    const cut = pair.includes("=") ? pair.indexOf("=") : pair.length
    try {
      const [name, value] = [pair.slice(0, cut), pair.slice(cut + 1)].map((part) =>
        decodeURIComponent(part.replaceAll("+", " ")),
      )
      if (name === undefined || value === undefined || read.has(name)) return undefined
      read.set(name, value)
    } catch {
      return undefined
    }
  }
  return read
}

/** Judges the ID token of a login; `undefined` when it is not the answer to what was asked. */
const sessionFrom = Effect.fnUntraced(function* (idToken: string, nonce: string, settings: GatewaySettings) {
  const claims = yield* Effect.flatMap((yield* SignedTokens).open(idToken), (signed) =>
    judgeSigned(signed, { kind: "id" }, settings),
  ).pipe(Effect.catchTag("Unauthenticated", () => Effect.succeed(undefined)))
  if (claims === undefined || claims["nonce"] !== nonce) return undefined
  const session: Session = { claims, idToken, expiresAt: (yield* nowS) + SESSION_S }
  return session
})

/** The browser comes back from the identity provider. */
const finishLogin = Effect.fnUntraced(function* (request: ReadRequest, prefix: string, settings: GatewaySettings) {
  const names = cookieNames(settings.publicUrl)
  const query = request.method === "GET" ? readQuery(request.target.query ?? "") : undefined
  const [state, browser] = [query?.get("state"), secretCookie(request, names.login)]
  if (query === undefined || state === undefined || browser === undefined) return loginUnknown
  const sessions = yield* BrowserSessions
  const login = yield* sessions.finish(state, browser, yield* nowS)
  if (login === undefined) return loginUnknown
  // RFC 9207: an answer of another provider is not the answer to our question.
  if ((query.get("iss") ?? settings.issuer) !== settings.issuer) return loginUnknown
  if (query.has("error")) return loginRefused
  const code = query.get("code")
  if (code === undefined || code === "") return loginUnknown
  const redirectUri = `${settings.publicUrl}${prefix}${CALLBACK}`
  const idToken = yield* (yield* CodeExchange)
    .redeem({ code, verifier: login.verifier, redirectUri })
    .pipe(Effect.catchTag("CodeRefused", () => Effect.succeed(undefined)))
  const session = idToken === undefined ? undefined : yield* sessionFrom(idToken, login.nonce, settings)
  if (session === undefined) return loginRefused
  // A new id at every login: one that was known before must never become a session (fixation).
  const id = yield* (yield* LoginSecrets).draw
  yield* sessions.open(id, session)
  const old = secretCookie(request, names.session)
  if (old !== undefined) yield* sessions.close(old)
  return redirect(
    login.returnTo,
    setCookie(settings.publicUrl, names.session, id, SESSION_S),
    setCookie(settings.publicUrl, names.login, "", 0),
  )
})

/** True when another site made the browser ask, as an image or a form there would. */
const isFromElsewhere = (request: ReadRequest, publicUrl: string): boolean => {
  const site = headerValue(request, "sec-fetch-site")
  const origin = headerValue(request, "origin")
  return (
    (site !== undefined && site !== "same-origin" && site !== "none") || (origin !== undefined && origin !== publicUrl)
  )
}

/** Closes the session here and sends the browser to close the one at the identity provider. */
const logOut = Effect.fnUntraced(function* (request: ReadRequest, prefix: string, settings: GatewaySettings) {
  const { publicUrl, clientId, endSessionUrl } = settings
  if (isFromElsewhere(request, publicUrl)) return crossSite
  const session = yield* sessionOf(request, settings)
  const { session: name } = cookieNames(publicUrl)
  const id = secretCookie(request, name)
  if (id !== undefined) yield* (yield* BrowserSessions).close(id)
  const query = new Map([
    ["client_id", clientId],
    ["post_logout_redirect_uri", `${publicUrl}${prefix}`],
    ...(session === undefined ? [] : ([["id_token_hint", session.idToken]] as const)),
  ])
  return redirect(`${endSessionUrl}?${encodeQuery(query)}`, setCookie(publicUrl, name, "", 0))
})

/**
 * The OIDC plugin for browsers: who has a session passes, who has none is sent to log in. Bearer tokens are not looked at.
 *
 * @param rest canonical path below the route
 * @param prefix of the route
 * @returns the session to pass with, or the verdict
 * @fails {KeysUnavailable | ProviderUnavailable} when a login cannot be finished now
 * @see seed 4.4; OpenID Connect Core section 3.1; gateway notes section 3, cases 33 to 42
 */
export const browserLogin = Effect.fnUntraced(function* (
  request: ReadRequest,
  rest: string,
  prefix: string,
  settings: GatewaySettings,
): Effect.fn.Return<
  Session | Verdict,
  KeysUnavailable | ProviderUnavailable,
  BrowserSessions | CodeExchange | LoginSecrets | SignedTokens
> {
  if (rest === CALLBACK) return yield* finishLogin(request, prefix, settings)
  if (rest === LOGOUT) return yield* logOut(request, prefix, settings)
  return (yield* sessionOf(request, settings)) ?? (yield* beginLogin(request, prefix, settings))
})
