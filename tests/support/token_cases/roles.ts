// J81..J89: a good token in front of a route that asks for the realm role `admin`.
import { accepted, bearer, forbidden, refused, type TokenCase, withClaims } from "./token_case.ts"

const roles = ["admin"]

export const ROLE_CASES: ReadonlyArray<TokenCase> = [
  accepted("J81", "the role is held", withClaims({ realm_access: { roles: ["x", "admin"] } }), { roles }),
  accepted("J81", "one of several roles is held", withClaims({ realm_access: { roles: ["admin"] } }), {
    roles: ["root", "admin"],
  }),
  forbidden("J82", "another role is held", withClaims({ realm_access: { roles: ["user"] } }), { roles }),
  ...[undefined, null, {}, { roles: null }, { roles: {} }, [], "admin"].map((realm_access) =>
    forbidden("J82", `realm_access ${JSON.stringify(realm_access) ?? "missing"}`, withClaims({ realm_access }), {
      roles,
    }),
  ),
  ...["not-admin", "admin", "admin,user"].map((text) =>
    forbidden("J83", `roles is the text "${text}"`, withClaims({ realm_access: { roles: text } }), { roles }),
  ),
  accepted("J84", "roles holds other things too", withClaims({ realm_access: { roles: [1, null, {}, "admin"] } }), {
    roles,
  }),
  forbidden("J84", "the role inside an inner array", withClaims({ realm_access: { roles: [["admin"]] } }), { roles }),
  ...["Admin", "admin ", "ADMIN", "admin\0"].map((role) =>
    forbidden("J85", `the role spelled ${JSON.stringify(role)}`, withClaims({ realm_access: { roles: [role] } }), {
      roles,
    }),
  ),
  forbidden(
    "J86",
    "the role everywhere but in realm_access",
    withClaims({
      realm_access: undefined,
      resource_access: { "portolan-web": { roles }, account: { roles } },
      roles,
      groups: roles,
      scope: "admin",
    }),
    { roles },
  ),
  refused("J88", "the role is held, the token expired", ({ access, now }) => access({ exp: now - 1 }), { roles }),
  forbidden(
    "J89",
    "no role, and no such record",
    (kit) => ({
      ...bearer(kit.access({ realm_access: { roles: [] } })),
      id: 999_999_999,
    }),
    { roles },
  ),
]
