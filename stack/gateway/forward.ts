import type { IncomingMessage, ServerResponse } from "node:http"
import { pipeline } from "node:stream"
import { type GatewayRequest, headerValue } from "../../domain/gateway/gateway_request.ts"
import type { Verdict } from "../../domain/gateway/verdict.ts"
import { headerLines } from "../header_lines.ts"
import { type Arrival, clientHeaders, upstreamHeaders } from "./forward_headers.ts"
import { refuse } from "./refuse.ts"
import { type Upstream, UpstreamTimedOut } from "./upstream.ts"

/** True when the request has a body, be it an empty one (RFC 9112 section 6.3). */
const hasBody = ({ headers }: GatewayRequest): boolean =>
  headers.some(([name]) => name === "content-length" || name === "transfer-encoding")

/** Hands an answer on, no faster than the client reads it. */
const handOn = (answer: IncomingMessage, outgoing: ServerResponse, publicUrl: string): void => {
  const status = answer.statusCode ?? 502
  outgoing.writeHead(status, clientHeaders(headerLines(answer.rawHeaders), status, publicUrl).flat())
  // A head whose body is still to come does not wait for it.
  if (answer.readableLength === 0 && !answer.complete) outgoing.flushHeaders()
  // An answer that breaks off must not look whole: the client's connection is reset, which tells HTTP/1.0 as well.
  answer.once("error", () => outgoing.socket?.resetAndDestroy())
  pipeline(answer, outgoing, () => {})
}

/**
 * Sends a judged request to the upstream and hands its answer on, both bodies as they come. Redirects are the client's to
 * follow.
 *
 * @param incoming the client's request, of whose body nothing has been read
 * @param outgoing takes the upstream's answer; 502 when there is none, 504 when it does not begin in time
 */
export const forward = async (
  request: GatewayRequest,
  verdict: Extract<Verdict, { kind: "forward" }>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  upstream: Upstream,
  arrival: Arrival,
): Promise<void> => {
  const gone = new AbortController()
  outgoing.once("close", () => gone.abort())
  // Only a request that goes on may send its body: a client that waits for this word is told now (RFC 9110 section 10.1.1).
  if (headerValue(request, "expect") !== undefined) outgoing.writeContinue()
  try {
    const answer = await upstream.ask({
      method: request.method,
      path: verdict.target,
      headers: upstreamHeaders(request, verdict, arrival),
      body: hasBody(request) ? incoming : undefined,
      signal: gone.signal,
    })
    handOn(answer, outgoing, arrival.publicUrl)
  } catch (failure) {
    if (outgoing.destroyed) return
    if (failure instanceof UpstreamTimedOut) refuse(outgoing, 504, "upstream timed out")
    else refuse(outgoing, 502, "upstream failed")
  }
}
