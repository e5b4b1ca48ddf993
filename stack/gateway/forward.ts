import type { IncomingMessage, ServerResponse } from "node:http"
import { type GatewayRequest, headerValue } from "../../domain/gateway/gateway_request.ts"
import type { Header, Verdict } from "../../domain/gateway/verdict.ts"
import { headerLines } from "../header_lines.ts"
import { type Arrival, clientHeaders, upstreamHeaders } from "./forward_headers.ts"
import { refuse } from "./refuse.ts"
import { type Upstream, UpstreamTimedOut } from "./upstream.ts"

/** True when the request has a body, be it an empty one (RFC 9112 section 6.3). */
const hasBody = ({ headers }: GatewayRequest): boolean =>
  headers.some(([name]) => name === "content-length" || name === "transfer-encoding")

/**
 * True for an answer that cannot be handed on: a change of protocol nobody asked for, or a coding other than chunks, of
 * which HTTP/1.0 knows nothing (RFC 9112 section 6.1).
 */
const isUnusable = ({ statusCode = 0, httpVersion }: IncomingMessage, headers: ReadonlyArray<Header>): boolean => {
  const codings = headers.filter(([name]) => name === "transfer-encoding").map(([, value]) => value.toLowerCase())
  const isPlain = codings.length === 0 || (codings.join() === "chunked" && httpVersion !== "1.0")
  return statusCode < 200 || !isPlain
}

/**
 * Hands an answer on, no faster than the client reads it.
 *
 * @throws when the answer cannot be handed on; nothing has been sent to the client then
 */
const handOn = (answer: IncomingMessage, outgoing: ServerResponse, publicUrl: string): void => {
  const [status, headers] = [answer.statusCode ?? 0, headerLines(answer.rawHeaders)]
  if (isUnusable(answer, headers)) {
    answer.destroy()
    throw new Error("the answer cannot be handed on")
  }
  outgoing.writeHead(status, clientHeaders(headers, status, publicUrl).flat())
  // A head whose body is still to come does not wait for it.
  if (answer.readableLength === 0 && !answer.complete) outgoing.flushHeaders()
  // An answer that breaks off must not look whole. A reset tells that to clients of HTTP/1.0 as well.
  answer.once("error", () => outgoing.socket?.resetAndDestroy())
  answer.pipe(outgoing)
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
  // Only a request that goes on may send its body: a client that waits for this word is told now (RFC 9110 section 10.1.1).
  if (headerValue(request, "expect") !== undefined) outgoing.writeContinue()
  try {
    const answer = await upstream.ask({
      method: request.method,
      path: verdict.target,
      headers: upstreamHeaders(request, verdict, arrival),
      body: hasBody(request) ? incoming : undefined,
      outgoing,
    })
    handOn(answer, outgoing, arrival.publicUrl)
  } catch (failure) {
    if (outgoing.destroyed) return
    if (failure instanceof UpstreamTimedOut) refuse(outgoing, 504, "upstream timed out")
    else refuse(outgoing, 502, "upstream failed")
  }
}
