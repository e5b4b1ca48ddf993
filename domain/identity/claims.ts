import { Effect } from "effect"
import { Forbidden, InvalidIdentitySetup } from "./errors.ts"

/** What the service keeps of a verified access token. */
export interface Claims {
  /** `sub`, when the token has one: lightweight tokens of an identity provider carry none. */
  readonly subject: string | undefined
  /** Realm roles: the strings of the array `realm_access.roles`. */
  readonly roles: ReadonlySet<string>
  /** `exp`, seconds since the epoch. */
  readonly expiresAt: number
}

/** Realm roles of a token payload. Anything that is not a string in an array is no role (a string would match substrings). */
export const realmRoles = (payload: Readonly<Record<string, unknown>>): ReadonlySet<string> => {
  const access = payload["realm_access"]
  const roles = typeof access === "object" && access !== null && "roles" in access ? access.roles : undefined
  return new Set(Array.isArray(roles) ? roles.filter((role): role is string => typeof role === "string") : [])
}

/** Who may use a route: holders of any one of the named realm roles, or every authenticated caller. */
export type Access = { readonly roles: ReadonlyArray<string> } | "authenticated"

/**
 * Checks a rule once, at setup.
 *
 * @fails {InvalidIdentitySetup} when the role list is empty or holds a blank name: it must never come to mean "everybody"
 */
export const makeAccess = (access: Access): Effect.Effect<Access, InvalidIdentitySetup> =>
  access === "authenticated" || (access.roles.length > 0 && access.roles.every((role) => role.trim() !== ""))
    ? Effect.succeed(access)
    : Effect.fail(new InvalidIdentitySetup({ option: "roles", rule: "must name at least one realm role" }))

/**
 * Lets the claims through, or refuses.
 *
 * @fails {Forbidden} when none of the roles is held (specification 5.3)
 */
export const authorize = (claims: Claims, access: Access): Effect.Effect<void, Forbidden> =>
  access === "authenticated" || access.roles.some((role) => claims.roles.has(role))
    ? Effect.void
    : Effect.fail(new Forbidden({ anyOf: access.roles }))
