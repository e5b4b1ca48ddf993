import { MASK, makeSecretMask } from "../secret_mask.ts"

/** Longest piece of a server's text that is kept, and that is looked at, in UTF-16 units. */
const TEXT_MAX = 200
const READ_MAX = 4_000

/** The beginning of a long text, without a last word that may be half a secret. */
const beginning = (text: string): string =>
  text.length <= READ_MAX ? text : text.slice(0, READ_MAX).replace(/\S{1,4000}$/, "")

/** A query inside an address, plain or percent-encoded: it may carry a signature under any name. */
const URL_QUERY = new RegExp(`(https?://[^\\s"'<>?]*\\?|https?%3A%2F%2F[^\\s"'<>&]*?%3F)(?:${MASK}|[^\\s"'<>])*`, "gi")

/** Removes secrets from a text of foreign origin and shortens it. */
export type Scrub = (text: string) => string

/**
 * Makes a scrubber of the texts a media server answers with: known secrets go, what looks like one goes, every query of an
 * address goes, and one line of at most 200 characters is left.
 *
 * @param secrets values that must never be shown; see {@link makeSecretMask}
 */
export const makeScrub = (secrets: ReadonlyArray<string>): Scrub => {
  const mask = makeSecretMask(secrets)
  return (text) => {
    const clean = mask.text(beginning(text)).replace(URL_QUERY, `$1${MASK}`).replace(/\s+/g, " ").trim()
    return clean.length > TEXT_MAX ? `${clean.slice(0, TEXT_MAX - 1)}…` : clean
  }
}
