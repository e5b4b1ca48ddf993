/** A decoded JSON object of a token: its header or its payload. */
export type TokenObject = Readonly<Record<string, unknown>>

/**
 * What a realm meant a token for.
 *
 * `untyped` is a token that does not say: other providers and hand-made access tokens carry no `typ` claim.
 * `bound` is an access token that only its key holder may use, so it is worth nothing as a bearer token.
 */
export type TokenKind = "access" | "id" | "refresh" | "logout" | "bound" | "untyped" | "other"

/** `typ` claims of a Keycloak-shaped realm, compared without case as Keycloak's own verifier does. */
const KIND_OF_CLAIM: ReadonlyMap<string, TokenKind> = new Map([
  ["bearer", "access"],
  ["id", "id"],
  ["refresh", "refresh"],
  ["offline", "refresh"],
  ["logout", "logout"],
  ["dpop", "bound"],
])

/** Media types a header may announce for an access or ID token (RFC 9068 section 4, RFC 7519 section 5.1). */
const PLAIN_HEADERS: ReadonlySet<unknown> = new Set(["jwt", "at+jwt", "application/at+jwt"])

const lower = (value: unknown): unknown => (typeof value === "string" ? value.toLowerCase() : value)

const kindOfUntyped = (payload: TokenObject): TokenKind => {
  // These claims exist in one kind only: OpenID Connect Core section 3.1.3.6, Back-Channel Logout section 2.4.
  if ("at_hash" in payload || "c_hash" in payload) return "id"
  return "events" in payload ? "logout" : "untyped"
}

/**
 * Tells what kind of token this is, from its `typ` header, its `typ` claim and its confirmation claim.
 *
 * @see RFC 8725 section 3.12 (mutually exclusive validation rules); RFC 9449 section 7.2 and RFC 8705 (bound tokens)
 */
export const kindOf = (header: TokenObject, payload: TokenObject): TokenKind => {
  const announced = lower(header["typ"])
  if (announced === "logout+jwt") return "logout"
  if (announced !== undefined && !PLAIN_HEADERS.has(announced)) return "other"
  const claim = lower(payload["typ"])
  const kind =
    claim === undefined
      ? kindOfUntyped(payload)
      : ((typeof claim === "string" ? KIND_OF_CLAIM.get(claim) : undefined) ?? "other")
  return (kind === "access" || kind === "untyped") && "cnf" in payload ? "bound" : kind
}
