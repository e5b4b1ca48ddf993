/** Path segments a request may have; a longer path is refused. */
const SEGMENTS_MAX = 64

/** Patterns under which the server hands the segments of a path over as they were sent. */
export const SEGMENT_PATTERNS: ReadonlyArray<string> = Array.from({ length: SEGMENTS_MAX }, (_, depth) =>
  Array.from({ length: depth + 1 }, (_, at) => `/:s${at}`).join(""),
).flatMap((pattern) => [pattern, `${pattern}/`])

/** Stands for a target that cannot be seen as it was sent: the policies refuse it as ambiguous. */
export const UNSEEN_TARGET = "//"

const ORIGIN_START = "http://".length

const isTrick = (segment: string): boolean => segment === "." || segment === ".." || segment.includes("\\")

/**
 * The request target as the policies must see it.
 *
 * Bun resolves dots and backslashes in a request's URL before anybody can look, but not in the parameters of the route
 * that matched. Where the two differ, the segments are what was sent.
 *
 * @param url of the request: absolute, or a path when no host was sent
 * @param params segments of the matched pattern, escapes decoded
 */
export const rawTargetOf = (url: string, params: Readonly<Record<string, string>>): string => {
  for (const name in params) if (isTrick(params[name] ?? "")) return `/${Object.values(params).join("/")}`
  if (url.startsWith("/")) return url
  const path = url.indexOf("/", ORIGIN_START)
  return path === -1 ? "/" : url.slice(path)
}
