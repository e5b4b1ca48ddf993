import type { Guard } from "./guard.ts"
import { type KnownUrl, KnownUrls } from "./known_urls.ts"
import { describe, INTERNAL, problemResponse } from "./problem.ts"
import { invalidHost } from "./refusal.ts"
import { type Recalled, type RequestInfo, requestId, requestInfo, shareRequestInfo } from "./request_info.ts"

/** One answered request, as logs and metrics see it. */
export interface Answered {
  readonly method: string
  /** Whole URL; a log shows only its {@link pathOf}. */
  readonly url: string
  readonly route: string
  readonly status: number
  readonly durationMs: number
  readonly requestId: string
}

export interface Front {
  /** The service as one function: standard `Request` in, `Response` out. */
  readonly fetch: (request: Request) => Response | Promise<Response>
  /** Requests that have not been answered yet. */
  readonly running: () => number
}

/** The path of a request's URL, without the query, which may hold secrets. */
export const pathOf = (url: string): string => {
  const from = url.startsWith("/") ? 0 : url.indexOf("/", 8)
  const query = url.indexOf("?", from)
  return from < 0 ? "/" : url.slice(from, query < 0 ? undefined : query)
}

/** Route of a request that matched none. */
const UNMATCHED = "unmatched"

/** Elysia looks for the path from this position on (`http://` and a host of four characters). */
const SHORTEST_PATH_START = 11

/** Two `Host` lines arrive joined by a comma, which no host name contains. */
const hasTwoHosts = (request: Request): boolean => request.headers.get("host")?.includes(",") === true

/**
 * The request with a host of ordinary length in place, when its own would make Elysia drop the first path segment:
 * `Host: a` turns `/x/secret` into `/secret`. An absent or empty `Host` (health checks in HTTP/1.0) is no mistake, but
 * leaves the path alone in `url`; one that is no host, or two of them, is refused.
 *
 * @see RFC 9112 section 3.2
 */
const withRoutableHost = (request: Request): Request | undefined => {
  const { url } = request
  const at = url.startsWith("/") ? 0 : url.indexOf("/", 8)
  if (hasTwoHosts(request) || (at === 0 && (request.headers.get("host") ?? "") !== "")) return undefined
  if (at >= SHORTEST_PATH_START || at < 0) return request
  const routable = new Request(`http://localhost${url.slice(at)}`, request)
  shareRequestInfo(request, routable)
  return routable
}

/** What the front needs of the service. */
export interface FrontParts {
  readonly route: (request: Request) => Response | Promise<Response>
  readonly admits: Guard["admits"]
  /** Told of every answer. */
  readonly report: (answered: Answered) => void
  /** Told of anything thrown. */
  readonly unexpected: (failure: unknown, info: RequestInfo) => void
}

/**
 * What stands before the router: counts running requests, turns anything thrown into a problem, reports every answer, and
 * takes the short way to URLs it knows.
 *
 * It stays synchronous when the answer is there at once; a promise per request would cost a tenth of the throughput.
 */
export const makeFront = ({ route, admits, report, unexpected }: FrontParts): Front => {
  let running = 0
  const urls = new KnownUrls()

  const finish = (request: Request, startedAt: number, response: Response): Response => {
    running--
    const info = requestInfo(request)
    if (info.bound !== undefined && response.status === 200 && request.method === "GET")
      urls.add(request.url, { route: info.route, rules: info.rules, bound: info.bound })
    report({
      method: request.method,
      url: request.url,
      route: info.route ?? UNMATCHED,
      status: response.status,
      durationMs: performance.now() - startedAt,
      requestId: info.id,
    })
    return response
  }

  const fail = (request: Request, failure: unknown): Response => {
    unexpected(failure, requestInfo(request))
    return problemResponse(request, INTERNAL)
  }

  /** The way of a request whose URL and caller are known. */
  const shortWay = (request: Request): KnownUrl | undefined => {
    const known = request.method === "GET" ? urls.get(request.url) : undefined
    return known === undefined || hasTwoHosts(request) || !admits(request, known.rules) ? undefined : known
  }

  /** An answer that was at hand: nothing needs to be remembered of its request. */
  const atHand = (request: Request, { route }: KnownUrl, startedAt: number, { body, link }: Recalled): Response => {
    const id = requestId(request)
    const headers = { "content-type": "application/json", "x-request-id": id }
    const response = new Response(body, { status: 200, headers: link === undefined ? headers : { ...headers, link } })
    report({
      method: "GET",
      url: request.url,
      route: route ?? UNMATCHED,
      status: 200,
      durationMs: performance.now() - startedAt,
      requestId: id,
    })
    running--
    return response
  }

  const longWay = (request: Request): Response | Promise<Response> => {
    const routable = withRoutableHost(request)
    return routable === undefined ? problemResponse(request, describe(invalidHost)) : route(routable)
  }

  return {
    running: () => running,
    fetch: (request) => {
      const startedAt = performance.now()
      running++
      try {
        const known = shortWay(request)
        const recalled = known?.bound.recall(request)
        if (known !== undefined && recalled !== undefined) return atHand(request, known, startedAt, recalled)
        if (known !== undefined) requestInfo(request).route = known.route
        const response = known === undefined ? longWay(request) : known.bound.answer(request)
        if (response instanceof Promise)
          return response.then(
            (answer) => finish(request, startedAt, answer),
            (failure: unknown) => finish(request, startedAt, fail(request, failure)),
          )
        return finish(request, startedAt, response)
      } catch (failure) {
        return finish(request, startedAt, fail(request, failure))
      }
    },
  }
}
