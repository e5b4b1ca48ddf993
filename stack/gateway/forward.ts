import type { GatewayRequest } from "../../domain/gateway/gateway_request.ts"
import type { Verdict } from "../../domain/gateway/verdict.ts"
import { type Arrival, cleanAnswer, upstreamHeaders } from "./forward_headers.ts"
import { readBody } from "./request_body.ts"

/** Milliseconds the upstream may take until its answer begins. */
const ANSWER_MS = 30_000

const refuse = (status: 400 | 502 | 504, message: string): Response =>
  Response.json({ message }, { status, headers: { "cache-control": "no-store" } })

/**
 * Sends a judged request to the upstream and hands its answer on, bodies as they come. Redirects are the client's to
 * follow, and nothing is sent twice.
 *
 * @param upstreamUrl origin of the upstream
 */
export const forward = async (
  incoming: Request,
  request: GatewayRequest,
  verdict: Extract<Verdict, { kind: "forward" }>,
  upstreamUrl: string,
  arrival: Arrival,
): Promise<Response> => {
  const body = incoming.body === null ? undefined : await readBody(incoming)
  if (body === "broken") return refuse(400, "malformed request")
  const abort = new AbortController()
  const timer = setTimeout(() => abort.abort(), ANSWER_MS)
  try {
    const answer = await fetch(upstreamUrl + verdict.target, {
      method: request.method,
      headers: upstreamHeaders(incoming.headers, request, verdict, arrival),
      redirect: "manual",
      decompress: false,
      signal: abort.signal,
      ...(body === undefined ? {} : { body }),
    })
    cleanAnswer(answer, arrival.publicUrl)
    return answer
  } catch {
    return abort.signal.aborted ? refuse(504, "upstream timed out") : refuse(502, "upstream failed")
  } finally {
    clearTimeout(timer)
  }
}
