import type { Answer } from "../../adapters/driving/http_server/answer.ts"
import type { ArrivedRequest } from "../../adapters/driving/http_server/arrived_request.ts"
import { type GatewayRequest, headerValue } from "../../domain/gateway/gateway_request.ts"
import type { Verdict } from "../../domain/gateway/verdict.ts"
import { type Arrival, clientHeaders, upstreamHeaders } from "./forward_headers.ts"
import { readAhead } from "./request_body.ts"
import { type UpstreamPool, UpstreamTimedOut } from "./upstream_pool.ts"

const refuse = (status: 400 | 502 | 504, message: string): Answer => ({
  status,
  headers: [
    ["content-type", "application/json"],
    ["cache-control", "no-store"],
  ],
  body: JSON.stringify({ message }),
})

/**
 * Sends a judged request to the upstream and hands its answer on, bodies as they come. Redirects are the client's to
 * follow.
 */
export const forward = async (
  request: GatewayRequest,
  arrived: ArrivedRequest,
  verdict: Extract<Verdict, { kind: "forward" }>,
  upstream: UpstreamPool,
  arrival: Arrival,
): Promise<Answer> => {
  const body = arrived.body instanceof ReadableStream ? await readAhead(arrived.body) : arrived.body
  if (body === "broken") return refuse(400, "malformed request")
  try {
    const {
      status,
      headers,
      body: answered,
    } = await upstream.exchange({
      method: request.method,
      target: verdict.target,
      headers: upstreamHeaders(request, verdict, arrival),
      body,
      length: headerValue(request, "content-length"),
      whenGone: (run) => arrived.whenGone(run),
    })
    return { status, headers: clientHeaders(headers, arrival.publicUrl), body: answered }
  } catch (failure) {
    return failure instanceof UpstreamTimedOut ? refuse(504, "upstream timed out") : refuse(502, "upstream failed")
  }
}
