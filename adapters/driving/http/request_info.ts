import type { Access } from "../../../domain/identity/claims.ts"
import type { Answer } from "../http_server/answer.ts"
import type { Eventually } from "./answer.ts"

/** Anything with headers that can be asked for as those of a standard `Request`. */
export interface Headed {
  readonly headers: { readonly get: (name: string) => string | null }
}

/** What a handler reads of a request. A standard `Request` is one, and so is one that has just arrived. */
export interface Asked extends Headed {
  readonly method: string
  readonly url: string
  /** Whole when it is at hand. */
  readonly body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null
}

/** A 200 at hand. */
export interface Recalled {
  readonly body: string | Uint8Array
  /** The `Link` header. */
  readonly link?: string | undefined
}

/** Answers any request to one URL: the handler with everything already read from the URL. */
export interface BoundAnswer {
  /** The 200 when it is at hand; `undefined` says nothing, {@link answer} decides. */
  readonly recall: (request: Headed) => Recalled | undefined
  readonly answer: (request: Asked) => Eventually<Answer>
}

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

type Carrier = Asked & { [INFO]?: RequestInfo }

/** The caller's request id when it may be repeated, else a new one. Only {@link requestInfo} remembers which. */
export const requestId = (request: Headed): string => {
  const given = request.headers.get("x-request-id")
  return given !== null && REQUEST_ID_REGEXP.test(given) ? given : crypto.randomUUID()
}

/** The info of this request, made at first use. */
export const requestInfo = (request: Carrier): RequestInfo => {
  const known = request[INFO]
  if (known !== undefined) return known
  const info: RequestInfo = { id: requestId(request), route: undefined, rules: NO_RULES, bound: undefined }
  request[INFO] = info
  return info
}
