import { Data } from "effect"
import type { Refusal } from "../http_server/connection_options.ts"
import { HEAD_BYTES_MAX } from "../http_server/message_parser.ts"

/** The request is refused for its HTTP form alone, before any use case is asked. */
export class HttpRefusal extends Data.TaggedError("HttpRefusal")<{
  readonly code:
    | "MALFORMED_REQUEST"
    | "HEADERS_TOO_LARGE"
    | "METHOD_NOT_IMPLEMENTED"
    | "INVALID_HOST"
    | "INVALID_QUERY"
    | "INVALID_JSON"
    | "REQUEST_TIMEOUT"
    | "ROUTE_NOT_FOUND"
    | "METHOD_NOT_ALLOWED"
    | "BODY_TOO_LARGE"
    | "UNSUPPORTED_MEDIA_TYPE"
  readonly detail: string
  /** Methods of the `Allow` header, with METHOD_NOT_ALLOWED. */
  readonly allow?: string
}> {}

/** What the HTTP server, or the runtime's `Request`, cannot read. */
export const UNREADABLE: Readonly<Record<Refusal | "unknown-method", HttpRefusal>> = {
  malformed: new HttpRefusal({
    code: "MALFORMED_REQUEST",
    detail: "The request breaks the grammar of HTTP/1.1 (RFC 9112)",
  }),
  "head-too-large": new HttpRefusal({
    code: "HEADERS_TOO_LARGE",
    detail: `Request line and headers must not exceed ${HEAD_BYTES_MAX} bytes`,
  }),
  "too-slow": new HttpRefusal({ code: "REQUEST_TIMEOUT", detail: "The headers took too long to arrive" }),
  "invalid-host": new HttpRefusal({ code: "INVALID_HOST", detail: "The request must name one valid host" }),
  "unknown-method": new HttpRefusal({
    code: "METHOD_NOT_IMPLEMENTED",
    detail: "The service does not know this method",
  }),
}

export const routeNotFound = new HttpRefusal({ code: "ROUTE_NOT_FOUND", detail: "No such resource" })

export const methodNotAllowed = (allow: string): HttpRefusal =>
  new HttpRefusal({ code: "METHOD_NOT_ALLOWED", detail: `This resource answers to ${allow}`, allow })
