import { Context, type Effect } from "effect"
import type { Claims } from "./claims.ts"
import type { KeysUnavailable, Unauthenticated } from "./errors.ts"

/**
 * Driven port: decides whether a bearer token is an acceptable access token of the realm.
 *
 * An adapter may remember verified tokens, never beyond the token's `exp`; for such a token, and for a text that is
 * refused by its shape alone, the effect it returns is already completed (an `Exit`), so that the caller needs no fiber.
 *
 * @see specification 5; RFC 8725 (JWT best current practices)
 */
export class TokenVerifier extends Context.Service<
  TokenVerifier,
  {
    readonly verify: (token: string) => Effect.Effect<Claims, Unauthenticated | KeysUnavailable>
    /** Succeeds when tokens can be judged now; asks nobody. The readiness check uses it. */
    readonly ready: Effect.Effect<void, KeysUnavailable>
  }
>()("portolan/domain/identity/TokenVerifier") {}
