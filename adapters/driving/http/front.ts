import type { Guard } from "./guard.ts"
import { KnownUrls } from "./known_urls.ts"
import { INTERNAL, problemResponse } from "./problem.ts"
import { type RequestInfo, requestInfo } from "./request_info.ts"

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
  const from = url.indexOf("/", 8)
  const query = url.indexOf("?", from)
  return from < 0 ? "/" : url.slice(from, query < 0 ? undefined : query)
}

/** Route of a request that matched none. */
const UNMATCHED = "unmatched"

/** Elysia looks for the path from this position on (`http://` and a host of four characters). */
const SHORTEST_PATH_START = 11

/**
 * A request whose `Host` is so short that Elysia would drop the first path segment (`Host: a` turns `/x/secret` into
 * `/secret`), with a host of ordinary length in place.
 */
const withRoutableHost = (request: Request): Request => {
  const { url } = request
  const at = url.indexOf("/", 8)
  if (at >= SHORTEST_PATH_START || at < 0) return request
  const routable = new Request(`http://localhost${url.slice(at)}`, request)
  requestInfo(routable)
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
      urls.add(request.url, { route: info.route, rules: info.rules, answer: info.bound })
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

  /** The answer by the short way, when the URL is known and the caller is. */
  const shortWay = (request: Request): Response | Promise<Response> | undefined => {
    const known = request.method === "GET" ? urls.get(request.url) : undefined
    if (known === undefined || !admits(request, known.rules)) return undefined
    requestInfo(request).route = known.route
    return known.answer(request)
  }

  return {
    running: () => running,
    fetch: (incoming) => {
      const startedAt = performance.now()
      const request = withRoutableHost(incoming)
      running++
      try {
        const response = shortWay(request) ?? route(request)
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
