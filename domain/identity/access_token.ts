import { Effect } from "effect"
import { type Claims, realmRoles } from "./claims.ts"
import { type RefusalReason, Unauthenticated } from "./errors.ts"
import { kindOf, type TokenKind, type TokenObject } from "./token_kind.ts"
import type { TokenRules } from "./token_rules.ts"

/** Longest token looked at, in characters. */
export const TOKEN_MAX = 16 * 1024

// One part of a compact JWS: base64url without padding whose unused trailing bits are zero (RFC 4648 section 3.5).
// Decoders forgive all of that, so one signature would have many spellings.
const PART = "(?=[\\w-])(?:[\\w-]{4})*(?:[\\w-][AQgw]|[\\w-]{2}[AEIMQUYcgkosw048])?"
const COMPACT = new RegExp(`^${PART}\\.${PART}\\.${PART}$`)

/** NumericDates from here on are milliseconds taken for seconds, or "never": the year 5138. */
const NUMERIC_DATE_END = 1e11

const refuse = (reason: RefusalReason) => Effect.fail(new Unauthenticated({ reason }))

/** True for the one spelling a signed token can have: three canonical base64url parts, at most {@link TOKEN_MAX} long. */
export const isCompactToken = (text: string): boolean => text.length <= TOKEN_MAX && COMPACT.test(text)

/**
 * Judges the protected header before any key is looked up.
 *
 * Key material or addresses in a header (`jwk`, `jku`, `x5u`, `x5c`) are ignored: keys come from the setup alone.
 *
 * @fails {Unauthenticated} when the algorithm is not RS256, or the header asks for an extension (`crit`, `b64`, `zip`)
 * @see specification 5.1; RFC 8725 section 3.1
 */
export const judgeHeader = (header: TokenObject): Effect.Effect<void, Unauthenticated> => {
  if (header["alg"] !== "RS256") return refuse("algorithm")
  return "crit" in header || "b64" in header || "zip" in header ? refuse("malformed") : Effect.void
}

const isNumericDate = (value: unknown): value is number =>
  typeof value === "number" && Number.isFinite(value) && value < NUMERIC_DATE_END

/** Why these times refuse the token now; `undefined` when they do not. */
const refusedByTime = (payload: TokenObject, toleranceS: number, nowS: number): RefusalReason | undefined => {
  const { exp, nbf, iat } = payload
  if (!isNumericDate(exp) || (nbf !== undefined && !isNumericDate(nbf))) return "claims"
  // A token issued "in the future" is a clock a second off, so only the type of `iat` is checked.
  if (iat !== undefined && !isNumericDate(iat)) return "claims"
  if (nowS >= exp + toleranceS) return "expired"
  return nbf !== undefined && nbf > nowS + toleranceS ? "not-yet-valid" : undefined
}

const isFor = (payload: TokenObject, audience: string): boolean => {
  const { aud } = payload
  return aud === audience || (Array.isArray(aud) && aud.includes(audience))
}

const refusedByKind = (kind: TokenKind, rules: TokenRules): RefusalReason | undefined => {
  if (kind === (rules.kind ?? "access") || (kind === "untyped" && rules.requireTyp !== true)) return undefined
  return kind === "bound" ? "bound" : "kind"
}

/** Why the parties named in the token refuse it; `undefined` when they do not. */
const refusedByParties = (payload: TokenObject, rules: TokenRules): RefusalReason | undefined => {
  if (rules.issuer !== undefined && payload["iss"] !== rules.issuer) return "issuer"
  if (rules.audience !== undefined && !isFor(payload, rules.audience)) return "audience"
  const { azp } = payload
  const parties = rules.authorizedParties
  return parties === undefined || (typeof azp === "string" && parties.includes(azp)) ? undefined : "audience"
}

/**
 * Why a token whose signature holds is no token of the realm: an access token unless the rules want another kind.
 *
 * `sub`, `iat`, `jti`, `kid` and `azp` are not required: lightweight tokens lack them.
 *
 * @param payload the signed claims
 * @param header the protected header; its `typ` takes part in the kind of the token
 * @param rules what the setup asks for
 * @param nowS seconds since the epoch
 * @returns `undefined` when it is one; else the wrong kind, a bound token, `exp`/`nbf`/`iat` of a wrong type or out of
 * time, issuer, audience
 * @see specification 5; RFC 7519 section 4.1; RFC 8725
 */
export const refusedByClaims = (
  payload: TokenObject,
  header: TokenObject,
  rules: TokenRules,
  nowS: number,
): RefusalReason | undefined =>
  refusedByTime(payload, rules.clockToleranceS ?? 0, nowS) ??
  refusedByParties(payload, rules) ??
  refusedByKind(kindOf(header, payload), rules)

/**
 * Judges what a token says by {@link refusedByClaims}, with the same parameters.
 *
 * @fails {Unauthenticated} with the reason
 */
export const judgeClaims = (
  payload: TokenObject,
  header: TokenObject,
  rules: TokenRules,
  nowS: number,
): Effect.Effect<Claims, Unauthenticated> => {
  const refused = refusedByClaims(payload, header, rules, nowS)
  if (refused !== undefined) return refuse(refused)
  const { sub, exp } = payload
  return Effect.succeed({
    subject: typeof sub === "string" ? sub : undefined,
    roles: realmRoles(payload),
    expiresAt: Number(exp),
  })
}
