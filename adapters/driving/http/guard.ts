import { Effect } from "effect"
import { Elysia } from "elysia"
import { authenticate } from "../../../application/identity/authenticate.ts"
import { type Access, authorize, holds, makeAccess } from "../../../domain/identity/claims.ts"
import type { TokenVerifier } from "../../../domain/identity/token_verifier.ts"
import type { Answerer, Eventually } from "./answer.ts"
import { requestInfo } from "./request_info.ts"

type Hook = (context: { readonly request: Request }) => Promise<Response | undefined>

/** Decides who gets past: 401 first, then 403, before anything of the request but its headers is looked at. */
export interface Guard {
  /**
   * An Elysia plugin that protects everything mounted after it in the same group.
   *
   * Nameless on purpose: Elysia drops a second plugin with a name it already knows, and the route would be open.
   */
  readonly protect: (access?: Access) => ReturnType<typeof makeProtection>
  /** A `beforeHandle` hook, complete in itself: the token is checked, then the roles (any one of them is enough). */
  readonly requireRoles: (roles: ReadonlyArray<string>) => Hook
}

const makeProtection = (check: (request: Request) => Eventually<Response | undefined>) =>
  new Elysia().onBeforeHandle({ as: "scoped" }, async ({ request, route }) => {
    requestInfo(request).route = route
    return check(request)
  })

/** How nearly every client writes its credentials; any other spelling takes the longer way. */
const USUAL_SCHEME = "Bearer "

/**
 * @param verifier asked directly for tokens it remembers: a program per request would cost more than the read behind it
 * @param answerer runs the decision over all others; its context holds the same verifier
 */
export const makeGuard = (verifier: TokenVerifier["Service"], answerer: Answerer<TokenVerifier>): Guard => {
  const check = (access: Access) => {
    const rule = Effect.runSync(makeAccess(access))
    return (request: Request) => {
      const authorization = request.headers.get("authorization")
      if (authorization?.startsWith(USUAL_SCHEME)) {
        const known = verifier.recall(authorization.slice(USUAL_SCHEME.length), Date.now() / 1000)
        if (known !== undefined && holds(known, rule)) return undefined
      }
      return answerer.decide(
        request,
        Effect.flatMap(authenticate(authorization), (claims) => authorize(claims, rule)),
      )
    }
  }
  return {
    protect: (access = "authenticated") => makeProtection(check(access)),
    requireRoles: (roles) => {
      const decide = check({ roles })
      return async ({ request }) => decide(request)
    },
  }
}
