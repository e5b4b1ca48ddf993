import { Clock, Effect } from "effect"
import { BrowserSessions, type PendingLogin, type Session } from "../../domain/gateway/browser_sessions.ts"
import { isDecodable } from "../../domain/gateway/canonical_path.ts"
import { CodeExchange, type ProviderUnavailable } from "../../domain/gateway/code_exchange.ts"
import { cookieNames, setCookie } from "../../domain/gateway/cookies.ts"
import { cookieValue, headerValue, headerValues, type ReadRequest } from "../../domain/gateway/gateway_request.ts"
import type { GatewaySettings } from "../../domain/gateway/gateway_settings.ts"
import { LoginSecrets } from "../../domain/gateway/login_secrets.ts"
import {
  crossSite,
  loginRefused,
  loginUnknown,
  redirect,
  unauthenticated,
  type Verdict,
} from "../../domain/gateway/verdict.ts"
import type { KeysUnavailable } from "../../domain/identity/errors.ts"
import { SignedTokens } from "../../domain/identity/signed_tokens.ts"
import { judgeToken } from "./judge_token.ts"

/** Seconds a login may take. */
const LOGIN_S = 600
/** Seconds a session lasts, used or not. */
const SESSION_S = 3600
/** Longest path a browser is brought back to, in characters. */
const RETURN_MAX = 2048
/** The form of what {@link LoginSecrets} draws: a cookie of another form was not set by this gateway. */
const SECRET = /^[\w-]{43}$/

const CALLBACK = "/cb"
const LOGOUT = "/logout"

const nowS = Effect.map(Clock.currentTimeMillis, (millis) => millis / 1000)

const secretCookie = (request: ReadRequest, name: string): string | undefined => {
  const value = cookieValue(request, name)
  return value !== undefined && SECRET.test(value) ? value : undefined
}

/**
 * Finds the session that a request's cookie names.
 *
 * @returns `undefined` when there is no cookie, or no open session of its name
 */
export const sessionOf = Effect.fnUntraced(function* (request: ReadRequest, { publicUrl }: GatewaySettings) {
  const id = secretCookie(request, cookieNames(publicUrl).session)
  return id === undefined ? undefined : yield* (yield* BrowserSessions).find(id, yield* nowS)
})

/** True when a browser asks for a page; false when a script asks, which could not follow the way to a login page. */
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
  // Without the realm's keys the login could not be finished, so the browser is told 503 now.
  yield* (yield* SignedTokens).ready
  const { draw, digest } = yield* LoginSecrets
  const names = cookieNames(settings.publicUrl)
  const [state, nonce, verifier] = [yield* draw, yield* draw, yield* draw]
  // A cookie that is already there is kept, so that logins in two tabs can both be finished.
  const browser = secretCookie(request, names.login) ?? (yield* draw)
  const login: PendingLogin = {
    browser,
    nonce,
    verifier,
    returnTo: returnPath(request, prefix),
    expiresAt: (yield* nowS) + LOGIN_S,
  }
  yield* (yield* BrowserSessions).begin(state, login)
  const query = new URLSearchParams([
    ["response_type", "code"],
    ["client_id", settings.clientId],
    ["scope", "openid profile email"],
    ["redirect_uri", `${settings.publicUrl}${prefix}${CALLBACK}`],
    ["state", state],
    ["nonce", nonce],
    ["code_challenge", yield* digest(verifier)],
    ["code_challenge_method", "S256"],
  ])
  return redirect(`${settings.authorizationUrl}?${query}`, setCookie(settings.publicUrl, names.login, browser, LOGIN_S))
})

/**
 * Reads the parameters of a callback. `URLSearchParams` alone would read a broken escape as text and would give the first
 * of two values.
 *
 * @returns `undefined` when a parameter comes twice or an escape is no UTF-8
 */
const readQuery = (query: string): ReadonlyMap<string, string> | undefined => {
  const pairs = [...new URLSearchParams(query)]
  const read = new Map(pairs)
  return isDecodable(query) && read.size === pairs.length ? read : undefined
}

/** Makes a session of a login's ID token; `undefined` when the token is refused or belongs to another login. */
const sessionFrom = Effect.fnUntraced(function* (idToken: string, nonce: string, settings: GatewaySettings) {
  const claims = yield* judgeToken(idToken, { kind: "id" }, settings).pipe(
    Effect.catchTag("Unauthenticated", () => Effect.succeed(undefined)),
  )
  if (claims === undefined || claims["nonce"] !== nonce) return undefined
  const session: Session = { claims, idToken, expiresAt: (yield* nowS) + SESSION_S }
  return session
})

/** Takes the browser back from the identity provider: exchanges its code, opens a session, sends it to the page it wanted. */
const finishLogin = Effect.fnUntraced(function* (request: ReadRequest, prefix: string, settings: GatewaySettings) {
  const names = cookieNames(settings.publicUrl)
  const query = request.method === "GET" ? readQuery(request.target.query ?? "") : undefined
  const [state, browser] = [query?.get("state"), secretCookie(request, names.login)]
  if (query === undefined || state === undefined || browser === undefined) return loginUnknown
  const sessions = yield* BrowserSessions
  const login = yield* sessions.finish(state, browser, yield* nowS)
  if (login === undefined) return loginUnknown
  // An answer that another provider gave was not asked for here (RFC 9207).
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
  // The session gets a new id: one that somebody knew before the login must never become a session (session fixation).
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

/** True when a page of another site made the browser ask, for example by an image or a form. */
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
  const hint: Array<[string, string]> = session === undefined ? [] : [["id_token_hint", session.idToken]]
  const query = new URLSearchParams([
    ["client_id", clientId],
    ["post_logout_redirect_uri", `${publicUrl}${prefix}`],
    ...hint,
  ])
  return redirect(`${endSessionUrl}?${query}`, setCookie(publicUrl, name, "", 0))
})

/**
 * The OIDC plugin for browsers: a browser with a session passes, one without is sent to log in. Bearer tokens are ignored.
 *
 * @param rest canonical path below the route
 * @param prefix of the route
 * @returns the session to pass with, or the verdict
 * @fails {KeysUnavailable | ProviderUnavailable} when a login cannot be finished now
 * @see specification 4.4; OpenID Connect Core section 3.1; specification 17
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
