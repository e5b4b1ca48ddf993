import { fromBinary, toJson } from "@bufbuild/protobuf"
import { StructSchema } from "@bufbuild/protobuf/wkt"
import { cookieNames } from "../../domain/gateway/cookies.ts"
import { type GatewayRequest, headerValues, withoutCookies } from "../../domain/gateway/gateway_request.ts"
import { IDENTITY_HEADERS, isIdentityHeader } from "../../domain/gateway/identity_headers.ts"
import { failed, type Header, type Verdict } from "../../domain/gateway/verdict.ts"
import type { GatewayCalls } from "./gateway_calls.ts"

/** Headers read of a request; a request with more is refused rather than judged by half. */
const HEADERS_MAX = 1000

/** The shared value that the sentinel plugin asks for before it lets a request go on. */
export const ALLOWED = { name: "gate", value: "allow" } as const

const readHeaders = (bytes: Uint8Array): ReadonlyArray<Header> =>
  Object.entries(toJson(StructSchema, fromBinary(StructSchema, bytes)) ?? {}).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((each): Header => [name.toLowerCase(), String(each)]),
  )

/** Reads the request from the gateway. The target is read raw, because the gateway has already decoded its own path. */
const readRequest = async (calls: GatewayCalls): Promise<GatewayRequest> => {
  const headers = readHeaders(await calls.headers(HEADERS_MAX))
  if (headers.length >= HEADERS_MAX) throw new Error("the request has too many headers")
  return { method: await calls.method(), rawTarget: await calls.variable("request_uri"), headers }
}

/** Several values of one name, as `Set-Cookie` has them, become a list. */
const answerHeaders = (headers: ReadonlyArray<Header>): Record<string, string | Array<string>> => {
  const grouped: Record<string, string | Array<string>> = {}
  for (const name of new Set(headers.map(([each]) => each))) {
    const values = headers.filter(([each]) => each === name).map(([, value]) => value)
    grouped[name] = values.length === 1 ? (values[0] ?? "") : values
  }
  return grouped
}

const refuse = (calls: GatewayCalls, verdict: Exclude<Verdict, { kind: "forward" }>): void => {
  if (verdict.kind === "redirect") {
    calls.exit(302, "", answerHeaders([...verdict.headers, ["location", verdict.location]]))
    return
  }
  const headers = answerHeaders([...verdict.headers, ["content-type", "application/json"]])
  calls.exit(verdict.status, JSON.stringify({ message: verdict.message }), headers)
}

/** Prepares the request for the upstream, and only then sets the value that the sentinel plugin asks for. */
const allow = async (
  calls: GatewayCalls,
  request: GatewayRequest,
  verdict: Extract<Verdict, { kind: "forward" }>,
  publicUrl: string,
): Promise<void> => {
  const sent = request.headers.map(([name]) => name).filter(isIdentityHeader)
  for (const name of new Set([...IDENTITY_HEADERS, ...sent])) await calls.clearHeader(name)
  if (!verdict.keepAuthorization) await calls.clearHeader("authorization")
  const [cookie] = headerValues(request, "cookie")
  const others = cookie === undefined ? undefined : withoutCookies(cookie, Object.values(cookieNames(publicUrl)))
  if (others !== undefined) await calls.setHeader("cookie", others)
  else if (cookie !== undefined) await calls.clearHeader("cookie")
  for (const [name, value] of verdict.identity) await calls.setHeader(name, value)
  await calls.setPath(verdict.target.split("?", 1)[0] ?? "/")
  await calls.share(ALLOWED.name, ALLOWED.value)
}

/**
 * Judges one event of the gateway. Any error answers 500.
 *
 * @param decide the policies
 * @returns whether the request may go on; when it may not, the gateway ends the event itself
 */
export const judgeEvent = async (
  calls: GatewayCalls,
  decide: (request: GatewayRequest) => Promise<Verdict>,
  publicUrl: string,
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
  } catch {
    refuse(calls, failed)
    return false
  }
}
