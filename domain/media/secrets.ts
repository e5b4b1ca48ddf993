import { encodeComponent } from "./encoding.ts"

/** What stands where a secret was. */
export const REDACTED = "<redacted>"

/** Longest piece of a server's text that is kept, in UTF-16 units. */
const TEXT_MAX = 200

/** Parameter names whose value is a secret wherever it turns up. */
const SECRET_NAME =
  /^(access_?token|client_?secret|fb_exchange_token|input_token|appsecret_proof|x-amz-(signature|credential|security-token)|x-goog-(signature|credential)|signature|sig|token|auth|authorization|policy|key|api_?key|key-pair-id|awsaccesskeyid|googleaccessid|secret|password|jwt|hmac|hash)$/i

/** Long mixed text is taken for a credential even under a name nobody knows. */
const SECRET_VALUE = /^(?=.*[A-Za-z])(?=.*\d)[A-Za-z0-9._~+/=%-]{24,}$/

/** True for a query parameter whose value must not be shown. */
export const isSecretParameter = (name: string, value: string): boolean =>
  SECRET_NAME.test(name) || SECRET_VALUE.test(value)

/** Removes secrets from a text of foreign origin and shortens it. */
export type Scrub = (text: string) => string

const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")

const html = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The ways a server, a proxy or a log may spell one secret. */
const spellings = (secret: string): ReadonlyArray<string> => {
  if (!secret.isWellFormed()) return [secret]
  const plain = [secret, decoded(secret)]
  const once = plain.flatMap((text) => [encodeURIComponent(text), encodeComponent(text)])
  const forms = once.map((text) => text.replaceAll("%20", "+"))
  return [...plain, ...once, ...forms, ...once.map(encodeComponent), ...plain.map(html), ...plain.map(jsonText)]
}

const jsonText = (text: string): string => JSON.stringify(text).slice(1, -1)

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
  const known = [...new Set(secrets.filter((secret) => secret.length >= 4).flatMap(spellings))]
  const pattern =
    known.length === 0
      ? undefined
      : new RegExp(
          known
            .sort((left, right) => right.length - left.length)
            .map(literal)
            .join("|"),
          "gi",
        )
  return (text) => {
    const plain = pattern === undefined ? text : text.replace(pattern, REDACTED)
    const clean = plain
      .replace(URL_USER, "$1")
      .replace(URL_QUERY, `$1${REDACTED}`)
      .replace(NAMED, `$1$2${REDACTED}`)
      .replace(/\s+/g, " ")
      .trim()
    return clean.length > TEXT_MAX ? `${clean.slice(0, TEXT_MAX - 1)}…` : clean
  }
}
