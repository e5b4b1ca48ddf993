import { encodeComponent } from "./encoding.ts"

/** What stands where a secret was. */
export const REDACTED = "<redacted>"

/** Longest piece of a server's text that is kept, and that is looked at, in UTF-16 units. */
const TEXT_MAX = 200
const READ_MAX = 4_000

/** Parameter names whose value is a secret wherever it turns up. */
const SECRET_NAME =
  /^(access_?token|client_?secret|fb_exchange_token|input_token|appsecret_proof|x-amz-(signature|credential|security-token)|x-goog-(signature|credential)|signature|sig|token|auth|authorization|policy|key|api_?key|key-pair-id|awsaccesskeyid|googleaccessid|secret|password|jwt|hmac|hash)$/i

/** Long mixed text is taken for a credential even under a name nobody knows. */
const SECRET_VALUE = /^(?=.*[A-Za-z])(?=.*\d)[A-Za-z0-9._~+/=%-]{24,}$/

/** True for a query parameter whose value must not be shown. */
export const isSecretParameter = (name: string, value: string): boolean =>
  SECRET_NAME.test(name) || SECRET_VALUE.test(value)

/** The beginning of a long text, without a last word that may be half a secret. */
const beginning = (text: string): string =>
  text.length <= READ_MAX ? text : text.slice(0, READ_MAX).replace(/\S{1,4000}$/, "")

/** Removes secrets from a text of foreign origin and shortens it. */
export type Scrub = (text: string) => string

const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;|&#38;",
  "<": "&lt;|&#60;",
  ">": "&gt;|&#62;",
  '"': '&quot;|&#34;|\\\\"',
  "'": "&#39;|&#x27;|&apos;",
  "|": "&#124;",
  "\\": "\\\\\\\\",
  " ": "\\+",
}

/** One character in every spelling of a server, a proxy or a log: plain, percent-encoded once or twice, an entity. */
const spellings = (character: string): string => {
  const percent = /^[A-Za-z0-9]$/.test(character)
    ? `%${character.charCodeAt(0).toString(16)}`
    : encodeComponent(character)
  const forms = [literal(character), literal(percent), literal(encodeComponent(percent)), ENTITIES[character]]
  return `(?:${[...new Set(forms.filter((form) => form !== undefined))].join("|")})`
}

const patternOf = (secret: string): string =>
  secret.isWellFormed() ? [...secret].map(spellings).join("") : literal(secret)

const NAMED =
  /\b(access_token|client_secret|fb_exchange_token|input_token|appsecret_proof|authorization|x-amz-[a-z-]+|x-goog-[a-z-]+|signature|sig)("?\s*(?:=|:|%3D)\s*"?)(?:(?:Bearer|OAuth)\s+)?[^&\s"'<>]+/gi

/** A query inside an address, plain or percent-encoded: it may carry anybody's signature. */
const URL_QUERY = /(https?:\/\/[^\s"'<>?]*\?|https?%3A%2F%2F[^\s"'<>&]*?%3F)[^\s"'<>]*/gi
const URL_USER = /(https?:\/\/)[^\s"'<>/@]*@/gi

/**
 * Makes a scrubber that knows these secrets, in every usual spelling, and also removes what secret names introduce.
 *
 * @param secrets values that must never be shown; ones shorter than 4 characters are ignored, they would match anything
 */
export const makeScrub = (secrets: ReadonlyArray<string>): Scrub => {
  const long = secrets.filter((secret) => secret.length >= 4)
  // A secret taken from an address is percent-encoded there; whoever read the address may show it decoded.
  const known = [...new Set(long.flatMap((secret) => [secret, decoded(secret)]))]
  const pattern =
    known.length === 0
      ? undefined
      : new RegExp(
          known
            .sort((left, right) => right.length - left.length)
            .map(patternOf)
            .join("|"),
          "gi",
        )
  return (text) => {
    const start = beginning(text)
    const plain = pattern === undefined ? start : start.replace(pattern, REDACTED)
    const clean = plain
      .replace(URL_USER, "$1")
      .replace(URL_QUERY, `$1${REDACTED}`)
      .replace(NAMED, `$1$2${REDACTED}`)
      .replace(/\s+/g, " ")
      .trim()
    return clean.length > TEXT_MAX ? `${clean.slice(0, TEXT_MAX - 1)}…` : clean
  }
}
