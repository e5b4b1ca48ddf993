import type { Answer } from "../http_server/answer.ts"
import type { HeaderLine } from "../http_server/header_lines.ts"
import { toResponse } from "../http_server/standard_fetch.ts"
import { type Eventually, eventually } from "./answer.ts"
import type { Guard } from "./guard.ts"
import { KnownUrls } from "./known_urls.ts"
import { describe, INTERNAL, type Problem, problemAnswer } from "./problem.ts"
import { UNREADABLE } from "./refusal.ts"
import { type Asked, type Recalled, requestId, requestInfo } from "./request_info.ts"

/** One answered request, as logs and metrics see it. */
export interface Answered {
  readonly method: string
  /** Path and query; a log shows only its {@link pathOf}. */
  readonly target: string
  readonly route: string
  readonly status: number
  readonly durationMs: number
  readonly requestId: string
}

export interface Front {
  /** The answer to a request to a known URL by a known caller: nobody has to be asked where it leads. */
  readonly answer: (request: Arrived) => Eventually<Answer> | undefined
  /** The answer to any request: standard `Request` in, `Response` out. */
  readonly fetch: (request: Request) => Eventually<Response>
  /** The answer to what is no request that could be routed. */
  readonly refuse: (reason: keyof typeof UNREADABLE) => Answer
  /** The answer when something threw outside {@link answer} and {@link fetch}. */
  readonly fail: (failure: unknown) => Answer
}

/** A request with the target it was sent to: path and query. */
export interface Arrived extends Asked {
  readonly target: string
}

/** The path of a target, without the query, which may hold secrets. */
export const pathOf = (target: string): string => {
  const query = target.indexOf("?")
  return query < 0 ? target : target.slice(0, query)
}

/** Path and query of an absolute URL. */
const targetOf = (url: string): string => url.slice(url.indexOf("/", "http://".length))

/** Route of a request that matched none. */
const UNMATCHED = "unmatched"

/** What the front needs of the service. */
export interface FrontParts {
  readonly route: (request: Request) => Eventually<Response>
  readonly admits: Guard["admits"]
  /** Told of every answer. */
  readonly report: (answered: Answered) => void
  /** Told of anything thrown. */
  readonly unexpected: (failure: unknown, requestId: string) => void
}

/** Method of what was not understood. */
const OTHER_METHOD = "other"

const JSON_TYPE = ["content-type", "application/json"] as const

const internal = (request: Asked): Answer => problemAnswer(requestInfo(request).id, INTERNAL)

/**
 * What stands before the router: turns anything thrown into a problem, reports every answer, and takes the short way to
 * URLs it knows.
 *
 * It stays synchronous when the answer is there at once; a promise per request would cost a tenth of the throughput.
 */
export const makeFront = ({ route, admits, report, unexpected }: FrontParts): Front => {
  const urls = { GET: new KnownUrls(), POST: new KnownUrls() }
  const urlsOf = (method: string): KnownUrls | undefined =>
    method === "GET" || method === "POST" ? urls[method] : undefined

  const finish = <A extends { readonly status: number }>(
    request: Asked,
    target: string,
    startedAt: number,
    answer: A,
  ): A => {
    const info = requestInfo(request)
    report({
      method: request.method,
      target,
      route: info.route ?? UNMATCHED,
      status: answer.status,
      durationMs: performance.now() - startedAt,
      requestId: info.id,
    })
    return answer
  }

  /** Runs what answers a request; it stays synchronous when the answer is there at once. */
  const finished = <A extends { readonly status: number }>(
    request: Asked,
    target: string,
    startedAt: number,
    run: () => Eventually<A>,
    failed: (request: Asked) => A,
  ): Eventually<A> => {
    const fail = (failure: unknown): A => {
      unexpected(failure, requestInfo(request).id)
      return finish(request, target, startedAt, failed(request))
    }
    try {
      const answer = run()
      if (answer instanceof Promise) return answer.then((late) => finish(request, target, startedAt, late)).catch(fail)
      return finish(request, target, startedAt, answer)
    } catch (failure) {
      return fail(failure)
    }
  }

  /** The answer to what never became a request. */
  const problemOutside = (id: string, problem: Problem): Answer => {
    report({
      method: OTHER_METHOD,
      target: "/",
      route: UNMATCHED,
      status: problem.status,
      durationMs: 0,
      requestId: id,
    })
    return problemAnswer(id, problem)
  }

  /** The answer that was at hand: nothing has to be remembered of its request. */
  const atHand = (request: Arrived, route: string | undefined, startedAt: number, { body, link }: Recalled): Answer => {
    const id = requestId(request)
    report({
      method: request.method,
      target: request.target,
      route: route ?? UNMATCHED,
      status: 200,
      durationMs: performance.now() - startedAt,
      requestId: id,
    })
    const headers: Array<HeaderLine> = [JSON_TYPE, ["x-request-id", id]]
    if (link !== undefined) headers.push(["link", link])
    return { status: 200, headers, body }
  }

  return {
    answer: (request) => {
      const known = urlsOf(request.method)?.get(request.target)
      if (known === undefined) return undefined
      const startedAt = performance.now()
      if (!admits(request, known.rules)) return undefined
      const recalled = known.bound.recall(request)
      if (recalled !== undefined) return atHand(request, known.route, startedAt, recalled)
      requestInfo(request).route = known.route
      return finished(request, request.target, startedAt, () => known.bound.answer(request), internal)
    },
    fetch: (request) => {
      const target = targetOf(request.url)
      const response = finished(
        request,
        target,
        performance.now(),
        () => route(request),
        () => toResponse(internal(request)),
      )
      return eventually(response, (response) => {
        const { bound, route, rules } = requestInfo(request)
        if (bound !== undefined && response.ok) urlsOf(request.method)?.add(target, { route, rules, bound })
        return response
      })
    },
    refuse: (reason) => problemOutside(crypto.randomUUID(), describe(UNREADABLE[reason])),
    fail: (failure) => {
      const id = crypto.randomUUID()
      unexpected(failure, id)
      return problemOutside(id, INTERNAL)
    },
  }
}
