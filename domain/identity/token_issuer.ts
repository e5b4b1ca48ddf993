import { Context, type Effect, type Redacted } from "effect"
import type { TokenRequestFailed } from "./errors.ts"

/** A token our own service may present to others. */
export interface AccessToken {
  readonly text: Redacted.Redacted<string>
  /** Seconds since the epoch; absent when the identity provider does not say. */
  readonly expiresAt?: number
}

/**
 * Driven port: asks the identity provider for an access token of our own service (client credentials).
 *
 * Every call is a new request; the use case remembers.
 *
 * @see specification 4.2; RFC 6749 section 4.4
 */
export class TokenIssuer extends Context.Service<
  TokenIssuer,
  { readonly requestToken: Effect.Effect<AccessToken, TokenRequestFailed> }
>()("portolan/domain/identity/TokenIssuer") {}
