/**
 * A request target in its one form: routes and policies judge it, and the upstream receives it.
 *
 * Gateways have been bypassed because the policy read one spelling of a path and the upstream another. A spelling that
 * another reader could understand differently is therefore refused, and every other path has exactly one form.
 */
export interface CanonicalTarget {
  /** Starts with `/`; unreserved characters decoded, other escapes in upper case. */
  readonly path: string
  /** Query without `?`, untouched; `undefined` when there is none, empty when only `?` was sent. */
  readonly query: string | undefined
}

/** Why there is no canonical target. `malformed`: no valid URI (400). `ambiguous`: readers would disagree on its path (403). */
export type TargetRefusal = "malformed" | "ambiguous"

const ABSOLUTE_FORM = /^https?:\/\/[^/?#\s]*/i
/** RFC 3986 `pchar` and `/`. The backslash passes here and is refused as ambiguous, since some readers take it for `/`. */
const PATH_TEXT = /^\/(?:[\w.~!$&'()*+,;=:@/\\-]|%[0-9a-f]{2})*$/i
/** A query as it may arrive: visible ASCII without `#`. */
const QUERY_TEXT = /^[!"$-~]*$/
const ESCAPE = /%([0-9a-f]{2})/gi
const UNRESERVED = /[\w.~-]/
/** Escaped control characters. Some readers end a name at NUL. */
const ESCAPED_CONTROL = /%(?:[01][0-9a-f]|7f)/i
/** An empty segment, which some readers drop; an escaped slash, a backslash or an escaped escape, which some decode. */
const SECOND_MEANING = /\/\/|%2f|%5c|\\|%25[0-9a-f]{2}/i
/** A segment that some readers resolve: `.` or `..`, alone or before path parameters. */
const DOT_SEGMENT = /^\.{1,2}(?:$|;|%3b)/i

/** True when every escape in a text is whole and together they are UTF-8. Lenient decoders would read `%c0%ae` as a dot. */
export const isDecodable = (text: string): boolean => {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

const decodeUnreserved = (path: string): string =>
  path.replace(ESCAPE, (escaped, hex: string) => {
    const character = String.fromCharCode(Number.parseInt(hex, 16))
    return UNRESERVED.test(character) ? character : escaped.toUpperCase()
  })

/**
 * Reads a request target as it came over the wire.
 *
 * @param raw origin form (`/a?b`) or absolute form (`http://host/a?b`, whose host is ignored)
 * @returns the canonical target, or why there is none
 * @see RFC 9112 section 3.2; RFC 3986 section 6.2.2; specification 17
 */
export const canonicalTarget = (raw: string): CanonicalTarget | TargetRefusal => {
  const target = raw.replace(ABSOLUTE_FORM, "")
  const cut = target.indexOf("?")
  const query = cut === -1 ? undefined : target.slice(cut + 1)
  const written = (cut === -1 ? target : target.slice(0, cut)) || (ABSOLUTE_FORM.test(raw) ? "/" : "")
  if (!PATH_TEXT.test(written) || ESCAPED_CONTROL.test(written) || !isDecodable(written)) return "malformed"
  if (query !== undefined && !QUERY_TEXT.test(query)) return "malformed"
  const path = decodeUnreserved(written)
  // Looked for after decoding: %25%32e becomes %252e only then.
  if (SECOND_MEANING.test(path)) return "ambiguous"
  return path.split("/").some((segment) => DOT_SEGMENT.test(segment)) ? "ambiguous" : { path, query }
}

/** True when `path` is `prefix` itself or lies below it; `/api` does not hold `/apix`. */
export const isUnder = (path: string, prefix: string): boolean =>
  path.startsWith(prefix) && (path.length === prefix.length || prefix === "/" || path[prefix.length] === "/")
