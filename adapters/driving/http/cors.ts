import type { RequestContext } from "./request_context.ts"
import { addVary } from "./vary.ts"

/** Answers of other origins' pages to their browsers' questions (the Fetch standard's CORS protocol). */
export interface Cors {
  /** Sets the headers that let a page of an allowed origin read this answer, whatever its status is. */
  readonly allow: (context: RequestContext) => void
  /**
   * Sets status and headers of the answer when the request is a preflight of an allowed origin.
   *
   * @returns false when it is none: the request then goes its usual way, and a page of that origin stays out
   */
  readonly answersPreflight: (context: RequestContext) => boolean
}

/** What a page may send, beside what every page may send. */
const METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE"
const REQUEST_HEADERS =
  "Authorization, Content-Type, If-Match, If-None-Match, Idempotency-Key, Last-Event-ID, Prefer, X-Request-Id, Traceparent"

/** What a page may read of an answer, beside its body and what every page may read. */
const ANSWER_HEADERS =
  "Link, Location, ETag, X-Total-Count, Preference-Applied, Retry-After, WWW-Authenticate, Allow, X-Request-Id"

/** How long a browser may remember the answer to a preflight, seconds: what it says changes with a restart only. */
const PREFLIGHT_AGE_S = "600"

/**
 * CORS for a list of origins.
 *
 * Credentials are never allowed: tokens travel in the `Authorization` header, which a page sets itself, and a browser must
 * not add cookies of its own.
 *
 * @param origins as browsers send them, compared character by character; `*` alone stands for every origin
 * @see fetch.spec.whatwg.org, section 3.3
 */
export const makeCors = (origins: ReadonlyArray<string>): Cors => {
  const any = origins.includes("*")
  const allowed = new Set(origins)
  const isAllowed = (origin: string | null): origin is string => origin !== null && (any || allowed.has(origin))
  return {
    allow: ({ request, set }) => {
      // Otherwise a cache would give the answer for one origin to another.
      if (!any) addVary(set, "Origin")
      const origin = request.headers.get("origin")
      if (!isAllowed(origin)) return
      set.headers["access-control-allow-origin"] = any ? "*" : origin
      set.headers["access-control-expose-headers"] = ANSWER_HEADERS
    },
    answersPreflight: ({ request: { method, headers }, set }) => {
      if (method !== "OPTIONS" || !headers.has("access-control-request-method") || !isAllowed(headers.get("origin")))
        return false
      set.status = 204
      set.headers["access-control-allow-methods"] = METHODS
      set.headers["access-control-allow-headers"] = REQUEST_HEADERS
      set.headers["access-control-max-age"] = PREFLIGHT_AGE_S
      return true
    },
  }
}
