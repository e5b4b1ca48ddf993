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
import { type Guard, type Match, matchRoute } from "./route_profile.ts"
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

/** Asks a guard that needs to know who is asking. Whatever it does not allow it refuses. */
const askGuard = Effect.fnUntraced(function* (
  request: ReadRequest,
  guard: Exclude<Guard, "path-allow">,
  { route, rest }: Match,
  settings: GatewaySettings,
): Effect.fn.Return<Verdict, Refusable, GatewayPorts> {
  switch (guard) {
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
      return guard satisfies never
  }
})

// Host and port and nothing else: with a slash or a comma, two readers would find two hosts, or another path.
const HOST = /^[\w.:[\]-]*$/

const isWellFormed = (request: GatewayRequest): boolean => {
  // Of two hosts or two credentials, this gateway and its upstream might each believe another one.
  const hosts = headerValues(request, "host")
  return hosts.length <= 1 && HOST.test(hosts[0] ?? "") && headerValues(request, "authorization").length <= 1
}

const judge = (
  request: GatewayRequest,
  settings: GatewaySettings,
): Verdict | Effect.Effect<Verdict, Refusable, GatewayPorts> => {
  if (!METHODS.has(request.method)) return wrongMethod
  if (!isWellFormed(request)) return badRequest
  const target = canonicalTarget(request.rawTarget)
  if (target === "malformed") return badRequest
  if (target === "ambiguous") return ambiguousPath
  const match = matchRoute(settings.routes, target.path)
  if (match === undefined) return noRoute
  const read: ReadRequest = { ...request, target }
  if (match.route.guard !== "path-allow") return askGuard(read, match.route.guard, match, settings)
  return isAllowedPath(match.rest, settings.allowedPaths) ? forward(read, match.rest) : pathNotAllowed
}

const refusals = <R>(asked: Effect.Effect<Verdict, Refusable, R>, realm: string): Effect.Effect<Verdict, never, R> =>
  asked.pipe(
    Effect.catchTags({
      Unauthenticated: ({ reason }) => Effect.succeed(reason === "missing" ? unauthenticated(realm) : badToken(realm)),
      KeysUnavailable: () => Effect.succeed(providerDown),
      ProviderUnavailable: () => Effect.succeed(providerDown),
    }),
    Effect.catchCause((cause) => Effect.as(Effect.logError("The gateway's policy failed", cause), failed)),
  )

/**
 * Decides on a request. Total: whatever goes wrong on the way is a refusal, and only a guard that says so lets through.
 *
 * @returns the verdict at once where no port is needed, else the program that finds it
 * @see seed 4.4 and section 7; contract section 7; gateway notes sections 1 and 3
 */
export const decide = (
  request: GatewayRequest,
  settings: GatewaySettings,
): Verdict | Effect.Effect<Verdict, never, GatewayPorts> => {
  try {
    const judged = judge(request, settings)
    return Effect.isEffect(judged) ? refusals(judged, settings.realm) : judged
  } catch {
    return failed
  }
}

/** {@link decide} as a program in every case. */
export const decided = (
  request: GatewayRequest,
  settings: GatewaySettings,
): Effect.Effect<Verdict, never, GatewayPorts> =>
  Effect.suspend(() => {
    const verdict = decide(request, settings)
    return Effect.isEffect(verdict) ? verdict : Effect.succeed(verdict)
  })
