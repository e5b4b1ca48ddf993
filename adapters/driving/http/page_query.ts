import { Effect } from "effect"
import type { Page } from "../../../domain/records/page.ts"
import { HttpRefusal } from "./http_refusal.ts"

/** A plain decimal number: no sign, exponent, hex, blank or leading zero. */
const COUNT_REGEXP = /^(?:0|[1-9]\d{0,15})$/

type Parameter = "start" | "limit"

const invalid = (parameter: Parameter, rule: string) =>
  new HttpRefusal({ code: "INVALID_QUERY", detail: `Query parameter '${parameter}' ${rule}` })

/** The refusal of a value that is no count. */
export const invalidCount = (parameter: Parameter): HttpRefusal =>
  invalid(parameter, "must be a plain decimal number from 0 to 9007199254740991")

/** One parameter: at most one plain value, and no look-alike such as `limit[]`. */
const readCount = (query: URLSearchParams, parameter: Parameter): number | HttpRefusal | undefined => {
  const values = query.getAll(parameter)
  const [text] = values
  if (values.length > 1) return invalid(parameter, "must not be repeated")
  if (text === undefined) return undefined
  if (!COUNT_REGEXP.test(text) || !Number.isSafeInteger(Number(text))) return invalidCount(parameter)
  return Number(text)
}

const NOTHING = {}

/**
 * Reads `start` and `limit`.
 *
 * @fails {HttpRefusal} 400 for anything but one plain decimal number in 0..2^53-1 each
 */
export const readPage = (
  url: string,
): Effect.Effect<{ readonly start?: number; readonly limit?: number }, HttpRefusal> => {
  const at = url.indexOf("?")
  if (at < 0) return Effect.succeed(NOTHING)
  const query = new URLSearchParams(url.slice(at + 1))
  for (const parameter of ["start", "limit"] as const)
    for (const key of query.keys())
      if (key.startsWith(`${parameter}[`)) return Effect.fail(invalid(parameter, "must be a plain parameter"))
  const start = readCount(query, "start")
  const limit = readCount(query, "limit")
  if (start instanceof HttpRefusal) return Effect.fail(start)
  if (limit instanceof HttpRefusal) return Effect.fail(limit)
  return Effect.succeed({ ...(start === undefined ? {} : { start }), ...(limit === undefined ? {} : { limit }) })
}

/**
 * The `Link` header of a page: `next` while the page was full, `prev` unless it was the first.
 *
 * The links show the effective limit, so that a client whose limit was clamped skips nothing.
 *
 * @see RFC 8288
 */
export const pageLinks = (path: string, page: Page, returned: number): string | undefined => {
  const { start, limit } = page
  if (limit === 0) return undefined
  const link = (from: number, count: number, rel: string) => `<${path}?start=${from}&limit=${count}>; rel="${rel}"`
  const links: Array<string> = []
  if (returned === limit && start + limit <= Number.MAX_SAFE_INTEGER) links.push(link(start + limit, limit, "next"))
  // Shorter than `limit` at the very beginning, so that walking back shows no record twice.
  if (start > 0) links.push(link(Math.max(0, start - limit), Math.min(limit, start), "prev"))
  return links.length === 0 ? undefined : links.join(", ")
}
