import { Effect } from "effect"
import { InvalidIdentitySetup } from "./errors.ts"

/** What a realm's tokens must satisfy beyond a good signature. */
export interface TokenRules {
  /** The only accepted `iss`, compared character by character. Any issuer when absent (specification 5.2). */
  readonly issuer?: string
  /** Must be among the token's `aud`. */
  readonly audience?: string
  /** Clients (`azp`) that may have asked for the token. Any client when absent. */
  readonly authorizedParties?: ReadonlyArray<string>
  /** Seconds of clock difference forgiven for `exp` and `nbf`, 0..{@link CLOCK_TOLERANCE_MAX_S}; 0 when absent. */
  readonly clockToleranceS?: number
  /** Refuse a token without a `typ` claim. */
  readonly requireTyp?: boolean
  /** The kind of token wanted; access tokens when absent. */
  readonly kind?: "access" | "id"
}

/** A larger tolerance would keep dead tokens alive rather than forgive a clock. */
export const CLOCK_TOLERANCE_MAX_S = 300

const refuse = (option: keyof TokenRules, rule: string) => Effect.fail(new InvalidIdentitySetup({ option, rule }))

/**
 * Checks the rules once, at setup: an empty option must never come to mean "no check".
 *
 * @fails {InvalidIdentitySetup} on a blank issuer, audience or party, an empty list of parties, a tolerance out of range
 */
export const makeTokenRules = (rules: TokenRules): Effect.Effect<TokenRules, InvalidIdentitySetup> => {
  const { issuer, audience, authorizedParties, clockToleranceS = 0 } = rules
  if (issuer?.trim() === "") return refuse("issuer", "must not be empty")
  if (audience?.trim() === "") return refuse("audience", "must not be empty")
  if (
    authorizedParties !== undefined &&
    (authorizedParties.length === 0 || authorizedParties.some((party) => party.trim() === ""))
  )
    return refuse("authorizedParties", "must name at least one client")
  if (!Number.isInteger(clockToleranceS) || clockToleranceS < 0 || clockToleranceS > CLOCK_TOLERANCE_MAX_S)
    return refuse("clockToleranceS", `must be a whole number of seconds from 0 to ${CLOCK_TOLERANCE_MAX_S}`)
  return Effect.succeed(rules)
}
