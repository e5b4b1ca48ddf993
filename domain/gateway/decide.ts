import { Effect } from "effect"
import type { KeysUnavailable, Unauthenticated } from "../identity/errors.ts"
import type { SignedTokens } from "../identity/signed_tokens.ts"
import type { TokenObject } from "../identity/token_kind.ts"
import { holdsRole, judgeBearer } from "./bearer_guard.ts"
import { browserLogin, sessionOf } from "./browser_login.ts"
import type { BrowserSessions } from "./browser_sessions.ts"
import { canonicalTarget } from "./canonical_path.ts"
import type { CodeExchange, ProviderUnavailable } from "./code_exchange.ts"
import { type GatewayRequest, headerValues, type ReadRequest } from "./gateway_request.ts"
import type { GatewaySettings } from "./gateway_settings.ts"
import { identityHeaders } from "./identity_headers.ts"
import type { LoginSecrets } from "./login_secrets.ts"
import { isAllowedPath } from "./path_allow.ts"
import { type Match, matchRoute } from "./route_profile.ts"
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
} from "./verdict.ts"

/** What the policies need around them. */
export type GatewayPorts = SignedTokens | BrowserSessions | CodeExchange | LoginSecrets

type Refusable = Unauthenticated | KeysUnavailable | ProviderUnavailable

// TRACE would show a client its own cookies and credentials; CONNECT asks for a tunnel.
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])

const forward = (request: ReadRequest, rest: string, claims?: TokenObject, keepAuthorization = true): Verdict => ({
  kind: "forward",
  target: request.target.query === undefined ? rest : `${rest}?${request.target.query}`,
  identity: claims === undefined ? [] : identityHeaders(claims),
  keepAuthorization,
})

/** Asks the guard of the route. Whatever it does not allow it refuses. */
const askGuard = Effect.fnUntraced(function* (
  request: ReadRequest,
  { route, rest }: Match,
  settings: GatewaySettings,
): Effect.fn.Return<Verdict, Refusable, GatewayPorts> {
  switch (route.guard) {
    case "path-allow":
      return isAllowedPath(rest, settings.allowedPaths) ? forward(request, rest) : pathNotAllowed
    case "realm-jwt": {
      const claims = yield* judgeBearer(request, { kind: "access" }, settings)
      return holdsRole(claims, settings.jwtRoles) ? forward(request, rest, claims) : missingRole(settings.realm)
    }
    case "oidc-access-token": {
      const wanted = { kind: "access", audience: settings.accessAudience } as const
      return forward(request, rest, yield* judgeBearer(request, wanted, settings))
    }
    case "oidc-id-token": {
      if (headerValues(request, "authorization").length > 0)
        return forward(request, rest, yield* judgeBearer(request, { kind: "id" }, settings))
      const session = yield* sessionOf(request, settings)
      return session === undefined ? unauthenticated(settings.realm) : forward(request, rest, session.claims, false)
    }
    case "oidc-browser": {
      const answer = yield* browserLogin(request, rest, route.prefix, settings)
      return "kind" in answer ? answer : forward(request, rest, answer.claims, false)
    }
    default:
      return route.guard satisfies never
  }
})

const isSingle = (request: GatewayRequest, name: string): boolean => headerValues(request, name).length <= 1

const judge = (
  request: GatewayRequest,
  settings: GatewaySettings,
): Verdict | Effect.Effect<Verdict, Refusable, GatewayPorts> => {
  if (!METHODS.has(request.method)) return wrongMethod
  // Of two hosts or two credentials, this gateway and its upstream might each believe another one.
  if (!isSingle(request, "host") || !isSingle(request, "authorization")) return badRequest
  const target = canonicalTarget(request.rawTarget)
  if (target === "malformed") return badRequest
  if (target === "ambiguous") return ambiguousPath
  const match = matchRoute(settings.routes, target.path)
  return match === undefined ? noRoute : askGuard({ ...request, target }, match, settings)
}

/**
 * Decides on a request. Total: whatever goes wrong on the way is a refusal, and only a guard that says so lets through.
 *
 * @see seed 4.4 and section 7; contract section 7; gateway notes sections 1 and 3
 */
export const decide = (
  request: GatewayRequest,
  settings: GatewaySettings,
): Effect.Effect<Verdict, never, GatewayPorts> =>
  Effect.suspend(() => {
    const judged = judge(request, settings)
    return Effect.isEffect(judged) ? judged : Effect.succeed(judged)
  }).pipe(
    Effect.catchTags({
      Unauthenticated: ({ reason }) =>
        Effect.succeed(reason === "missing" ? unauthenticated(settings.realm) : badToken(settings.realm)),
      KeysUnavailable: () => Effect.succeed(providerDown),
      ProviderUnavailable: () => Effect.succeed(providerDown),
    }),
    Effect.catchCause((cause) => Effect.as(Effect.logError("The gateway's policy failed", cause), failed)),
  )
