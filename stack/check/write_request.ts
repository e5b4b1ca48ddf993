import type { Header } from "../../domain/gateway/verdict.ts"
import type { CheckCase } from "./check_case.ts"

/** Stands for the credential in targets and headers. */
export const TOKEN = "$token"
/** Stands for the gateway's host and port in raw requests. */
const HOST = "$host"

/** Header lines of a case that is no raw request; `$token` stands where the credential goes. */
export const headersOf = (each: CheckCase, hasToken: boolean): ReadonlyArray<Header> => {
  const own: ReadonlyArray<Header> = each.headers ?? []
  const isPlaced = JSON.stringify([each.target, own]).includes(TOKEN)
  return [...(hasToken && !isPlaced ? ([["Authorization", `Bearer ${TOKEN}`]] as const) : []), ...own]
}

/**
 * The request of a case, as it goes over the wire: a character for each byte.
 *
 * @param host of the gateway, as a `Host` header names it
 * @param token what `$token` stands for; none for a request without a credential
 */
export const requestText = (each: CheckCase, host: string, token: string | undefined): string => {
  const filled = (text: string) => text.replaceAll(TOKEN, token ?? "").replaceAll(HOST, host)
  const line = `${each.method ?? "GET"} ${filled(each.target)} HTTP/1.1\r\n`
  if (each.rawRest !== undefined) return line + filled(each.rawRest)
  const given = headersOf(each, token !== undefined)
  const carries = (name: string) => given.some(([each]) => each.toLowerCase() === name)
  const headers: ReadonlyArray<Header> = [
    ...(carries("host") ? [] : ([["Host", host]] as const)),
    ...(carries("connection") ? [] : ([["Connection", "close"]] as const)),
    ...given,
  ]
  return `${line}${headers.map(([name, value]) => `${name}: ${filled(value)}\r\n`).join("")}\r\n`
}
