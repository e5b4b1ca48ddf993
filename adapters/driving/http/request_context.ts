/** What of Elysia's context every answer of the service needs. */
export interface RequestContext {
  readonly request: Request
  /** Status and headers of the answer; Elysia joins them with the body that a handler returns. */
  readonly set: {
    status?: number | string
    headers: Record<string, string | number | undefined>
  }
  /** Pattern of the matched route (`/api/products/:id`). */
  readonly route?: string | undefined
}

/** Header that carries the request's id, in and out. */
const REQUEST_ID = "x-request-id"

/** A request id that is safe to repeat in headers and logs. */
const REQUEST_ID_REGEXP = /^[\w.:-]{1,128}$/

/**
 * The id of the request: the caller's `X-Request-Id` when it is a plain token, else a new UUID. It is set as a header of
 * the answer at first use, and read from there afterwards.
 */
export const requestIdOf = ({ request, set }: RequestContext): string => {
  const known = set.headers[REQUEST_ID]
  if (typeof known === "string") return known
  const given = request.headers.get(REQUEST_ID)
  const id = given !== null && REQUEST_ID_REGEXP.test(given) ? given : crypto.randomUUID()
  set.headers[REQUEST_ID] = id
  return id
}
