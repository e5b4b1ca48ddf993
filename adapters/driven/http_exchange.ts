import { Data, Effect, Stream } from "effect"
import { ofetch } from "ofetch"
import { inExchangeSpan } from "./exchange_span.ts"

/** How a TLS connection is trusted beyond the runtime's own certificates. All texts are PEM. */
export interface TlsOptions {
  /** Certificate authorities to trust instead of the runtime's. */
  readonly ca?: string
  /** Client certificate and its private key. */
  readonly cert?: string
  readonly key?: string
  /** Name to expect in the server's certificate, when it is not the host of the URL. */
  readonly serverName?: string
}

/** One HTTP exchange, described completely: nothing is added, followed or repeated. */
export interface ExchangeRequest {
  readonly method: "GET" | "POST" | "PUT" | "DELETE"
  /** Absolute URL without query. */
  readonly url: string
  /** Query, already encoded, without `?`. It may hold secrets and never appears in an error or a log. */
  readonly query?: string
  /** A `Headers` object is sent as it is; a caller with the same headers every time makes it once. */
  readonly headers?: Readonly<Record<string, string>> | Headers
  readonly body?: string
  /** Deadline in milliseconds over the whole exchange: connection, headers and body. */
  readonly timeoutMs: number
  /** Largest answer body, in bytes after decompression; a longer one is not read to its end. {@link BODY_BYTES_MAX} when omitted. */
  readonly bodyBytesMax?: number
  /** Only under Bun: other runtimes offer `fetch` neither. */
  readonly tls?: TlsOptions
  readonly unixSocket?: string
}

/** A whole answer. */
export interface ExchangeResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** Largest answer body in bytes, 64 MiB: no answer of a system we talk to comes near it. */
const BODY_BYTES_MAX = 64 * 2 ** 20

/**
 * An exchange ended without a usable answer.
 *
 * `path` is the URL's path only: query, user info and headers may hold secrets. The library's own error is dropped:
 * its message, stack and fields repeat the whole URL and every header.
 */
export class ExchangeFailed extends Data.TaggedError("ExchangeFailed")<{
  readonly kind: "timeout" | "network" | "redirected" | "oversized"
  readonly method: string
  readonly path: string
  /** Whether the server can have acted on the request. */
  readonly applied: "no" | "unknown"
  /** Set when it is a trusted TLS connection that could not be made. */
  readonly detail?: "tls"
}> {
  readonly code = "EXCHANGE_FAILED"
  override get message(): string {
    return `${this.method} ${this.path}: ${this.kind}${this.detail === undefined ? "" : ` (${this.detail})`}`
  }
}

const NEVER_SENT = new Set([
  "ConnectionRefused",
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "FailedToOpenSocket",
  "ENOENT",
])
/** Error codes of OpenSSL and the runtimes for a failed handshake. Nothing of the request was sent then. */
const TLS = /^(EPROTO|ERR_TLS_\w+|ERR_SSL_\w+|CERT_\w+|UNABLE_TO_\w+|\w*SELF_SIGNED\w*|HOSTNAME_MISMATCH)$/

/** The codes of a failure and of what caused it. */
const codesOf = (failure: unknown): ReadonlyArray<string> => {
  const codes: Array<string> = []
  for (let at: unknown = failure; at instanceof Error; at = at.cause)
    if ("code" in at && typeof at.code === "string") codes.push(at.code)
  return codes
}

/** Thrown while a body is read, when it is longer than allowed. */
class Oversized extends Error {}

const failed = (
  request: ExchangeRequest,
  kind: ExchangeFailed["kind"],
  applied: ExchangeFailed["applied"] = "unknown",
  detail?: "tls",
): ExchangeFailed =>
  new ExchangeFailed({
    kind,
    method: request.method,
    path: new URL(request.url).pathname,
    applied,
    ...(detail === undefined ? {} : { detail }),
  })

const failureOf = (request: ExchangeRequest, failure: unknown): ExchangeFailed => {
  if (failure instanceof Oversized) return failed(request, "oversized")
  const codes = codesOf(failure)
  if (codes.some((code) => TLS.test(code))) return failed(request, "network", "no", "tls")
  return failed(request, "network", codes.some((code) => NEVER_SENT.has(code)) ? "no" : "unknown")
}

/** What Bun's `fetch` takes beyond the standard. */
interface RuntimeInit extends RequestInit {
  tls?: TlsOptions
  unix?: string
}

/**
 * Uses ofetch's plain `fetch`. Its usual call would retry GETs, follow redirects with our token headers, guess body types,
 * and put the whole URL into its errors.
 */
const open = (request: ExchangeRequest, signal: AbortSignal): Promise<Response> => {
  const { method, url, query, headers, body, tls, unixSocket } = request
  const init: RuntimeInit = { method, redirect: "manual", signal }
  if (headers !== undefined) init.headers = headers
  // On a pooled connection that died, the runtime itself would send a DELETE or PUT again. A new connection prevents that.
  if (method !== "GET") init.keepalive = false
  if (body !== undefined) init.body = body
  if (tls !== undefined) init.tls = tls
  if (unixSocket !== undefined) init.unix = unixSocket
  return ofetch.native(query === undefined ? url : `${url}?${query}`, init)
}

/** Ends an answer whose body is not read. Ending fails when the connection is gone already, which is as good. */
const letGo = async (response: Response): Promise<void> => {
  await response.body?.cancel().catch(() => {})
}

const readChunks = async (body: ReadableStream<Uint8Array>, maxBytes: number): Promise<string> => {
  const decoder = new TextDecoder()
  let text = ""
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.byteLength
    if (bytes > maxBytes) throw new Oversized()
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

/** The whole body as text. With a declared length the runtime reads it in one go; without one, chunks are counted. */
const readText = (response: Response, maxBytes: number): Promise<string> | string => {
  const declared = response.headers.get("content-length")
  if (declared === null || response.headers.has("content-encoding"))
    return response.body === null ? "" : readChunks(response.body, maxBytes)
  return Number(declared) > maxBytes
    ? letGo(response).then(() => {
        throw new Oversized()
      })
    : response.text()
}

const isRedirect = (status: number): boolean => status >= 300 && status < 400

const exchangeOnce = async (request: ExchangeRequest, signal: AbortSignal): Promise<ExchangeResponse> => {
  const response = await open(request, signal)
  const { status, headers } = response
  if (isRedirect(status)) {
    await letGo(response)
    throw failed(request, "redirected")
  }
  return { status, headers, text: await readText(response, request.bodyBytesMax ?? BODY_BYTES_MAX) }
}

/** Runs until the deadline; at its end, or when the caller is interrupted, the signal ends the connection. */
const beforeDeadline = <A>(
  request: ExchangeRequest,
  run: (signal: AbortSignal) => Promise<A>,
): Effect.Effect<A, ExchangeFailed> =>
  Effect.tryPromise({
    try: run,
    catch: (failure) => (failure instanceof ExchangeFailed ? failure : failureOf(request, failure)),
  }).pipe(Effect.timeoutOrElse({ duration: request.timeoutMs, orElse: () => Effect.fail(failed(request, "timeout")) }))

/**
 * Sends one exchange; the only place that talks HTTP to other systems.
 *
 * @fails {ExchangeFailed} on no connection, a connection lost, the deadline, an answer too large, or any 3xx answer
 */
export const send = (request: ExchangeRequest): Effect.Effect<ExchangeResponse, ExchangeFailed> =>
  inExchangeSpan(
    request,
    beforeDeadline(request, (signal) => exchangeOnce(request, signal)),
  )

/** An answer whose body is read as it comes. */
export interface ExchangeStream {
  readonly status: number
  readonly headers: Headers
  readonly chunks: Stream.Stream<Uint8Array, ExchangeFailed>
}

/**
 * Opens an endless exchange; `timeoutMs` is the deadline of the headers alone. Closing the scope ends the connection.
 *
 * @fails {ExchangeFailed} on no connection, no headers in time, or any 3xx answer
 */
export const sendStreaming = Effect.fnUntraced(function* (request: ExchangeRequest) {
  const connection = new AbortController()
  yield* Effect.addFinalizer(() => Effect.sync(() => connection.abort()))
  // The body is read after the headers' deadline, so the signal of the scope ends the connection.
  const response = yield* inExchangeSpan(
    request,
    beforeDeadline(request, () => open(request, connection.signal)),
  )
  if (isRedirect(response.status)) return yield* failed(request, "redirected")
  const { status, headers, body } = response
  const chunks: Stream.Stream<Uint8Array, ExchangeFailed> =
    body === null
      ? Stream.empty
      : Stream.fromReadableStream<Uint8Array, ExchangeFailed>({
          evaluate: () => body,
          onError: (failure) => failureOf(request, failure),
        })
  const answer: ExchangeStream = { status, headers, chunks }
  return answer
})
