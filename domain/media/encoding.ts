/** A parameter's name on the wire and its text, not yet encoded. */
export type Parameter = readonly [name: string, value: string]

/**
 * Percent-encodes one component of a request target: only the unreserved characters of RFC 3986 stay.
 *
 * `encodeURIComponent` leaves `!'()*`, some of which `URL` encodes by itself when a request is sent; encoded here, the
 * sent bytes are those a dry run shows.
 *
 * @param text well-formed text (no lone surrogate); percent-encoded text is encoded again and so arrives unchanged
 */
export const encodeComponent = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)

/**
 * `name=value` pairs joined by `&`, every name and value encoded whole and once, order kept.
 *
 * `URLSearchParams` writes another encoding, that of HTML forms: `+` for a blank, `*` plain, `%7E` for `~`.
 */
export const encodeQuery = (parameters: ReadonlyArray<Parameter>): string =>
  parameters.map(([name, value]) => `${encodeComponent(name)}=${encodeComponent(value)}`).join("&")
