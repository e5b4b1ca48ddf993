import { cookieNames } from "../../domain/gateway/cookies.ts"
import { type GatewayRequest, withoutCookies } from "../../domain/gateway/gateway_request.ts"
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

/** What a client may not tell the upstream: where a request came from is the gateway's to say. */
const isGatewaysOwn = (name: string): boolean =>
  name === "host" ||
  name === "forwarded" ||
  name === "x-real-ip" ||
  name.startsWith("x-forwarded-") ||
  name.startsWith("x-portolan-") ||
  isIdentityHeader(name)

const connectionNames = (headers: GatewayRequest["headers"]): ReadonlyArray<string> =>
  headers
    .filter(([name]) => name === "connection")
    .flatMap(([, value]) => value.split(","))
    .map((name) => name.trim().toLowerCase())

/** Where a request came in. */
export interface Arrival {
  readonly clientAddress: string
  /** Origin of the gateway as configured, never as the request claims. */
  readonly publicUrl: string
}

/**
 * Headers for the upstream: the client's, without what belongs to a connection, to the gateway or to an identity, and
 * then the gateway's own.
 */
export const upstreamHeaders = (
  { headers }: GatewayRequest,
  verdict: Extract<Verdict, { kind: "forward" }>,
  { clientAddress, publicUrl }: Arrival,
): Array<[string, string]> => {
  const named = connectionNames(headers)
  const cookies = Object.values(cookieNames(publicUrl))
  const kept: Array<[string, string]> = []
  for (const [name, value] of headers) {
    if (HOP_BY_HOP.has(name) || named.includes(name) || isGatewaysOwn(name)) continue
    if (name === "authorization" && !verdict.keepAuthorization) continue
    if (name !== "cookie") kept.push([name, value])
    else {
      const others = withoutCookies(value, cookies)
      if (others !== undefined) kept.push([name, others])
    }
  }
  // Without this the HTTP client would offer encodings of its own that our client may not read.
  if (!kept.some(([name]) => name === "accept-encoding")) kept.push(["accept-encoding", "identity"])
  const [scheme = "http", host = ""] = publicUrl.split("://")
  kept.push(["x-forwarded-for", clientAddress], ["x-forwarded-proto", scheme], ["x-forwarded-host", host])
  for (const [name, value] of verdict.identity) kept.push([name, value])
  return kept
}

/** Headers for the client: the upstream's, without those of its connection and without cookies named like ours. */
export const clientHeaders = (headers: Headers, publicUrl: string): Array<Header> => {
  const named = (headers.get("connection") ?? "").split(",").map((name) => name.trim().toLowerCase())
  const ours = Object.values(cookieNames(publicUrl)).map((name) => `${name}=`)
  const kept: Array<Header> = []
  headers.forEach((value, name) => {
    if (!HOP_BY_HOP.has(name) && !named.includes(name) && name !== "set-cookie") kept.push([name, value])
  })
  for (const cookie of headers.getSetCookie())
    if (!ours.some((name) => cookie.trimStart().startsWith(name))) kept.push(["set-cookie", cookie])
  kept.push(["via", "1.1 portolan"])
  return kept
}
