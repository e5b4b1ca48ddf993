import { Data } from "effect"

/** Why a token was refused. For logs and tests; a client is told only {@link Unauthenticated}'s fixed sentence. */
export type RefusalReason =
  | "missing"
  | "malformed"
  | "algorithm"
  | "signature"
  | "expired"
  | "not-yet-valid"
  | "issuer"
  | "audience"
  | "kind"
  | "bound"
  | "claims"

/** No acceptable bearer token (specification 5 and 7): 401. */
export class Unauthenticated extends Data.TaggedError("Unauthenticated")<{ readonly reason: RefusalReason }> {
  readonly code = "UNAUTHENTICATED"
  override get message(): string {
    return this.reason === "missing" ? "A bearer token is required" : "The bearer token is not acceptable"
  }
}

/** The token is good but holds none of the roles the route asks for (specification 5.3): 403. */
export class Forbidden extends Data.TaggedError("Forbidden")<{ readonly anyOf: ReadonlyArray<string> }> {
  readonly code = "FORBIDDEN"
  override get message(): string {
    return "None of the required realm roles is held"
  }
}

/** The realm's keys cannot be fetched now, so no token can be judged: 503, never 401. */
export class KeysUnavailable extends Data.TaggedError("KeysUnavailable")<{ readonly reason: string }> {
  readonly code = "KEYS_UNAVAILABLE"
  override get message(): string {
    return `The realm's keys cannot be fetched: ${this.reason}`
  }
}

/** A configured key, issuer, audience or role list that can never work; found at start, never at a request. */
export class InvalidIdentitySetup extends Data.TaggedError("InvalidIdentitySetup")<{
  readonly option: string
  readonly rule: string
}> {
  readonly code = "INVALID_IDENTITY_SETUP"
  override get message(): string {
    return `Identity option '${this.option}' ${this.rule}`
  }
}

/** The identity provider refused or could not answer the token request of specification 4.2. */
export class TokenRequestFailed extends Data.TaggedError("TokenRequestFailed")<{
  readonly kind: "refused" | "unreachable" | "timeout" | "malformed"
  /** OAuth error code of the answer (RFC 6749 section 5.2), when it gave one. */
  readonly error?: string
  readonly status?: number
}> {
  readonly code = "TOKEN_REQUEST_FAILED"
  override get message(): string {
    const status = this.status === undefined ? "" : ` with status ${this.status}`
    const error = this.error === undefined ? "" : ` (${this.error})`
    return `Token request ${this.kind}${status}${error}`
  }
}
