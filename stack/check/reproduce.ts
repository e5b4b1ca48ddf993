import type { CheckCase } from "./check_case.ts"
import { variableOf } from "./credentials.ts"
import type { TlsTrust } from "./raw_http.ts"
import { headersOf, requestText, TOKEN } from "./write_request.ts"

/** A word for a POSIX shell, nothing in it expanded. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** A word for a POSIX shell in which only the token's variable is expanded. */
const withVariable = (text: string, variable: string): string =>
  text.includes(TOKEN)
    ? `"${text
        .split(TOKEN)
        .map((part) => part.replace(/["\\$`]/g, "\\$&"))
        .join(`$${variable}`)}"`
    : quoted(text)

/** Bytes as a format of `printf`. */
const printfFormat = (bytes: string): string =>
  quoted(
    bytes
      .replaceAll("\\", "\\\\")
      .replaceAll("%", "%%")
      .replaceAll("\r", "\\r")
      .replaceAll("\n", "\\n")
      .replace(/[^\x20-\x7e]/g, (byte) => `\\${byte.charCodeAt(0).toString(8).padStart(3, "0")}`),
  )

/** A run this long is made by the shell rather than written out. */
const LONG_RUN = /(.{1,4}?)\1{500,}/s

/** Commands that write the bytes. */
const writers = (bytes: string): ReadonlyArray<string> => {
  const run = LONG_RUN.exec(bytes)
  const [whole, unit] = run ?? []
  if (run === null || whole === undefined || unit === undefined) return [`printf ${printfFormat(bytes)}`]
  const times = whole.length / unit.length
  return [
    `printf ${printfFormat(bytes.slice(0, run.index))}`,
    `yes ${quoted(unit)} | head -n ${times} | tr -d '\\n'`,
    ...writers(bytes.slice(run.index + whole.length)),
  ]
}

const byNetcat = (each: CheckCase, url: URL): string => {
  const all = writers(requestText(each, url.host, undefined))
  const port = url.port || (url.protocol === "https:" ? "443" : "80")
  const host = url.hostname.replace(/^\[|\]$/g, "")
  const source = all.length === 1 ? String(all[0]) : `{ ${all.join("; ")}; }`
  // Neither ends when its input does: the answer is still to come.
  return url.protocol === "https:"
    ? `(${source}; sleep 3) | openssl s_client -quiet -connect ${url.hostname}:${port}`
    : `(${source}; sleep 3) | nc ${host} ${port}`
}

/** Targets that curl sends as they stand when told to leave the path alone. */
const PLAIN_TARGET = /^\/(?!\/)[\w.~!$&'()*+,;=:@/?%-]*$/

/**
 * A line for a shell that sends the same request, and shows the answer's head.
 *
 * @param origin of the gateway
 * @returns a line with the name of a variable where a token goes, never a token
 */
export const reproduce = (each: CheckCase, origin: string, trust: TlsTrust, hasToken: boolean): string => {
  const url = new URL(origin)
  const headers = headersOf(each, hasToken)
  const isPlain = headers.every(([, value]) => /^[\x20-\x7e]*$/.test(value)) && each.target.length < 2000
  if (each.rawRest !== undefined || !isPlain || each.method === "CONNECT") return byNetcat(each, url)
  const variable = each.credential === undefined ? "" : variableOf(each.credential, each.base ?? "access")
  const isPlainTarget = PLAIN_TARGET.test(each.target.replaceAll(TOKEN, ""))
  const { method = "GET" } = each
  return [
    "curl -si --http1.1 --globoff --max-time 10",
    ...(trust.insecure === true ? ["--insecure"] : []),
    ...(method === "GET" ? [] : method === "HEAD" ? ["--head"] : [`-X ${method}`]),
    ...headers.map(([name, value]) => `-H ${withVariable(`${name}: ${value}`, variable)}`),
    ...(isPlainTarget
      ? ["--path-as-is", withVariable(url.origin + each.target, variable)]
      : [`--request-target ${withVariable(each.target, variable)}`, quoted(`${url.origin}/`)]),
  ].join(" ")
}
