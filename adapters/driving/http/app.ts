import { absurd, Effect } from "effect"
import { type AnyElysia, Elysia } from "elysia"
import type { Answerer } from "./answer.ts"
import { apiPage } from "./api_page.ts"
import type { Guard } from "./guard.ts"
import { describe, INTERNAL, problemResponse } from "./problem.ts"
import { routeNotFound } from "./refusal.ts"
import { requestInfo } from "./request_info.ts"

const HIDDEN = { parse: "none", detail: { hide: true } } as const

/** A path prefix and what is mounted under it, behind the token check. */
export interface Mount {
  readonly prefix: `/${string}`
  readonly routes: ReadonlyArray<AnyElysia>
}

/**
 * Composes the router. Everything under a mount's prefix needs a token, unknown paths included: a caller without one
 * learns nothing.
 *
 * @param parts.open routes that need no token by themselves (health), or guard themselves
 * @param parts.unexpected told of anything thrown
 */
export const makeApp = (parts: {
  readonly version: string
  readonly guard: Guard
  readonly answerer: Answerer
  readonly mounts: ReadonlyArray<Mount>
  readonly open: ReadonlyArray<AnyElysia>
  readonly unexpected: (failure: unknown, requestId: string) => void
}): AnyElysia => {
  const { guard, answerer } = parts
  const notFound = (request: Request) => answerer.respond(request, Effect.fail(routeNotFound), absurd)

  const app: AnyElysia = new Elysia({ strictPath: true })
    .onError(({ error, code, request }) => {
      if (code === "NOT_FOUND") return problemResponse(request, describe(routeNotFound))
      parts.unexpected(error, requestInfo(request).id)
      return problemResponse(request, INTERNAL)
    })
    .use(apiPage(parts.version))
  for (const routes of parts.open) app.use(routes)
  for (const { prefix, routes } of parts.mounts)
    app.group(prefix, (group) => {
      // The guard comes first: what is mounted before it would be open.
      const guarded: AnyElysia = group.use(guard.protect())
      for (const each of routes) guarded.use(each)
      return guarded
        .all("/*", ({ request }) => notFound(request), HIDDEN)
        .all("", ({ request }) => notFound(request), HIDDEN)
    })
  return app
}
