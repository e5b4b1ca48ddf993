import type { Route, RoutePolicy } from "../../domain/gateway/route_profile.ts"
import type { CheckCase } from "./check_case.ts"
import type { CredentialName } from "./credentials.ts"

/** Statuses by kind of route. A route that is not there answers 404, and the browser's route never looks at a token. */
type Row = readonly [credential: CredentialName, jwt: number, idToken: number, accessToken: number]

const NOWHERE = [401, 401, 401] as const

/** Gateway notes, section 1.3, columns "ours"; section 3, cases 12 to 22. */
const ROWS: ReadonlyArray<Row> = [
  ["none", ...NOWHERE],
  ["access token", 200, 401, 200],
  ["ID token", 401, 200, 401],
  ["garbage", ...NOWHERE],
  ["three parts of nothing", ...NOWHERE],
  ["expired an hour ago", ...NOWHERE],
  ["expired 30 s ago", ...NOWHERE],
  ["expired a second ago", ...NOWHERE],
  ["ID token expired a second ago", ...NOWHERE],
  ["no exp", ...NOWHERE],
  ["exp as text", ...NOWHERE],
  ["exp 1e300", ...NOWHERE],
  ["nbf in 10 minutes", ...NOWHERE],
  ["iat in an hour", ...NOWHERE],
  ["access token of another realm", ...NOWHERE],
  ["issuer and 2", ...NOWHERE],
  ["issuer and slash", ...NOWHERE],
  ["issuer in capitals", ...NOWHERE],
  ["issuer of an attacker around ours", ...NOWHERE],
  ["issuer elsewhere, good key", ...NOWHERE],
  ["no issuer", ...NOWHERE],
  ["access token for another audience", 200, 401, 401],
  ["access token without audience", 200, 401, 401],
  ["access token bound to a key", ...NOWHERE],
  ["ID token of another client", ...NOWHERE],
  ["ID token for two clients", ...NOWHERE],
  ["ID token without audience", ...NOWHERE],
  ["ID token asked for by another client", ...NOWHERE],
  ["wrong key, same kid", ...NOWHERE],
  ["unknown kid, good key", ...NOWHERE],
  ["kid that climbs", ...NOWHERE],
  ["kid of 10 kB", ...NOWHERE],
  ["alg none", ...NOWHERE],
  ["alg None", ...NOWHERE],
  ["HS256 with the public key", ...NOWHERE],
  ["refresh token", ...NOWHERE],
  ["refresh token shape", ...NOWHERE],
  ["refresh token, good key", ...NOWHERE],
  ["offline token", ...NOWHERE],
  ["logout token", ...NOWHERE],
  ["tampered payload", ...NOWHERE],
  ["payload of no object", ...NOWHERE],
  ["signature removed", ...NOWHERE],
  ["ID token with another signature", ...NOWHERE],
  ["critical extension", ...NOWHERE],
  ["own key in jwk header", ...NOWHERE],
  ["own keys in jku header", ...NOWHERE],
  ["own chain in x5u header", ...NOWHERE],
]

/** The bearer routes in the order of {@link Row}, and the browser's. */
const COLUMNS: ReadonlyArray<readonly [prefix: string, policy: RoutePolicy]> = [
  ["/jwt", "realm-jwt"],
  ["/api", "oidc-id-token"],
  ["/api-access", "oidc-access-token"],
  ["/oidc", "oidc-browser"],
]

/** The one header a 401 tells a client what to do with. */
const challenged =
  (bad: boolean) =>
  (head: string): string | undefined => {
    const challenge = /^www-authenticate: (.*)$/im.exec(head)?.[1]?.trim()
    if (challenge === undefined) return "no WWW-Authenticate"
    if (!/^Bearer realm="[\w-]+"(, error="\w+")?$/.test(challenge)) return `challenge is ${challenge}`
    return challenge.includes("error=") === bad ? undefined : `challenge is ${challenge}`
  }

/**
 * Every token on every route.
 *
 * @param routes of the gateway that is asked
 * @param jwtRoles roles its `/jwt` asks for
 */
export const tokenCases = (routes: ReadonlyArray<Route>, jwtRoles: ReadonlyArray<string>): ReadonlyArray<CheckCase> => {
  const rows: ReadonlyArray<Row> = [
    ...ROWS,
    ["access token without roles", jwtRoles.length === 0 ? 200 : 403, 401, 200],
  ]
  return rows.flatMap(([credential, ...statuses]) =>
    COLUMNS.map(([prefix, policy], column): CheckCase => {
      const exists = routes.some((route) => route.prefix === prefix)
      const status = policy === "oidc-browser" ? 302 : (statuses[column] ?? 401)
      const expected = exists ? status : 404
      return {
        group: "tokens",
        name: `${credential} on ${prefix}`,
        target: `${prefix}/x`,
        credential,
        expect: [String(expected)],
        ...(expected === 401 ? { answered: challenged(credential !== "none") } : {}),
      }
    }),
  )
}
