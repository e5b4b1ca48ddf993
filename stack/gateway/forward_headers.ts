import type { HeaderLine, HeaderLines } from "../../adapters/driving/http_server/header_lines.ts"
import { cookieNames } from "../../domain/gateway/cookies.ts"
import { type GatewayRequest, headerValues, withoutCookies } from "../../domain/gateway/gateway_request.ts"
import { isIdentityHeader } from "../../domain/gateway/identity_headers.ts"
import type { Verdict } from "../../domain/gateway/verdict.ts"

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

/** What a client may not tell the upstream: where a request came from is the gateway's to say. */
const isGatewaysOwn = (name: string): boolean =>
  name === "host" ||
  name === "forwarded" ||
  (name.startsWith("x") &&
    (name === "x-real-ip" ||
      name.startsWith("x-forwarded-") ||
      name.startsWith("x-portolan-") ||
      isIdentityHeader(name)))

const namesIn = (connection: string): ReadonlyArray<string> =>
  connection.split(",").map((name) => name.trim().toLowerCase())

/** Says who passed the message on (RFC 9110 section 7.6.3). */
const VIA = ["via", "1.1 portolan"] as const

const NONE: ReadonlyArray<string> = []

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
): Array<HeaderLine> => {
  const sent: Array<HeaderLine> = [["host", upstreamHost]]
  const hop = headerValues(request, "connection").flatMap(namesIn)
  for (const [name, value] of request.headers) {
    if (HOP_BY_HOP.has(name) || isGatewaysOwn(name) || hop.includes(name)) continue
    if (name === "authorization" && !verdict.keepAuthorization) continue
    // The body is framed anew.
    if (name === "content-length") continue
    const passed = name === "cookie" ? withoutCookies(value, Object.values(cookieNames(publicUrl))) : value
    if (passed !== undefined) sent.push([name, passed])
  }
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

/** The upstream's headers as the gateway's: nothing of its connection, and no cookies named like ours. */
export const clientHeaders = (given: HeaderLines, publicUrl: string): Array<HeaderLine> => {
  const hop = namesIn(given.get("connection") ?? "")
  const ours = given.get("set-cookie") === null ? NONE : Object.values(cookieNames(publicUrl)).map((name) => `${name}=`)
  const isOurs = (cookie: string) => ours.some((name) => cookie.trimStart().startsWith(name))
  const passed: Array<HeaderLine> = given
    .lines()
    .filter(
      ([name, value]) => !(HOP_BY_HOP.has(name) || hop.includes(name) || (name === "set-cookie" && isOurs(value))),
    )
  passed.push(VIA)
  return passed
}
