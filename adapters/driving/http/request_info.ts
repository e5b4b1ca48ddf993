import { randomUUID } from "node:crypto"

/** What the service knows of a running request beside the request itself. */
export interface RequestInfo {
  /** The caller's `X-Request-Id` when it is a plain token, else a new UUID. */
  readonly id: string
  /** Pattern of the matched route (`/api/products/:id`), for logs and metrics; unset until a route matched. */
  route: string | undefined
}

/** A request id that is safe to repeat in headers and logs. */
const REQUEST_ID_REGEXP = /^[\w.:-]{1,128}$/

/** Where the info is kept: on the request itself. A WeakMap would say the same at the cost of every garbage collection. */
const INFO = Symbol("portolan.request_info")

/** The info of this request, made at first use. */
export const requestInfo = (request: Request & { [INFO]?: RequestInfo }): RequestInfo => {
  const known = request[INFO]
  if (known !== undefined) return known
  const given = request.headers.get("x-request-id")
  const id = given !== null && REQUEST_ID_REGEXP.test(given) ? given : randomUUID()
  const info: RequestInfo = { id, route: undefined }
  request[INFO] = info
  return info
}
