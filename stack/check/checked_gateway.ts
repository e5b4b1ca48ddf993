import { type Line, type RoutePolicy, routesOf, type Variant } from "../../domain/gateway/route_profile.ts"
import type { Issue } from "../../domain/issue.ts"
import { isObject } from "../../domain/json_object.ts"

/** A route that asks for a token or a session. */
export interface CheckedRoute {
  readonly policy: Exclude<RoutePolicy, "path-allow">
  /** What rows call it. */
  readonly label: string
  /** Path that is asked for. */
  readonly target: string
}

/** What a gateway has that can be checked. Rows about anything that is absent do not exist. */
export interface CheckedGateway {
  /** True for a gateway with the stack's own routes, whose every answer is known. */
  readonly isStack: boolean
  /** Path that anybody may have. */
  readonly open?: string
  /** Path that nobody may have. */
  readonly secret?: string
  readonly routes: ReadonlyArray<CheckedRoute>
  /** Realm roles that the realm-aware route asks for, any one of them. */
  readonly jwtRoles: ReadonlyArray<string>
  /** Name of the gateway's session cookie, which the upstream must not be able to set. */
  readonly sessionCookie?: string
}

/** A gateway with the stack's own routes, such as `stack up` starts. */
export const stackGateway = (line: Line, variant: Variant, jwtRoles: ReadonlyArray<string>): CheckedGateway => ({
  isStack: true,
  open: "/open/allowed",
  secret: "/open/secret",
  routes: routesOf(line, variant).flatMap(({ prefix, policy }) =>
    policy === "path-allow" ? [] : [{ policy, label: prefix, target: `${prefix}/x` }],
  ),
  jwtRoles,
  sessionCookie: "portolan_session",
})

/** What a mapped path is for. */
export const ROLES = {
  open: "a path that anybody may have",
  secret: "a path that nobody may have",
  jwt: "a path for access tokens of the realm",
  oidc: "a path for browsers, which are sent to log in",
  api: "a path for ID tokens, which refuses rather than redirects",
  "api-access": "a path for access tokens with our audience",
} as const
/** Name of a role. */
export type Role = keyof typeof ROLES

const POLICIES = {
  jwt: "realm-jwt",
  oidc: "oidc-browser",
  api: "oidc-id-token",
  "api-access": "oidc-access-token",
} as const satisfies Readonly<Partial<Record<Role, RoutePolicy>>>

/** A team's own paths, by role, and what else is known of its gateway. */
export type RouteMap = { readonly [role in Role]?: string } & { readonly "session-cookie"?: string }

/** Whole segments in plain characters: the rows build their tricks around them. */
const PATH = /^(\/(?!\.{1,2}(\/|$))[\w.~!$&'()*+,=:@-]+)+$/
const COOKIE_NAME = /^[\w!#$%&'*+.^`|~-]{1,64}$/

const isRole = (name: string): name is Role => Object.hasOwn(ROLES, name)

/** @returns the broken rule, if any */
const ruleFor = (name: string, value: unknown): string | undefined => {
  if (name === "session-cookie")
    return typeof value === "string" && COOKIE_NAME.test(value) ? undefined : "must be the name of a cookie"
  if (!isRole(name)) return `is no role; roles are ${Object.keys(ROLES).join(", ")}, and session-cookie`
  const isRoot = value === "/" && name !== "open" && name !== "secret"
  return isRoot || (typeof value === "string" && PATH.test(value))
    ? undefined
    : "must be a path such as /a/b, without escapes, dots, parameters, query or a slash at its end"
}

/**
 * Reads a map of routes.
 *
 * @param given what a file or the command line holds
 * @returns the map, or what is wrong with it by role
 */
export const readRouteMap = (
  given: unknown,
): { readonly map: RouteMap } | { readonly issues: ReadonlyArray<Issue> } => {
  if (!isObject(given)) return { issues: [{ pointer: "", message: "must be one JSON object" }] }
  const issues = Object.entries(given).flatMap(([name, value]) => {
    const message = ruleFor(name, value)
    return message === undefined ? [] : [{ pointer: `/${name}`, message }]
  })
  if (issues.length > 0) return { issues }
  return Object.keys(given).some(isRole)
    ? { map: given }
    : { issues: [{ pointer: "", message: "must name at least one route" }] }
}

/** A team's gateway: only what is mapped is asked. */
export const mappedGateway = (map: RouteMap, jwtRoles: ReadonlyArray<string>): CheckedGateway => {
  const cookie = map["session-cookie"]
  return {
    isStack: false,
    ...(map.open === undefined ? {} : { open: map.open }),
    ...(map.secret === undefined ? {} : { secret: map.secret }),
    routes: Object.entries(POLICIES).flatMap(([role, policy]) => {
      const target = map[role as keyof typeof POLICIES]
      return target === undefined ? [] : [{ policy, label: target, target }]
    }),
    jwtRoles,
    ...(cookie === undefined ? {} : { sessionCookie: cookie }),
  }
}
