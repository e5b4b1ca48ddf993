import type { IncomingMessage, ServerResponse } from "node:http"
import type { GatewayRequest } from "../../domain/gateway/gateway_request.ts"
import type { Verdict } from "../../domain/gateway/verdict.ts"
import { type Arrival, clientHeaders, upstreamHeaders } from "./forward_headers.ts"
import { readBody } from "./request_body.ts"

/** Milliseconds the upstream may take until its answer begins. */
const ANSWER_MS = 30_000

/** Bodies known to be shorter are passed on in one piece, bytes; longer and endless ones as they come. */
const ONE_PIECE_MAX = 64 * 1024

/** What became of a forwarded request, for the log. */
export type Outcome = number | "client gone" | "upstream broke off"

const isInOnePiece = (upstream: Response): boolean => {
  const length = upstream.headers.get("content-length")
  return length !== null && Number(length) <= ONE_PIECE_MAX
}

const drained = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const done = () => {
      response.off("drain", done)
      response.off("close", done)
      resolve()
    }
    response.on("drain", done)
    response.on("close", done)
  })

/** Passes a body on as it comes, never faster than the client takes it. */
const stream = async (body: ReadableStream<Uint8Array>, response: ServerResponse): Promise<void> => {
  for await (const chunk of body) {
    if (response.destroyed) return
    if (!response.write(chunk)) await drained(response)
  }
  response.end()
}

const refuse = (response: ServerResponse, status: 400 | 502 | 504, message: string): Outcome => {
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" })
  response.end(JSON.stringify({ message }))
  return status
}

/**
 * Sends a judged request to the upstream and its answer to the client. Redirects are the client's to follow.
 *
 * @param upstreamUrl origin of the upstream
 */
export const forward = async (
  incoming: IncomingMessage,
  response: ServerResponse,
  request: GatewayRequest,
  verdict: Extract<Verdict, { kind: "forward" }>,
  upstreamUrl: string,
  arrival: Arrival,
): Promise<Outcome> => {
  const body = await readBody(incoming, request)
  if (body === "broken") return refuse(response, 400, "malformed request")
  const abort = new AbortController()
  const timer = setTimeout(() => abort.abort("slow"), ANSWER_MS)
  const onClose = () => abort.abort("client gone")
  response.on("close", onClose)
  try {
    const upstream = await fetch(upstreamUrl + verdict.target, {
      method: request.method,
      headers: upstreamHeaders(request, verdict, arrival),
      redirect: "manual",
      decompress: false,
      signal: abort.signal,
      ...(body === undefined ? {} : { body, duplex: "half" }),
    })
    clearTimeout(timer)
    response.writeHead(upstream.status, clientHeaders(upstream.headers, arrival.publicUrl).flat())
    if (upstream.body === null || request.method === "HEAD") response.end()
    else if (isInOnePiece(upstream)) response.end(new Uint8Array(await upstream.arrayBuffer()))
    else await stream(upstream.body, response)
    return upstream.status
  } catch {
    if (abort.signal.reason === "client gone") return "client gone"
    if (!response.headersSent)
      return abort.signal.aborted
        ? refuse(response, 504, "upstream timed out")
        : refuse(response, 502, "upstream failed")
    // Half an answer must not look like a whole one.
    response.destroy()
    return "upstream broke off"
  } finally {
    clearTimeout(timer)
    response.off("close", onClose)
  }
}
