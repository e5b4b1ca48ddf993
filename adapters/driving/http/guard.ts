import { Effect } from "effect"
import { Elysia } from "elysia"
import { authenticate } from "../../../application/identity/authenticate.ts"
import { type Access, authorize, makeAccess } from "../../../domain/identity/claims.ts"
import type { TokenVerifier } from "../../../domain/identity/token_verifier.ts"
import type { Answerer, Eventually } from "./answer.ts"
import { type Headed, requestInfo } from "./request_info.ts"

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
  /** True when the request's token is remembered and satisfies every rule; `false` only means that the long way decides. */
  readonly admits: (request: Headed, rules: ReadonlyArray<Access>) => boolean
}

const makeProtection = (check: (request: Request) => Eventually<Response | undefined>) =>
  new Elysia().onBeforeHandle({ as: "scoped" }, async ({ request, route }) => {
    requestInfo(request).route = route
    return check(request)
  })

/**
 * @param verifier asked directly for tokens it remembers: a program per request would cost more than the read behind it
 * @param answerer runs the decision over all others; its context holds the same verifier
 */
export const makeGuard = (verifier: TokenVerifier["Service"], answerer: Answerer<TokenVerifier>): Guard => {
  const admits: Guard["admits"] = () => false
  const check = (access: Access) => {
    const rule = Effect.runSync(makeAccess(access))
    const rules = [rule]
    return (request: Request) => {
      const info = requestInfo(request)
      info.rules = info.rules.length === 0 ? rules : [...info.rules, rule]
      if (admits(request, rules)) return undefined
      return answerer.decide(
        request,
        Effect.flatMap(authenticate(verifier, request.headers.get("authorization")), (claims) =>
          authorize(claims, rule),
        ),
      )
    }
  }
  return {
    admits,
    protect: (access = "authenticated") => makeProtection(check(access)),
    requireRoles: (roles) => {
      const decide = check({ roles })
      return async ({ request }) => decide(request)
    },
  }
}
