import type { Page } from "../../../domain/records/page.ts"

/** Parameters of a query, decoded. */
export type Parameters = ReadonlyArray<readonly [name: string, value: string]>

const queryOf = (parameters: Parameters): string =>
  parameters.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join("&")

/**
 * The `Link` header of a page by `start`: `next` while the page was full, `prev` unless it was the first.
 *
 * The links show the effective limit, so that a client whose limit was clamped skips nothing.
 *
 * @param kept what the pages beside this one are asked for by, too
 * @see RFC 8288
 */
export const pageLinks = (path: string, kept: Parameters, page: Page, returned: number): string | undefined => {
  const { start, limit } = page
  if (limit === 0) return undefined
  const link = (from: number, count: number, rel: string) =>
    `<${path}?${queryOf([...kept, ["start", `${from}`], ["limit", `${count}`]])}>; rel="${rel}"`
  const links: Array<string> = []
  if (returned === limit && start + limit <= Number.MAX_SAFE_INTEGER) links.push(link(start + limit, limit, "next"))
  // Shorter than `limit` at the very beginning, so that walking back shows no record twice.
  if (start > 0) links.push(link(Math.max(0, start - limit), Math.min(limit, start), "prev"))
  return links.length === 0 ? undefined : links.join(", ")
}

/** The `Link` header of a page by `after`: `next`, with the cursor that leads there. */
export const cursorLink = (path: string, kept: Parameters, limit: number, cursor: string): string =>
  `<${path}?${queryOf([...kept, ["limit", `${limit}`], ["after", cursor]])}>; rel="next"`
