import { Data } from "effect"

/** The request is refused for its HTTP form alone, before any use case is asked. */
export class HttpRefusal extends Data.TaggedError("HttpRefusal")<{
  readonly code:
    | "INVALID_HOST"
    | "OVERLOADED"
    | "TOO_MANY_FEEDS"
    | "INVALID_QUERY"
    | "INVALID_CONDITION"
    | "CONDITION_REQUIRED"
    | "INVALID_HEADER"
    | "INVALID_JSON"
    | "INVALID_IDEMPOTENCY_KEY"
    | "REQUEST_TIMEOUT"
    | "ROUTE_NOT_FOUND"
    | "METHOD_NOT_ALLOWED"
    | "BODY_TOO_LARGE"
    | "UNSUPPORTED_MEDIA_TYPE"
  readonly detail: string
  /** Methods of the `Allow` header, with METHOD_NOT_ALLOWED. */
  readonly allow?: string
  /** Media type of the `Accept-Patch` header, with UNSUPPORTED_MEDIA_TYPE. */
  readonly acceptPatch?: string
}> {
  override get message(): string {
    return this.detail
  }
}

/** No route has this path. */
export const routeNotFound = new HttpRefusal({ code: "ROUTE_NOT_FOUND", detail: "No such resource" })

/** The `Host` header is no host (RFC 9112 section 3.2). */
export const invalidHost = new HttpRefusal({ code: "INVALID_HOST", detail: "The request must name one valid host" })

/** More requests are running than the service takes at a time. */
export const overloaded = new HttpRefusal({ code: "OVERLOADED", detail: "The service is busy; try again later" })

/** As many feeds of changes are open as may be. */
export const tooManyFeeds = new HttpRefusal({
  code: "TOO_MANY_FEEDS",
  detail: "Too many change feeds are open; try again later",
})

/**
 * The route knows other methods only.
 *
 * @param allow the methods it knows, as the `Allow` header lists them
 */
export const methodNotAllowed = (allow: string): HttpRefusal =>
  new HttpRefusal({ code: "METHOD_NOT_ALLOWED", detail: `This resource answers to ${allow}`, allow })
