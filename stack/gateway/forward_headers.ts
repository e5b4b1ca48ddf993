import { cookieNames } from "../../domain/gateway/cookies.ts"
import { type GatewayRequest, headerValue, headerValues, withoutCookies } from "../../domain/gateway/gateway_request.ts"
import { isIdentityHeader } from "../../domain/gateway/identity_headers.ts"
import type { Header, Verdict } from "../../domain/gateway/verdict.ts"

/** Headers of one connection, not of the message (RFC 9110 section 7.6.1). */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
  "expect",
])

/** True for a header that only the gateway may set: where a request came from, and who asks. */
const isGatewaysOwn = (name: string): boolean =>
  /^(host|forwarded|x-real-ip|x-(forwarded|portolan)-.*)$/.test(name) || isIdentityHeader(name)

const namesIn = (connection: string): ReadonlyArray<string> =>
  connection.split(",").map((name) => name.trim().toLowerCase())

/** Says who passed the message on (RFC 9110 section 7.6.3). */
const VIA = ["via", "1.1 portolan"] as const

/** Methods whose requests say that they have no body (RFC 9110 section 8.6). */
const WANTS_LENGTH = /^(POST|PUT|PATCH)$/

/**
 * The one header that frames the body for the upstream. It is set whatever the client's `Connection` header names: a body
 * without it would be read as a second request.
 */
const framing = (request: GatewayRequest): ReadonlyArray<Header> => {
  if (headerValue(request, "transfer-encoding") !== undefined) return [["transfer-encoding", "chunked"]]
  const length = headerValue(request, "content-length") ?? (WANTS_LENGTH.test(request.method) ? "0" : undefined)
  return length === undefined ? [] : [["content-length", length]]
}

/** Where a request came in. */
export interface Arrival {
  readonly clientAddress: string
  /** Origin of the gateway as configured, never as the request claims. */
  readonly publicUrl: string
  /** Host and port of the upstream. */
  readonly upstreamHost: string
}

/**
 * Headers for the upstream: the client's, without what belongs to a connection, to the gateway or to an identity, and
 * then the gateway's own.
 */
export const upstreamHeaders = (
  request: GatewayRequest,
  verdict: Extract<Verdict, { kind: "forward" }>,
  { clientAddress, publicUrl, upstreamHost }: Arrival,
): Array<Header> => {
  const sent: Array<Header> = [["host", upstreamHost]]
  const hop = headerValues(request, "connection").flatMap(namesIn)
  for (const [name, value] of request.headers) {
    if (HOP_BY_HOP.has(name) || isGatewaysOwn(name) || hop.includes(name) || name === "content-length") continue
    if (name === "authorization" && !verdict.keepAuthorization) continue
    const passed = name === "cookie" ? withoutCookies(value, Object.values(cookieNames(publicUrl))) : value
    if (passed !== undefined) sent.push([name, passed])
  }
  sent.push(...framing(request))
  const scheme = publicUrl.indexOf("://")
  sent.push(
    VIA,
    ["x-forwarded-for", clientAddress],
    ["x-forwarded-proto", publicUrl.slice(0, scheme)],
    ["x-forwarded-host", publicUrl.slice(scheme + 3)],
  )
  for (const [name, value] of verdict.identity) sent.push([name, value])
  return sent
}

/**
 * The upstream's headers as the gateway's: nothing of its connection, and no cookies named like ours.
 *
 * @param status of the answer; one of 204 has no length (RFC 9110 section 8.6)
 */
export const clientHeaders = (given: ReadonlyArray<Header>, status: number, publicUrl: string): Array<Header> => {
  const hop = given.flatMap(([name, value]) => (name === "connection" ? namesIn(value) : []))
  const ours = Object.values(cookieNames(publicUrl)).map((name) => `${name}=`)
  const passed = given.filter(
    ([name, value]) =>
      !HOP_BY_HOP.has(name) &&
      !hop.includes(name) &&
      !(name === "content-length" && status === 204) &&
      !(name === "set-cookie" && ours.some((each) => value.trimStart().startsWith(each))),
  )
  return [...passed, VIA]
}
