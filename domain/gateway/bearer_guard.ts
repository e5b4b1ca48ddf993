import { Clock, Effect } from "effect"
import { judgeClaims } from "../identity/access_token.ts"
import { readBearer } from "../identity/bearer.ts"
import { realmRoles } from "../identity/claims.ts"
import { type KeysUnavailable, Unauthenticated } from "../identity/errors.ts"
import { type SignedToken, SignedTokens } from "../identity/signed_tokens.ts"
import { kindOf, type TokenObject } from "../identity/token_kind.ts"
import { type GatewayRequest, headerValue } from "./gateway_request.ts"
import type { GatewaySettings } from "./gateway_settings.ts"

/** Seconds a token may seem issued in the future before its clock, or its maker, is not believed. */
const ISSUED_AHEAD_MAX_S = 60

const refuse = (reason: Unauthenticated["reason"]) => Effect.fail(new Unauthenticated({ reason }))

const judgeIssueTime = ({ iat }: TokenObject, nowS: number) =>
  typeof iat === "number" && iat > nowS + ISSUED_AHEAD_MAX_S ? refuse("not-yet-valid") : Effect.void

const isOnlyFor = ({ aud }: TokenObject, client: string): boolean =>
  aud === client || (Array.isArray(aud) && aud.length === 1 && aud[0] === client)

/**
 * Judges an access token of the realm.
 *
 * A token that does not say what it is and names our client alone as audience is an ID token: no access.
 *
 * @param audience required audience; none is required when absent
 * @fails {Unauthenticated} when it is not one, or not for us, or not now
 */
const judgeAccess = Effect.fnUntraced(function* (
  { header, payload }: SignedToken,
  { issuer, clientId }: GatewaySettings,
  audience: string | undefined,
) {
  const nowS = (yield* Clock.currentTimeMillis) / 1000
  yield* judgeClaims(payload, header, { issuer, ...(audience === undefined ? {} : { audience }) }, nowS)
  yield* judgeIssueTime(payload, nowS)
  if (kindOf(header, payload) === "untyped" && isOnlyFor(payload, clientId)) return yield* refuse("kind")
  return payload
})

/**
 * Judges an ID token of our client: for us alone, and asked for by us.
 *
 * @fails {Unauthenticated} when it is not one, or not for us, or not now
 * @see OpenID Connect Core section 3.1.3.7; seed 4.4 and 5.7
 */
export const judgeIdToken = Effect.fnUntraced(function* (
  { header, payload }: SignedToken,
  { issuer, clientId }: GatewaySettings,
) {
  const nowS = (yield* Clock.currentTimeMillis) / 1000
  yield* judgeClaims(payload, header, { issuer, audience: clientId, kind: "id" }, nowS)
  yield* judgeIssueTime(payload, nowS)
  const { azp, sub } = payload
  if (typeof sub !== "string" || sub === "") return yield* refuse("claims")
  if (!isOnlyFor(payload, clientId) || (azp !== undefined && azp !== clientId)) return yield* refuse("audience")
  return payload
})

/** What a bearer route wants to see. */
export type Wanted = { readonly kind: "access"; readonly audience?: string } | { readonly kind: "id" }

/**
 * Takes the bearer token of a request, from its header and nowhere else, and judges it.
 *
 * @returns the token's claims
 * @fails {Unauthenticated} reason `missing` when no bearer token came, another when it is no good
 * @fails {KeysUnavailable} when the realm's keys are not known and cannot be fetched
 */
export const judgeBearer = Effect.fnUntraced(function* (
  request: GatewayRequest,
  wanted: Wanted,
  settings: GatewaySettings,
): Effect.fn.Return<TokenObject, Unauthenticated | KeysUnavailable, SignedTokens> {
  const token = yield* readBearer(headerValue(request, "authorization"))
  const signed = yield* (yield* SignedTokens).open(token)
  return yield* wanted.kind === "id" ? judgeIdToken(signed, settings) : judgeAccess(signed, settings, wanted.audience)
})

/** True when the claims hold one of the roles, or none is asked for. */
export const holdsRole = (payload: TokenObject, roles: ReadonlyArray<string>): boolean => {
  const held = realmRoles(payload)
  return roles.length === 0 || roles.some((role) => held.has(role))
}
