import { bearer } from "@elysiajs/bearer"
import { Effect } from "effect"
import { Elysia } from "elysia"
import { authenticate } from "../../../application/identity/authenticate.ts"
import { type Access, authorize, type Claims, makeAccess } from "../../../domain/identity/claims.ts"
import type { KeysUnavailable, Unauthenticated } from "../../../domain/identity/errors.ts"
import type { TokenVerifier } from "../../../domain/identity/token_verifier.ts"
import type { RequestContext } from "./request_context.ts"
import type { Responder } from "./respond.ts"

/** An Elysia `beforeHandle` hook: `undefined` lets the request through. */
type Hook = (context: RequestContext & { readonly bearer?: string | undefined }) => Promise<string | undefined>

/** Decides who gets past: 401 first, then 403, before anything of the request but its headers is looked at. */
export interface Guard {
  /**
   * An Elysia plugin that protects everything mounted after it in the same group.
   *
   * It has no name on purpose: Elysia drops a second plugin with a name it already knows, and the route would be open.
   *
   * @param access who is let through; every caller with an acceptable token when omitted
   */
  readonly protect: (access?: Access) => ReturnType<typeof makeProtection>
  /**
   * Judges the request's token once more, for work that goes on after the guard has let it in.
   *
   * @fails {Unauthenticated} when the token is accepted no longer, or there is none
   */
  readonly identify: (request: Request) => Effect.Effect<Claims, Unauthenticated | KeysUnavailable>
  /** A `beforeHandle` hook, complete in itself: the token is checked, then the roles (any one of them is enough). */
  readonly requireRoles: (roles: ReadonlyArray<string>) => Hook
}

/**
 * The plugin also takes tokens from the query, and reads `BearerXabc` as a token: what it found is only accepted when the
 * domain's strict rule finds the same in the header.
 */
const makeProtection = (check: Hook) => new Elysia().use(bearer()).onBeforeHandle({ as: "scoped" }, check)

/**
 * Makes the guard of a realm.
 *
 * @param verifier judges tokens
 * @param responder runs the decision and words the refusal
 */
export const makeGuard = (verifier: TokenVerifier["Service"], responder: Responder): Guard => {
  const check = (access: Access): Hook => {
    const rule = Effect.runSync(makeAccess(access))
    return async ({ request, set, route, bearer }) =>
      responder.decide(
        { request, set, route },
        Effect.flatMapEager(authenticate(verifier, request.headers.get("authorization"), bearer), (claims) =>
          authorize(claims, rule),
        ),
      )
  }
  return {
    protect: (access = "authenticated") => makeProtection(check(access)),
    identify: ({ headers }) => authenticate(verifier, headers.get("authorization")),
    requireRoles: (roles) => check({ roles }),
  }
}
