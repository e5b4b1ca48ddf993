import { cookieNames } from "../../domain/gateway/cookies.ts"
import { type GatewayRequest, withoutCookies } from "../../domain/gateway/gateway_request.ts"
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
  given: Headers,
  { headers }: GatewayRequest,
  verdict: Extract<Verdict, { kind: "forward" }>,
  { clientAddress, publicUrl }: Arrival,
): Headers => {
  const sent = new Headers(given)
  for (const [name, value] of headers) {
    if (HOP_BY_HOP.has(name) || isGatewaysOwn(name)) sent.delete(name)
    if (name === "connection") for (const named of namesIn(value)) sent.delete(named)
    if (name === "cookie") {
      const others = withoutCookies(value, Object.values(cookieNames(publicUrl)))
      if (others === undefined) sent.delete(name)
      else if (others !== value) sent.set(name, others)
    }
  }
  if (!verdict.keepAuthorization) sent.delete("authorization")
  // Without this the HTTP client would offer encodings of its own that our client may not read.
  if (!sent.has("accept-encoding")) sent.set("accept-encoding", "identity")
  const scheme = publicUrl.indexOf("://")
  sent.set("x-forwarded-for", clientAddress)
  sent.set("x-forwarded-proto", publicUrl.slice(0, scheme))
  sent.set("x-forwarded-host", publicUrl.slice(scheme + 3))
  for (const [name, value] of verdict.identity) sent.set(name, value)
  return sent
}

/** Makes the upstream's answer the gateway's: nothing of its connection, and no cookies named like ours. */
export const cleanAnswer = ({ headers }: Response, publicUrl: string): void => {
  const gone: Array<string> = []
  let cookies = false
  // One look at what there is costs less than asking for each name there may be.
  headers.forEach((value, name) => {
    if (name === "connection") gone.push(...namesIn(value))
    if (name === "set-cookie") cookies = true
    if (HOP_BY_HOP.has(name)) gone.push(name)
  })
  for (const name of gone) headers.delete(name)
  if (cookies) {
    const ours = Object.values(cookieNames(publicUrl)).map((name) => `${name}=`)
    const theirs = headers.getSetCookie().filter((cookie) => !ours.some((name) => cookie.trimStart().startsWith(name)))
    headers.delete("set-cookie")
    for (const cookie of theirs) headers.append("set-cookie", cookie)
  }
  headers.append("via", "1.1 portolan")
}
