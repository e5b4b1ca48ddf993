import type { Access } from "../../../domain/identity/claims.ts"
import type { Eventually } from "./answer.ts"

/** Answers any request to one URL: the handler with everything already read from the URL. */
export type BoundAnswer = (request: Request) => Eventually<Response>

/** What the service knows of a running request beside the request itself. */
export interface RequestInfo {
  /** The caller's `X-Request-Id` when it is a plain token, else a new UUID. */
  readonly id: string
  /** Pattern of the matched route (`/api/products/:id`), for logs and metrics; unset until a route matched. */
  route: string | undefined
  /** Rules the caller was judged by so far. */
  rules: ReadonlyArray<Access>
  /** Set by a handler whose answer depends on the URL and the store alone. */
  bound: BoundAnswer | undefined
}

/** A request id that is safe to repeat in headers and logs. */
const REQUEST_ID_REGEXP = /^[\w.:-]{1,128}$/

const NO_RULES: ReadonlyArray<Access> = []

/** Where the info is kept: on the request itself. A WeakMap would say the same at the cost of every garbage collection. */
const INFO = Symbol("portolan.request_info")

type Carrier = Request & { [INFO]?: RequestInfo }

/** The info of this request, made at first use. */
export const requestInfo = (request: Carrier): RequestInfo => {
  const known = request[INFO]
  if (known !== undefined) return known
  const given = request.headers.get("x-request-id")
  const id = given !== null && REQUEST_ID_REGEXP.test(given) ? given : crypto.randomUUID()
  const info: RequestInfo = { id, route: undefined, rules: NO_RULES, bound: undefined }
  request[INFO] = info
  return info
}

/** Lets a rewritten request go by the info of the one it stands for. */
export const shareRequestInfo = (from: Request, to: Carrier): void => {
  to[INFO] = requestInfo(from)
}
