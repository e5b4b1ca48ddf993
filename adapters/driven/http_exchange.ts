import { Data, Effect } from "effect"
import { ofetch } from "ofetch"

/** One HTTP exchange, described completely: nothing is added, followed or repeated. */
export interface ExchangeRequest {
  readonly method: "GET" | "POST" | "PUT" | "DELETE"
  /** Absolute URL without query. */
  readonly url: string
  /** Query, already encoded, without `?`. It may hold secrets and never appears in an error or a log. */
  readonly query?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Deadline in milliseconds over the whole exchange: connection, headers and body. */
  readonly timeoutMs: number
  /** Largest answer body, bytes; a longer one is not read to its end. Without it there is no bound. */
  readonly bodyBytesMax?: number
}

export interface ExchangeResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/**
 * No usable answer arrived.
 *
 * `path` is the URL's path only: query, user info and headers may hold secrets. The library's own error is dropped on
 * purpose, its message, stack and fields repeat the whole URL and every header.
 */
export class ExchangeFailed extends Data.TaggedError("ExchangeFailed")<{
  readonly kind: "timeout" | "network" | "redirected" | "oversized"
  readonly method: string
  readonly path: string
  /** Whether the server can have acted on the request. */
  readonly applied: "no" | "unknown"
}> {
  readonly code = "EXCHANGE_FAILED"
  override get message(): string {
    return `${this.method} ${this.path}: ${this.kind}`
  }
}

const NEVER_SENT = new Set(["ConnectionRefused", "ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "FailedToOpenSocket"])

/** True when the failure happened before a byte of the request could leave. */
const neverSent = (failure: unknown): boolean => {
  for (let at: unknown = failure; at instanceof Error; at = at.cause)
    if ("code" in at && typeof at.code === "string" && NEVER_SENT.has(at.code)) return true
  return false
}

// Every convenience is off: ofetch would retry GETs, follow redirects with our token headers, and guess body types.
const raw = ofetch.create({ retry: 0, redirect: "manual", ignoreResponseError: true })

class Oversized extends Error {}

/** Reads a body as text, giving up once it is larger than allowed. */
const readBounded = async (body: ReadableStream<Uint8Array> | null | undefined, bytesMax: number): Promise<string> => {
  const decoder = new TextDecoder()
  let text = ""
  let bytes = 0
  // Leaving the loop cancels the stream and with it the connection.
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength
    if (bytes > bytesMax) throw new Oversized()
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

/**
 * Sends one exchange; the only place that talks HTTP to other systems.
 *
 * @fails {ExchangeFailed} on no connection, a connection lost, the deadline, any 3xx answer or a body over its bound
 */
export const send = Effect.fnUntraced(function* (request: ExchangeRequest) {
  const failed = (kind: ExchangeFailed["kind"], applied: ExchangeFailed["applied"]) =>
    new ExchangeFailed({ kind, method: request.method, path: new URL(request.url).pathname, applied })
  const target = request.query === undefined ? request.url : `${request.url}?${request.query}`
  const response = yield* Effect.tryPromise({
    try: async (signal) => {
      const response = await raw.raw<ReadableStream<Uint8Array>, "stream">(target, {
        method: request.method,
        headers: { ...request.headers },
        signal,
        responseType: "stream",
        ...(request.body === undefined ? {} : { body: request.body }),
      })
      const text = await readBounded(response._data, request.bodyBytesMax ?? Number.POSITIVE_INFINITY)
      const answer: ExchangeResponse = { status: response.status, headers: response.headers, text }
      return answer
    },
    catch: (failure) =>
      failure instanceof Oversized
        ? failed("oversized", "unknown")
        : failed("network", neverSent(failure) ? "no" : "unknown"),
  }).pipe(
    Effect.timeoutOrElse({
      duration: request.timeoutMs,
      orElse: () => Effect.fail(failed("timeout", "unknown")),
    }),
  )
  if (response.status >= 300 && response.status < 400) return yield* failed("redirected", "unknown")
  return response
})
