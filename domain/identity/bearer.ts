import { Effect } from "effect"
import { Unauthenticated } from "./errors.ts"

/** Longest accepted `Authorization` value, in characters: a large access token is 12 KB, a megabyte is an attack. */
export const AUTHORIZATION_MAX = 16 * 1024

const SCHEME = /^bearer(?: |$)/i
const CREDENTIALS_AT = "bearer ".length

/**
 * Takes the token out of an `Authorization` header: scheme in any case, exactly one space, one token, nothing else.
 *
 * The characters of the token are the verifier's to judge; two headers arrive joined by a comma and a space.
 *
 * @param authorization the header's value
 * @param extracted the token that a more lenient reader took out of the request, if one was asked. One that is not the
 * header's own, because it came from the query or the body, is refused (RFC 6750 section 2: one method a request).
 * @fails {Unauthenticated} reason `missing` when there is no header or another scheme, `malformed` when the scheme is
 * followed by no token, by more than one word, or by more than {@link AUTHORIZATION_MAX} characters, or when `extracted`
 * is another token
 * @see RFC 6750 section 2.1; RFC 9110 section 11.4
 */
export const readBearer = (
  authorization: string | null | undefined,
  extracted?: string | undefined,
): Effect.Effect<string, Unauthenticated> => {
  if (authorization === null || authorization === undefined || !SCHEME.test(authorization))
    return Effect.fail(new Unauthenticated({ reason: "missing" }))
  const token = authorization.slice(CREDENTIALS_AT)
  return token !== "" &&
    authorization.length <= AUTHORIZATION_MAX &&
    !token.includes(" ") &&
    (extracted === undefined || extracted === token)
    ? Effect.succeed(token)
    : Effect.fail(new Unauthenticated({ reason: "malformed" }))
}
