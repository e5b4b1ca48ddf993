import { type CheckCase, wrong } from "./check_case.ts"
import type { CheckedGateway, CheckedRoute } from "./checked_gateway.ts"
import type { CredentialName, TokenBase } from "./credentials.ts"
import { loginAnswers } from "./path_cases.ts"
import type { ReasonName } from "./reasons.ts"

/** A credential and the right status on each kind of bearer route; absent where the credential is not asked. */
interface Row {
  readonly credential: CredentialName
  readonly reason: ReasonName
  /** Routes for access tokens of the realm, for ID tokens, for access tokens with our audience. */
  readonly status: readonly [jwt: number, idToken: number, accessToken: number]
  /** Which good token it is made from, where that is not the route's own kind. */
  readonly base?: TokenBase
  /** What rows call it, where that is not the credential's name. */
  readonly name?: string
  readonly harmless?: true
}

const refused = (reason: ReasonName, credential: CredentialName, more: Partial<Row> = {}): Row => ({
  credential,
  reason,
  status: [401, 401, 401],
  ...more,
})

const both = (reason: ReasonName, credential: CredentialName, name: string, status: Row["status"]): Row => ({
  credential,
  reason,
  status,
  name,
  base: "access",
})

const ofId = (reason: ReasonName, credential: CredentialName, name: string, more: Partial<Row> = {}): Row =>
  refused(reason, credential, { name, base: "id", ...more })

/** The kinds of token of specification 4.4 and 17. */
const ROWS: ReadonlyArray<Row> = [
  refused("no-credential", "none"),
  { credential: "access token", reason: "kind", status: [200, 401, 200] },
  { credential: "ID token", reason: "kind", status: [401, 200, 401] },
  refused("forged", "garbage"),
  refused("forged", "three parts of nothing"),
  refused("expiry", "expired an hour ago"),
  refused("leeway", "expired 30 s ago", { harmless: true }),
  refused("leeway", "expired a second ago", { harmless: true }),
  ofId("leeway", "expired a second ago", "ID token expired a second ago", { harmless: true }),
  refused("expiry", "no exp"),
  refused("expiry", "exp as text"),
  refused("expiry", "exp 1e300"),
  refused("expiry", "nbf in 10 minutes"),
  // No specification wants this refused.
  refused("leeway", "iat in an hour", { harmless: true }),
  refused("issuer", "access token of another realm"),
  refused("issuer", "issuer and 2"),
  refused("issuer", "issuer and slash"),
  refused("issuer", "issuer in capitals"),
  refused("key-from-token", "issuer of an attacker around ours"),
  refused("issuer", "issuer elsewhere, good key"),
  refused("issuer", "no issuer"),
  both("audience", "token for another audience", "access token for another audience", [200, 401, 401]),
  both("audience", "token without audience", "access token without audience", [200, 401, 401]),
  both("binding", "token bound to a key", "access token bound to a key", [401, 401, 401]),
  ofId("audience", "token of another client", "ID token of another client"),
  ofId("audience", "token for two clients", "ID token for two clients"),
  ofId("audience", "token without audience", "ID token without audience"),
  ofId("audience", "token asked for by another client", "ID token asked for by another client"),
  refused("forged", "wrong key, same kid"),
  refused("forged", "unknown kid, good key", { harmless: true }),
  refused("forged", "kid that climbs"),
  refused("forged", "kid of 10 kB"),
  refused("unsigned", "alg none"),
  refused("unsigned", "alg None with a capital"),
  refused("confused-algorithm", "HS256 with the public key"),
  refused("kind", "refresh token"),
  refused("forged", "refresh token shape"),
  refused("kind", "refresh token, good key"),
  refused("kind", "offline token"),
  refused("kind", "logout token"),
  refused("forged", "tampered payload"),
  refused("kind", "payload of no object"),
  refused("unsigned", "signature removed"),
  refused("forged", "ID token with another signature"),
  refused("critical", "critical extension"),
  refused("key-from-token", "own key in jwk header"),
  refused("key-from-token", "own keys in jku header"),
  refused("key-from-token", "own chain in x5u header"),
]

const BEARER = ["realm-jwt", "oidc-id-token", "oidc-access-token"] as const

/** The one header a 401 tells a client what to do with. */
const challenged =
  (bad: boolean, isStack: boolean): NonNullable<CheckCase["answered"]> =>
  (head) => {
    const challenge = /^www-authenticate: (.*)$/im.exec(head)?.[1]?.trim()
    if (challenge === undefined) return wrong("no WWW-Authenticate")
    if (!isStack) return undefined
    const isOurs = /^Bearer realm="[\w-]+"(, error="\w+")?$/.test(challenge) && challenge.includes("error=") === bad
    return isOurs ? undefined : wrong(`challenge is ${challenge}`)
  }

const caseOf = (row: Row, route: CheckedRoute, gateway: CheckedGateway): ReadonlyArray<CheckCase> => {
  const { credential, reason, status, name = credential, harmless } = row
  const { policy, label, target } = route
  const column = (BEARER as ReadonlyArray<string>).indexOf(policy)
  const wanted = column === -1 ? undefined : (status[column] ?? 401)
  // Somebody else's browser route may take good tokens as well as sessions.
  if (wanted === undefined && !gateway.isStack && status.includes(200)) return []
  // To a gateway of somebody else every 401 owes a challenge; one row says so rather than all of them.
  const isAsked = gateway.isStack || credential === "none"
  return [
    {
      group: "tokens",
      name: `${name} on ${label}`,
      reason: wanted === 200 ? "open" : reason,
      cell: { credential: name, route: label },
      target,
      credential,
      base: row.base ?? (policy === "oidc-id-token" ? "id" : "access"),
      ...(wanted === undefined ? loginAnswers(gateway) : { expect: [String(wanted)] }),
      ...(harmless === undefined ? {} : { harmless }),
      ...(wanted === 200 && /^(access|ID) token$/.test(credential) ? { mustPass: true } : {}),
      ...(wanted === 401 && isAsked ? { answered: challenged(credential !== "none", gateway.isStack) } : {}),
    },
  ]
}

/** Every token on every route. */
export const tokenCases = (gateway: CheckedGateway): ReadonlyArray<CheckCase> => {
  const rows: ReadonlyArray<Row> = [
    ...ROWS,
    {
      credential: "access token without roles",
      reason: "role",
      status: [gateway.jwtRoles.length === 0 ? 200 : 403, 401, 200],
    },
  ]
  return rows.flatMap((row) => gateway.routes.flatMap((route) => caseOf(row, route, gateway)))
}
