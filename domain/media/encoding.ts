/**
 * Percent-encodes one component of a request target, RFC 3986 strict: only the unreserved characters stay.
 *
 * `encodeURIComponent` leaves `!'()*`, and URL parsers rewrite some of them on their own; encoding them here keeps the
 * sent bytes equal to the ones a dry run shows.
 *
 * @param text well-formed text (no lone surrogate); already encoded text is encoded again, so that it arrives as it is
 */
export const encodeComponent = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)

/** A parameter's name on the wire and its text, not yet encoded. */
export type Parameter = readonly [name: string, value: string]

/** `name=value` pairs joined by `&`, every value encoded whole and once, order kept. */
export const encodeQuery = (parameters: ReadonlyArray<Parameter>): string =>
  parameters.map(([name, value]) => `${encodeComponent(name)}=${encodeComponent(value)}`).join("&")

/**
 * A 64-bit fingerprint of a text, 16 hex digits: says whether a specification changed, and gives nothing of it back.
 * Two lanes of multiply and xor (MurmurHash3's mixing constants); not a cryptographic hash.
 */
export const fingerprint = (text: string): string => {
  let high = 0x9e3779b9
  let low = 0x85ebca6b
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    high = Math.imul(high ^ unit, 0xcc9e2d51)
    low = Math.imul(low ^ unit, 0x1b873593)
    high ^= low >>> 15
    low ^= high >>> 13
  }
  high = Math.imul(high ^ (high >>> 16), 0x85ebca6b) ^ Math.imul(low ^ (low >>> 13), 0xc2b2ae35)
  low = Math.imul(low ^ (low >>> 16), 0x85ebca6b) ^ Math.imul(high ^ (high >>> 13), 0xc2b2ae35)
  return [high, low].map((lane) => (lane >>> 0).toString(16).padStart(8, "0")).join("")
}
