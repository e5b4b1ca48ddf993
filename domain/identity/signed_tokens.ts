import { Context, type Effect } from "effect"
import type { KeysUnavailable, Unauthenticated } from "./errors.ts"
import type { TokenObject } from "./token_kind.ts"

/** A token whose signature holds; what it says is still to be judged. */
export interface SignedToken {
  readonly header: TokenObject
  readonly payload: TokenObject
}

/**
 * Driven port: checks signatures against the keys of one configured realm, never against keys a token points at.
 *
 * For callers that accept several kinds of token; who wants access tokens alone asks a TokenVerifier.
 */
export class SignedTokens extends Context.Service<
  SignedTokens,
  {
    readonly open: (token: string) => Effect.Effect<SignedToken, Unauthenticated | KeysUnavailable>
    /** Succeeds when a key is known, fetching them if none is: before that no token could be opened. */
    readonly ready: Effect.Effect<void, KeysUnavailable>
  }
>()("portolan/domain/identity/SignedTokens") {}
