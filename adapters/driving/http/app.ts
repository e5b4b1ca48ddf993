import { absurd, Effect } from "effect"
import { type AnyElysia, Elysia } from "elysia"
import { type AnsweredRequest, OVERLOADED_ROUTE, PREFLIGHT_ROUTE } from "./answered_request.ts"
import { apiPage } from "./api_page.ts"
import { compression } from "./compression.ts"
import type { Cors } from "./cors.ts"
import type { Guard } from "./guard.ts"
import { HttpRefusal, invalidHost, overloaded, routeNotFound } from "./http_refusal.ts"
import { describe } from "./problem.ts"
import { INTERNAL } from "./problem_body.ts"
import type { Schemas } from "./problem_docs.ts"
import { type RequestContext, requestIdOf } from "./request_context.ts"
import { type Responder, respondProblem } from "./respond.ts"

const HIDDEN = { parse: "none", detail: { hide: true } } as const

/** Route of a request that matched none, in logs and metrics. */
const UNMATCHED = "unmatched"

/** A host name, an IPv4 or a bracketed IPv6 address, with or without a port (RFC 3986 section 3.2.2). */
const HOST_REGEXP = /^(?:[\w.~%-]*|\[[\da-f:.]+\])(?::\d*)?$/i

/** What must be answered under any load: a process that is busy must not look dead, and its figures are wanted then. */
const ALWAYS_ANSWERED_REGEXP = /^\/(?:health\/|metrics$)/

/** A path prefix and what is mounted under it, behind the token check. */
export interface Mount {
  readonly prefix: `/${string}`
  readonly routes: ReadonlyArray<AnyElysia>
}

/** What a composed service is made of. */
export interface AppParts {
  /** Version of the service, for the OpenAPI document. */
  readonly version: string
  /** What the documented operations refer to, by name. */
  readonly schemas: Schemas
  /** A token that the API page fills in; see {@link apiPage}. */
  readonly pageToken?: string | undefined
  readonly guard: Guard
  readonly responder: Responder
  readonly mounts: ReadonlyArray<Mount>
  /** Routes that need no token by themselves (health), or guard themselves. */
  readonly open: ReadonlyArray<AnyElysia>
  /** Lets pages of other origins in; without it none is. */
  readonly cors?: Cors
  /** True when the request that is being started is one too many; it is refused. */
  readonly isFull: () => boolean
  /** Told of every answer, and what it answers. */
  readonly report: (answered: AnsweredRequest, request: Request) => void
  /** Told of anything thrown. */
  readonly unexpected: (failure: unknown, requestId: string) => void
}

/** The path of an absolute URL as the client sent it. */
const pathOf = (url: string): string => {
  const start = url.indexOf("/", url.indexOf("://") + 3)
  const query = url.indexOf("?", start)
  return url.slice(start, query < 0 ? undefined : query)
}

/**
 * Elysia with what every request of the service gets: a refusal while the service is busy, the `Host` rule, the answer to a
 * preflight, an id, a log line, a count, gzip, and a problem body for anything thrown.
 */
const makeEdge = ({ cors, isFull, report, unexpected }: Pick<AppParts, "cors" | "isFull" | "report" | "unexpected">) =>
  // The default takes the path of a URL from its eleventh character on, and so drops segments after a short host.
  new Elysia({ strictPath: true, handler: { standardHostname: false } })
    .decorate("arrivedAtMs", 0)
    .decorate("refusedForLoad", false)
    // Elysia reads a hook's text: one that hands its whole context on, or seems to, costs every request the parsing of its
    // cookies. So hooks take what they need out of it.
    .onRequest((context) => {
      context.arrivedAtMs = performance.now()
    })
    .onRequest(({ request, set, arrivedAtMs }) => {
      const requestId = requestIdOf({ request, set })
      // First, because a page must be able to read any refusal.
      cors?.allow({ request, set })
      const host = request.headers.get("host")
      if (host !== null && !HOST_REGEXP.test(host)) throw invalidHost
      // Under any load too: a browser whose question is refused does not show its page the reason.
      if (cors?.answersPreflight({ request, set }) !== true) return undefined
      // An answer given here is the last of it: nothing else would report it.
      const preflight: AnsweredRequest = {
        method: request.method,
        path: pathOf(request.url),
        route: PREFLIGHT_ROUTE,
        status: Number(set.status),
        durationMs: performance.now() - arrivedAtMs,
        requestId,
      }
      report(preflight, request)
      return ""
    })
    .onRequest((context) => {
      if (!isFull() || ALWAYS_ANSWERED_REGEXP.test(pathOf(context.request.url))) return
      context.refusedForLoad = true
      throw overloaded
    })
    .use(compression())
    .onError(({ error, code, request, set }) => {
      const context: RequestContext = { request, set }
      if (code === "NOT_FOUND") return respondProblem(context, describe(routeNotFound))
      if (error instanceof HttpRefusal) return respondProblem(context, describe(error))
      unexpected(error, requestIdOf(context))
      return respondProblem(context, INTERNAL)
    })
    .onAfterResponse(({ request, set, route, responseValue, arrivedAtMs, refusedForLoad }) => {
      const answered: AnsweredRequest = {
        method: request.method,
        path: pathOf(request.url),
        route: refusedForLoad ? OVERLOADED_ROUTE : route || UNMATCHED,
        status: responseValue instanceof Response ? responseValue.status : Number(set.status),
        durationMs: performance.now() - arrivedAtMs,
        requestId: requestIdOf({ request, set }),
      }
      report(answered, request)
    })

/**
 * Composes the router. Everything under a mount's prefix needs a token, unknown paths included: a caller without one
 * learns nothing.
 */
export const makeApp = (parts: AppParts): AnyElysia => {
  const { guard, responder } = parts
  const notFound = (context: RequestContext) => responder.respond(context, () => Effect.fail(routeNotFound), absurd)

  const app: AnyElysia = makeEdge(parts).use(
    apiPage({ version: parts.version, schemas: parts.schemas, routes: () => app.routes, token: parts.pageToken }),
  )
  for (const routes of parts.open) app.use(routes)
  for (const { prefix, routes } of parts.mounts)
    app.group(prefix, (group) => {
      // The guard comes first: what is mounted before it would be open.
      const guarded: AnyElysia = group.use(guard.protect())
      for (const each of routes) guarded.use(each)
      return guarded
        .all("/*", async ({ request, set, route }) => notFound({ request, set, route }), HIDDEN)
        .all("", async ({ request, set, route }) => notFound({ request, set, route }), HIDDEN)
    })
  return app
}
