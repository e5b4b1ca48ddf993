import { Effect } from "effect"
import { readBearer } from "../../domain/identity/bearer.ts"
import type { Claims } from "../../domain/identity/claims.ts"
import type { KeysUnavailable, Unauthenticated } from "../../domain/identity/errors.ts"
import type { TokenVerifier } from "../../domain/identity/token_verifier.ts"

/**
 * Turns an `Authorization` header into the caller's claims.
 *
 * The effect is already completed (an `Exit`) when the verifier's is: for a remembered token, and for most refusals.
 *
 * @param verifier judges the token
 * @param authorization the header's value, the only place a token is taken from
 * @param extracted the token as a more lenient reader found it, if one was asked; see {@link readBearer}
 * @fails {Unauthenticated} reason `missing` when no bearer token came, another reason when one came and is refused
 * @fails {KeysUnavailable} when the realm's keys cannot be fetched, so that the token can be neither accepted nor refused
 * @see specification 5.1
 */
export const authenticate = (
  verifier: TokenVerifier["Service"],
  authorization: string | null | undefined,
  extracted?: string | undefined,
): Effect.Effect<Claims, Unauthenticated | KeysUnavailable> =>
  Effect.flatMapEager(readBearer(authorization, extracted), verifier.verify)
