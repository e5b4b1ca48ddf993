import { type GatewayRequest, headerValues } from "../../domain/gateway/gateway_request.ts"
import { failed, type Verdict } from "../../domain/gateway/verdict.ts"
import { foreignCookies, withheldFrom } from "../gateway/forward_headers.ts"
import type { GatewayCalls } from "./gateway_calls.ts"

/** Headers read of a request; a request with more is refused rather than judged by half. */
export const HEADERS_MAX = 1000

/** The shared value that the sentinel plugin asks for before it lets a request go on. */
export const ALLOWED = { name: "gate", value: "allow" } as const

/** What nginx writes anew for every request to the upstream, whatever came. To clear it would break what nginx itself reads. */
const WRITTEN_BY_NGINX = /^(host|connection|content-length|transfer-encoding)$/

/** Reads the request from the gateway. The target is read raw, because the gateway has already decoded its own path. */
const readRequest = async (calls: GatewayCalls): Promise<GatewayRequest> => {
  const headers = await calls.headers(HEADERS_MAX)
  if (headers.length >= HEADERS_MAX) throw new Error("the request has too many headers")
  return { method: await calls.method(), rawTarget: await calls.variable("request_uri"), headers }
}

const refuse = (calls: GatewayCalls, verdict: Exclude<Verdict, { kind: "forward" }>): void => {
  if (verdict.kind === "redirect") calls.exit(302, "", [...verdict.headers, ["location", verdict.location]])
  else
    calls.exit(verdict.status, JSON.stringify({ message: verdict.message }), [
      ...verdict.headers,
      ["content-type", "application/json"],
    ])
}

/** Leaves the cookies that are not the gateway's, those of every `Cookie` line, in one line. */
const forwardCookies = async (calls: GatewayCalls, request: GatewayRequest, publicUrl: string): Promise<void> => {
  const lines = headerValues(request, "cookie")
  if (lines.length === 0) return
  const others = lines.flatMap((line) => foreignCookies(line, publicUrl) ?? [])
  if (others.length === 0) await calls.clearHeader("cookie")
  else await calls.setHeader("cookie", others.join("; "))
}

/** Prepares the request for the upstream, and only then sets the value that the sentinel plugin asks for. */
const allow = async (
  calls: GatewayCalls,
  request: GatewayRequest,
  verdict: Extract<Verdict, { kind: "forward" }>,
  publicUrl: string,
): Promise<void> => {
  const isWithheld = withheldFrom(request, verdict)
  for (const name of new Set(request.headers.map(([each]) => each)))
    if (isWithheld(name) && !WRITTEN_BY_NGINX.test(name)) await calls.clearHeader(name)
  if (!isWithheld("cookie")) await forwardCookies(calls, request, publicUrl)
  for (const [name, value] of verdict.identity) await calls.setHeader(name, value)
  await calls.setPath(verdict.target.split("?", 1)[0] ?? "/")
  await calls.share(ALLOWED.name, ALLOWED.value)
}

/**
 * Judges one event of the gateway. Any error answers 500.
 *
 * @param decide the policies
 * @param say takes a line about an event that failed; nothing of the request is in it
 * @returns whether the request may go on; when it may not, the gateway ends the event itself
 */
export const judgeEvent = async (
  calls: GatewayCalls,
  decide: (request: GatewayRequest) => Promise<Verdict>,
  publicUrl: string,
  say: (line: string) => void,
): Promise<boolean> => {
  try {
    const request = await readRequest(calls)
    const verdict = await decide(request)
    if (verdict.kind !== "forward") {
      refuse(calls, verdict)
      return false
    }
    await allow(calls, request, verdict, publicUrl)
    return true
  } catch (failure) {
    say(`an event failed: ${failure instanceof Error ? failure.message : "no reason given"}`)
    refuse(calls, failed)
    return false
  }
}
