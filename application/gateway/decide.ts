import { Effect } from "effect"
import { holdsRole } from "../../domain/gateway/bearer_policy.ts"
import type { BrowserSessions } from "../../domain/gateway/browser_sessions.ts"
import { canonicalTarget } from "../../domain/gateway/canonical_path.ts"
import type { CodeExchange, ProviderUnavailable } from "../../domain/gateway/code_exchange.ts"
import { type GatewayRequest, headerValues, type ReadRequest } from "../../domain/gateway/gateway_request.ts"
import type { GatewaySettings } from "../../domain/gateway/gateway_settings.ts"
import { identityHeaders } from "../../domain/gateway/identity_headers.ts"
import type { LoginSecrets } from "../../domain/gateway/login_secrets.ts"
import { isAllowedPath } from "../../domain/gateway/path_allow.ts"
import { type MatchedRoute, matchRoute } from "../../domain/gateway/route_profile.ts"
import {
  ambiguousPath,
  badRequest,
  badToken,
  failed,
  missingRole,
  noRoute,
  pathNotAllowed,
  providerDown,
  unauthenticated,
  type Verdict,
  wrongMethod,
} from "../../domain/gateway/verdict.ts"
import type { KeysUnavailable, Unauthenticated } from "../../domain/identity/errors.ts"
import type { SignedTokens } from "../../domain/identity/signed_tokens.ts"
import type { TokenObject } from "../../domain/identity/token_kind.ts"
import { browserLogin, sessionOf } from "./browser_login.ts"
import { judgeBearer } from "./judge_token.ts"

/** The ports that {@link decide} asks. */
export type GatewayPorts = SignedTokens | BrowserSessions | CodeExchange | LoginSecrets

/** Methods that are let through. TRACE would show a client its own cookies and credentials; CONNECT asks for a tunnel. */
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])

/** Host and port and nothing else: with a slash or a comma, two readers would find two hosts, or another path. */
const HOST = /^[\w.:[\]-]*$/

/**
 * False with two hosts or two credentials, since the gateway might judge one of them and the upstream use the other, and with
 * a transfer coding beside chunks, since the upstream gets the body without it.
 */
const isWellFormed = (request: GatewayRequest): boolean => {
  const hosts = headerValues(request, "host")
  const codings = headerValues(request, "transfer-encoding")
  return (
    hosts.length <= 1 &&
    HOST.test(hosts[0] ?? "") &&
    headerValues(request, "authorization").length <= 1 &&
    codings.every((coding) => coding.toLowerCase() === "chunked")
  )
}

const forward = (request: ReadRequest, rest: string, claims?: TokenObject, keepAuthorization = true): Verdict => ({
  kind: "forward",
  target: request.target.query === undefined ? rest : `${rest}?${request.target.query}`,
  identity: claims === undefined ? [] : identityHeaders(claims),
  keepAuthorization,
})

type Judged = Effect.Effect<Verdict, Unauthenticated | KeysUnavailable | ProviderUnavailable, GatewayPorts>

/** ID tokens of our client, or without a token a browser's session. */
const askForIdToken = Effect.fnUntraced(function* (request: ReadRequest, rest: string, settings: GatewaySettings) {
  if (headerValues(request, "authorization").length > 0)
    return forward(request, rest, yield* judgeBearer(request, { kind: "id" }, settings))
  const session = yield* sessionOf(request, settings)
  return session === undefined ? unauthenticated(settings.realm) : forward(request, rest, session.claims, false)
})

/** Asks the policy of a route. */
const askPolicy = (request: ReadRequest, { route, rest }: MatchedRoute, settings: GatewaySettings): Judged => {
  switch (route.policy) {
    case "path-allow":
      return Effect.succeed(isAllowedPath(rest, settings.allowedPaths) ? forward(request, rest) : pathNotAllowed)
    case "realm-jwt":
      return Effect.map(judgeBearer(request, { kind: "access" }, settings), (claims) =>
        holdsRole(claims, settings.jwtRoles) ? forward(request, rest, claims) : missingRole(settings.realm),
      )
    case "oidc-access-token":
      return Effect.map(
        judgeBearer(request, { kind: "access", audience: settings.accessAudience }, settings),
        (claims) => forward(request, rest, claims),
      )
    case "oidc-id-token":
      return askForIdToken(request, rest, settings)
    case "oidc-browser":
      return Effect.map(browserLogin(request, rest, route.prefix, settings), (answer) =>
        "kind" in answer ? answer : forward(request, rest, answer.claims, false),
      )
    default:
      return route.policy satisfies never
  }
}

/** Finds the route of a request by its canonical path, and asks the route's policy. */
const judge = (request: GatewayRequest, settings: GatewaySettings): Judged => {
  if (!METHODS.has(request.method)) return Effect.succeed(wrongMethod)
  if (!isWellFormed(request)) return Effect.succeed(badRequest)
  const target = canonicalTarget(request.rawTarget)
  if (target === "malformed") return Effect.succeed(badRequest)
  if (target === "ambiguous") return Effect.succeed(ambiguousPath)
  const match = matchRoute(settings.routes, target.path)
  return match === undefined ? Effect.succeed(noRoute) : askPolicy({ ...request, target }, match, settings)
}

/**
 * Decides what the gateway does with a request. It never fails: every error on the way, a defect included, is a refusal.
 *
 * @returns `forward` only when the policy of the request's route says so
 * @see specification 4.4 and 7; specification 17
 */
export const decide = (
  request: GatewayRequest,
  settings: GatewaySettings,
): Effect.Effect<Verdict, never, GatewayPorts> =>
  Effect.suspend(() => judge(request, settings)).pipe(
    Effect.catchTags({
      Unauthenticated: ({ reason }) =>
        Effect.succeed(reason === "missing" ? unauthenticated(settings.realm) : badToken(settings.realm)),
      KeysUnavailable: () => Effect.succeed(providerDown),
      ProviderUnavailable: () => Effect.succeed(providerDown),
    }),
    Effect.catchCause((cause) => Effect.as(Effect.logError("The gateway's policy failed", cause), failed)),
  )
