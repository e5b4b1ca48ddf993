import { Context, type Effect } from "effect"
import type { Claims } from "./claims.ts"
import type { KeysUnavailable, Unauthenticated } from "./errors.ts"

/**
 * Driven port: decides whether a bearer token is an acceptable access token of the realm.
 *
 * An adapter may answer from a bounded memory of verified tokens, never beyond the token's `exp`.
 *
 * @see seed section 5; RFC 8725 (JWT best current practices)
 */
export class TokenVerifier extends Context.Service<
  TokenVerifier,
  {
    readonly verify: (token: string) => Effect.Effect<Claims, Unauthenticated | KeysUnavailable>
    /**
     * Claims of a token that was verified before and still holds, at once: a client sends the same token with every
     * request. `undefined` says nothing about the token; only `verify` refuses.
     *
     * @param nowS seconds since the epoch
     */
    readonly recall: (token: string, nowS: number) => Claims | undefined
    /** Succeeds when tokens can be judged now, at once; used by readiness. */
    readonly ready: Effect.Effect<void, KeysUnavailable>
  }
>()("portolan/domain/identity/TokenVerifier") {}
