import type { RequestHead } from "./message_parser.ts"

/** What a `Host` header may be: a registered name or an address, and a port (RFC 3986 section 3.2.2), or nothing. */
const HOST = /^(?:[\w.~!$&'()*+,;=%-]*|\[[\da-f:.]+\])(?::\d*)?$/i

/** One `Host` line in HTTP/1.1, never two (RFC 9112 section 3.2). */
export const hasValidHost = ({ headers, minor }: RequestHead): boolean => {
  const host = headers.get("host")
  // Two lines are one value with a comma and a blank in it, which is no host.
  return host === null ? minor === 0 : HOST.test(host)
}

/** True when the client waits to be told to send the body (RFC 9110 section 10.1.1). */
export const expectsContinue = ({ headers, minor }: RequestHead): boolean =>
  minor > 0 && headers.get("expect")?.toLowerCase() === "100-continue"
