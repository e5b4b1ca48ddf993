import { setTimeout } from "node:timers/promises"
import type { Header } from "../../domain/gateway/verdict.ts"
import type { Echo } from "../upstream/echo_server.ts"
import { type CheckCase, type CheckGroup, isRefusal } from "./check_case.ts"
import { type RawAnswer, sendRaw } from "./raw_http.ts"

/** What one case showed. */
export interface CheckRow {
  readonly group: CheckGroup
  readonly name: string
  /** Method and target, shortened; no credential is in it. */
  readonly request: string
  readonly expected: string
  readonly got: string
  readonly outcome: "as expected" | "different" | "not asked"
  /** What is different, or why it was not asked. */
  readonly note?: string
}

/** What a case is asked with. */
export interface Asking {
  readonly proxyUrl: string
  readonly credentials: Readonly<Record<string, string | undefined>>
  /** Requests the upstream has answered so far; `undefined` when it cannot be asked. */
  readonly hits: () => Promise<number | undefined>
}

const SHOWN_MAX = 60

const shown = ({ method = "GET", target }: CheckCase): string =>
  `${method} ${target.length > SHOWN_MAX ? `${target.slice(0, SHOWN_MAX)}...` : target}`

/** The request as bytes; `$token` in target and headers becomes the credential. */
const written = (each: CheckCase, proxyUrl: string, token: string | undefined): string => {
  const filled = (text: string) => text.replaceAll("$token", token ?? "")
  const line = `${each.method ?? "GET"} ${filled(each.target)} HTTP/1.1\r\n`
  if (each.rawRest !== undefined) return line + each.rawRest
  const own: ReadonlyArray<Header> =
    each.headers ?? (token === undefined ? [] : ([["Authorization", "Bearer $token"]] as const))
  const carries = (name: string) => own.some(([given]) => given.toLowerCase() === name)
  const bearer: ReadonlyArray<Header> =
    token !== undefined && !JSON.stringify([each.target, own]).includes("$token")
      ? [["Authorization", "Bearer $token"]]
      : []
  const headers: ReadonlyArray<Header> = [
    ...(carries("host") ? [] : ([["Host", new URL(proxyUrl).host]] as const)),
    ...(carries("connection") ? [] : ([["Connection", "close"]] as const)),
    ...bearer,
    ...own,
  ]
  return `${line}${headers.map(([name, value]) => `${name}: ${filled(value)}\r\n`).join("")}\r\n`
}

const echoOf = (body: string): Echo | undefined => {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === "object" && value !== null && "path" in value && "headers" in value
      ? (value as Echo)
      : undefined
  } catch {
    return undefined
  }
}

const differenceIn = (each: CheckCase, answer: RawAnswer, touched: number | undefined): string | undefined => {
  if (!each.expect.includes(answer.statuses)) return `answered ${answer.statuses}`
  if (isRefusal(each) && touched !== undefined && touched > 0) return "refused, and the upstream was asked all the same"
  const echo = each.received === undefined ? undefined : echoOf(answer.body)
  return (echo === undefined ? undefined : each.received?.(echo)) ?? each.answered?.(answer.head)
}

/** Milliseconds without a new request after which the upstream counts as quiet. */
const QUIET_MS = 50

const quiet = async (hits: Asking["hits"]): Promise<void> => {
  let seen = await hits()
  for (;;) {
    await setTimeout(QUIET_MS)
    const now = await hits()
    if (now === seen) return
    seen = now
  }
}

/**
 * The answer, and how often the upstream was asked for it. A refusal that seems to have reached the upstream is asked again
 * once that is quiet: an earlier row's connection was closed on it while its request was still on the way. A gateway that
 * lets the request through does so the second time, too.
 */
const ask = async (each: CheckCase, send: () => Promise<RawAnswer>, hits: Asking["hits"]) => {
  const once = async () => {
    const before = await hits()
    const answer = await send()
    const after = await hits()
    return { answer, touched: before === undefined || after === undefined ? undefined : after - before }
  }
  const first = await once()
  if (!isRefusal(each) || first.touched === undefined || first.touched === 0) return first
  await quiet(hits)
  return once()
}

/** Asks one case. */
export const askCase = async (each: CheckCase, { proxyUrl, credentials, hits }: Asking): Promise<CheckRow> => {
  const row = { group: each.group, name: each.name, request: shown(each), expected: each.expect.join(" or ") }
  const token = each.credential === undefined || each.credential === "none" ? undefined : credentials[each.credential]
  if (each.credential !== undefined && each.credential !== "none" && token === undefined)
    return { ...row, got: "-", outcome: "not asked", note: "the token cannot be made without the realm's secrets" }
  const { answer, touched } = await ask(each, () => sendRaw(proxyUrl, written(each, proxyUrl, token)), hits)
  const difference = differenceIn(each, answer, touched)
  return {
    ...row,
    got: answer.statuses,
    outcome: difference === undefined ? "as expected" : "different",
    ...(difference === undefined ? {} : { note: difference }),
  }
}
