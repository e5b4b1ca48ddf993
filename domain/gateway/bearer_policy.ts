import { refusedByClaims } from "../identity/access_token.ts"
import { realmRoles } from "../identity/claims.ts"
import type { RefusalReason } from "../identity/errors.ts"
import type { SignedToken } from "../identity/signed_tokens.ts"
import { kindOf, type TokenObject } from "../identity/token_kind.ts"
import type { GatewaySettings } from "./gateway_settings.ts"

/** The kind of token a route asks for: access tokens, of one audience or any, or ID tokens of our client. */
export type WantedToken = { readonly kind: "access"; readonly audience?: string } | { readonly kind: "id" }

/** Seconds that `iat` may lie ahead of this clock. A token further ahead comes from a clock that cannot be trusted. */
const ISSUED_AHEAD_MAX_S = 60

const refusedByIssueTime = ({ iat }: TokenObject, nowS: number): RefusalReason | undefined =>
  typeof iat === "number" && iat > nowS + ISSUED_AHEAD_MAX_S ? "not-yet-valid" : undefined

const isOnlyFor = ({ aud }: TokenObject, client: string): boolean =>
  aud === client || (Array.isArray(aud) && aud.length === 1 && aud[0] === client)

/** A token without `typ` whose only audience is our client is an ID token, so it gives no access. */
const refusedAsAccess = ({ header, payload }: SignedToken, clientId: string): RefusalReason | undefined =>
  kindOf(header, payload) === "untyped" && isOnlyFor(payload, clientId) ? "kind" : undefined

/** An ID token names our client as its only audience and as the party that asked (OpenID Connect Core section 3.1.3.7). */
const refusedAsId = ({ payload }: SignedToken, clientId: string): RefusalReason | undefined => {
  const { azp, sub } = payload
  if (typeof sub !== "string" || sub === "") return "claims"
  return isOnlyFor(payload, clientId) && (azp === undefined || azp === clientId) ? undefined : "audience"
}

/**
 * Judges a token whose signature holds.
 *
 * @param wanted what the route asks for
 * @param settings name the issuer and the client
 * @param nowS seconds since the epoch
 * @returns why the token is refused; `undefined` when it is accepted
 * @see specification 4.4 and 5.7
 */
export const refusedToken = (
  signed: SignedToken,
  wanted: WantedToken,
  { issuer, clientId }: GatewaySettings,
  nowS: number,
): RefusalReason | undefined => {
  const rules = wanted.kind === "id" ? { ...wanted, issuer, audience: clientId } : { ...wanted, issuer }
  return (
    refusedByClaims(signed.payload, signed.header, rules, nowS) ??
    refusedByIssueTime(signed.payload, nowS) ??
    (wanted.kind === "id" ? refusedAsId : refusedAsAccess)(signed, clientId)
  )
}

/**
 * Tells whether the holder of a token has a role.
 *
 * @param payload claims of a verified token
 * @param roles realm roles, any one of which is enough; none asks for no role
 * @see specification 5.3
 */
export const holdsRole = (payload: TokenObject, roles: ReadonlyArray<string>): boolean => {
  const held = realmRoles(payload)
  return roles.length === 0 || roles.some((role) => held.has(role))
}
