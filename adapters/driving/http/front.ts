import { INTERNAL, problemResponse } from "./problem.ts"
import { type RequestInfo, requestInfo } from "./request_info.ts"

/** One answered request, as logs and metrics see it. The path goes without its query, which may hold secrets. */
export interface Answered {
  readonly method: string
  readonly path: string
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

const pathOf = (url: string): string => {
  const from = url.indexOf("/", 8)
  const query = url.indexOf("?", from)
  return from < 0 ? "/" : url.slice(from, query < 0 ? undefined : query)
}

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

/**
 * What stands before the router: counts running requests, turns anything thrown into a problem, reports every answer.
 *
 * It stays synchronous when the answer is there at once; a promise per request would cost a tenth of the throughput.
 */
export const makeFront = (
  route: (request: Request) => Response | Promise<Response>,
  report: (answered: Answered) => void,
  unexpected: (failure: unknown, info: RequestInfo) => void,
): Front => {
  let running = 0

  const finish = (request: Request, startedAt: number, response: Response): Response => {
    running--
    const info = requestInfo(request)
    report({
      method: request.method,
      path: pathOf(request.url),
      route: info.route ?? "unmatched",
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

  return {
    running: () => running,
    fetch: (incoming) => {
      const startedAt = performance.now()
      const request = withRoutableHost(incoming)
      running++
      try {
        const response = route(request)
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
