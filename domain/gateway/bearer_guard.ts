import { Effect } from "effect"
import { refusedByClaims } from "../identity/access_token.ts"
import { readBearer } from "../identity/bearer.ts"
import { realmRoles } from "../identity/claims.ts"
import { type KeysUnavailable, type RefusalReason, Unauthenticated } from "../identity/errors.ts"
import { type SignedToken, SignedTokens } from "../identity/signed_tokens.ts"
import { kindOf, type TokenObject } from "../identity/token_kind.ts"
import { type GatewayRequest, headerValue } from "./gateway_request.ts"
import type { GatewaySettings } from "./gateway_settings.ts"

/** Seconds a token may seem issued in the future before its clock, or its maker, is not believed. */
const ISSUED_AHEAD_MAX_S = 60

const refusedByIssueTime = ({ iat }: TokenObject, nowS: number): RefusalReason | undefined =>
  typeof iat === "number" && iat > nowS + ISSUED_AHEAD_MAX_S ? "not-yet-valid" : undefined

const isOnlyFor = ({ aud }: TokenObject, client: string): boolean =>
  aud === client || (Array.isArray(aud) && aud.length === 1 && aud[0] === client)

/** What a bearer route wants to see. */
export type Wanted = { readonly kind: "access"; readonly audience?: string } | { readonly kind: "id" }

/** A token that does not say what it is and names our client alone as audience is an ID token: no access. */
const refusedAsAccess = ({ header, payload }: SignedToken, clientId: string): RefusalReason | undefined =>
  kindOf(header, payload) === "untyped" && isOnlyFor(payload, clientId) ? "kind" : undefined

/** An ID token is for us alone, and was asked for by us (OpenID Connect Core section 3.1.3.7). */
const refusedAsId = ({ payload }: SignedToken, clientId: string): RefusalReason | undefined => {
  const { azp, sub } = payload
  if (typeof sub !== "string" || sub === "") return "claims"
  return isOnlyFor(payload, clientId) && (azp === undefined || azp === clientId) ? undefined : "audience"
}

/**
 * Judges a token whose signature holds.
 *
 * @returns its claims
 * @fails {Unauthenticated} when it is not what is wanted, or not for us, or not now
 * @see seed 4.4 and 5.7
 */
export const judgeSigned = (
  signed: SignedToken,
  wanted: Wanted,
  { issuer, clientId }: GatewaySettings,
): Effect.Effect<TokenObject, Unauthenticated> =>
  Effect.clockWith((clock) => {
    const { header, payload } = signed
    const nowS = clock.currentTimeMillisUnsafe() / 1000
    const rules = wanted.kind === "id" ? { ...wanted, issuer, audience: clientId } : { ...wanted, issuer }
    const reason =
      refusedByClaims(payload, header, rules, nowS) ??
      refusedByIssueTime(payload, nowS) ??
      (wanted.kind === "id" ? refusedAsId : refusedAsAccess)(signed, clientId)
    return reason === undefined ? Effect.succeed(payload) : Effect.fail(new Unauthenticated({ reason }))
  })

/**
 * Takes the bearer token of a request, from its header and nowhere else, and judges it.
 *
 * @returns the token's claims
 * @fails {Unauthenticated} reason `missing` when no bearer token came, another when it is no good
 * @fails {KeysUnavailable} when the realm's keys are not known and cannot be fetched
 */
export const judgeBearer = (
  request: GatewayRequest,
  wanted: Wanted,
  settings: GatewaySettings,
): Effect.Effect<TokenObject, Unauthenticated | KeysUnavailable, SignedTokens> =>
  Effect.flatMap(SignedTokens, ({ open }) =>
    readBearer(headerValue(request, "authorization")).pipe(
      Effect.flatMap(open),
      Effect.flatMap((signed) => judgeSigned(signed, wanted, settings)),
    ),
  )

/** True when the claims hold one of the roles, or none is asked for. */
export const holdsRole = (payload: TokenObject, roles: ReadonlyArray<string>): boolean => {
  const held = realmRoles(payload)
  return roles.length === 0 || roles.some((role) => held.has(role))
}
