import { isUnder } from "./canonical_path.ts"

/** Release lines of the gateway this stack knows. */
export const LINES = ["2.8", "3.9"] as const
/** One release line. */
export type Line = (typeof LINES)[number]

/** Builds of the 2.x line: with or without the OIDC variant plugin. The 3.x line always has it. */
export const VARIANTS = ["standard", "variant"] as const
/** One build. */
export type Variant = (typeof VARIANTS)[number]

/** The policy that decides on a route (specification 4.4). */
export type RoutePolicy =
  /** Allowed paths only. */
  | "path-allow"
  /** Access tokens of the realm, roles if asked for. */
  | "realm-jwt"
  /** A browser's session; redirects a browser without one to log in. */
  | "oidc-browser"
  /** ID tokens of our client, or a session; refuses rather than redirects. */
  | "oidc-id-token"
  /** Access tokens for our audience; refuses rather than redirects. */
  | "oidc-access-token"

/** A route of the gateway. */
export interface Route {
  /** First segment; it is stripped before the upstream is asked. */
  readonly prefix: `/${string}`
  readonly policy: RoutePolicy
}

type Build = `${Line} ${Variant}`

const EVERY_BUILD: ReadonlyArray<Build> = ["2.8 standard", "2.8 variant", "3.9 standard", "3.9 variant"]

/** Specification 4.4: which route exists in which build. */
const ROUTES: ReadonlyArray<Route & { readonly builds: ReadonlyArray<Build> }> = [
  { prefix: "/open", policy: "path-allow", builds: EVERY_BUILD },
  { prefix: "/jwt", policy: "realm-jwt", builds: ["2.8 standard", "2.8 variant"] },
  { prefix: "/oidc", policy: "oidc-browser", builds: EVERY_BUILD },
  { prefix: "/api", policy: "oidc-id-token", builds: ["2.8 variant", "3.9 standard", "3.9 variant"] },
  { prefix: "/api-access", policy: "oidc-access-token", builds: ["3.9 standard", "3.9 variant"] },
]

/** The routes of a build of the gateway. */
export const routesOf = (line: Line, variant: Variant): ReadonlyArray<Route> =>
  ROUTES.filter(({ builds }) => builds.includes(`${line} ${variant}`)).map(({ prefix, policy }) => ({ prefix, policy }))

/** Paths, after the route's prefix, that the path-allow plugin lets through. */
export const ALLOWED_PATHS: ReadonlyArray<string> = ["/allowed"]

/** The route of a request, and the path for the upstream. */
export interface MatchedRoute {
  readonly route: Route
  /** Canonical path without the route's prefix; at least `/`. */
  readonly rest: string
}

/** Finds the route of a canonical path; prefixes end at a segment boundary, so at most one route matches. */
export const matchRoute = (routes: ReadonlyArray<Route>, path: string): MatchedRoute | undefined => {
  const route = routes.find(({ prefix }) => isUnder(path, prefix))
  return route === undefined ? undefined : { route, rest: path.slice(route.prefix.length) || "/" }
}
