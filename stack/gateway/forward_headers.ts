import { cookieNames, nameSet } from "../../domain/gateway/cookies.ts"
import { type GatewayRequest, headerValue, headerValues, withoutCookies } from "../../domain/gateway/gateway_request.ts"
import { isIdentityHeader } from "../../domain/gateway/identity_headers.ts"
import type { Header, Verdict } from "../../domain/gateway/verdict.ts"

type Forward = Extract<Verdict, { kind: "forward" }>

/**
 * Headers of one connection, not of the message (RFC 9110 section 7.6.1), and `Proxy`, which some servers hand to programs as the
 * proxy they are to use (CVE-2016-5385).
 */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy",
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

/** True for a header that only the gateway may set: where a request came from, how long it is, and who asks. */
const isGatewaysOwn = (name: string): boolean =>
  /^(host|content-length|forwarded|x-real-ip|x-(forwarded|portolan)-.*)$/.test(name) || isIdentityHeader(name)

const namesIn = (connection: string): ReadonlyArray<string> =>
  connection.split(",").map((name) => name.trim().toLowerCase())

/** Says who passed the message on (RFC 9110 section 7.6.3). */
const VIA = ["via", "1.1 portolan"] as const

/** Methods whose requests say that they have no body (RFC 9110 section 8.6). */
const WANTS_LENGTH = /^(POST|PUT|PATCH)$/

/**
 * The names of a request's headers that the upstream must not receive as the client sent them: they belong to a connection, to
 * the gateway or to an identity, or nobody judged them.
 *
 * Servers that hand headers on as variables turn `-` into `_`, so both spellings are one name to them, and to this.
 *
 * @returns true for a name, in lower case, that is withheld
 */
export const withheldFrom = (request: GatewayRequest, { keepAuthorization }: Forward): ((name: string) => boolean) => {
  const hop = headerValues(request, "connection").flatMap(namesIn)
  return (name) => {
    const plain = name.replaceAll("_", "-")
    return (
      HOP_BY_HOP.has(plain) ||
      isGatewaysOwn(plain) ||
      hop.includes(name) ||
      (plain === "authorization" && !keepAuthorization)
    )
  }
}

/** A line of cookies without the gateway's own; `undefined` when none is left. */
export const foreignCookies = (line: string, publicUrl: string): string | undefined =>
  withoutCookies(line, Object.values(cookieNames(publicUrl)))

/**
 * The one header that frames the body for the upstream. It is set whatever the client's `Connection` header names: a body
 * without it would be read as a second request.
 */
const framing = (request: GatewayRequest): ReadonlyArray<Header> => {
  if (headerValue(request, "transfer-encoding") !== undefined) return [["transfer-encoding", "chunked"]]
  const length = headerValue(request, "content-length") ?? (WANTS_LENGTH.test(request.method) ? "0" : undefined)
  return length === undefined ? [] : [["content-length", length]]
}

/** Scheme and host of the gateway's public address. */
export const publicOrigin = (publicUrl: string): { readonly scheme: string; readonly host: string } => {
  const [scheme = "", host = ""] = publicUrl.split("://")
  return { scheme, host }
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
 * Headers for the upstream: the client's, without what is withheld, and then the gateway's own.
 *
 * The gateway on Kong hands on the same ones; what differs is named in README.md beside this file.
 */
export const upstreamHeaders = (
  request: GatewayRequest,
  verdict: Forward,
  { clientAddress, publicUrl, upstreamHost }: Arrival,
): Array<Header> => {
  const sent: Array<Header> = [["host", upstreamHost]]
  const isWithheld = withheldFrom(request, verdict)
  for (const [name, value] of request.headers) {
    if (isWithheld(name)) continue
    const passed = name === "cookie" ? foreignCookies(value, publicUrl) : value
    if (passed !== undefined) sent.push([name, passed])
  }
  const { scheme, host } = publicOrigin(publicUrl)
  sent.push(
    ...framing(request),
    VIA,
    ["x-forwarded-for", clientAddress],
    ["x-forwarded-proto", scheme],
    ["x-forwarded-host", host],
    ["x-real-ip", clientAddress],
    ...verdict.identity,
  )
  return sent
}

/**
 * The upstream's headers as the gateway's: nothing of its connection, and no cookies that would come back as ours.
 *
 * @param status of the answer; one of 204 has no length (RFC 9110 section 8.6)
 */
export const clientHeaders = (given: ReadonlyArray<Header>, status: number, publicUrl: string): Array<Header> => {
  const hop = given.flatMap(([name, value]) => (name === "connection" ? namesIn(value) : []))
  const ours = Object.values(cookieNames(publicUrl)).map((name) => name.toLowerCase())
  const passed = given.filter(
    ([name, value]) =>
      !HOP_BY_HOP.has(name) &&
      !hop.includes(name) &&
      !(name === "content-length" && status === 204) &&
      !(name === "set-cookie" && ours.includes(nameSet(value))),
  )
  return [...passed, VIA]
}
