// What of a text, a body or an address may be shown. The one masker of the product: errors, logs, journals and dry runs use it.
import { encode as base64 } from "effect/encoding/Base64"
import { encode as hex } from "effect/encoding/Hex"
import { isObject } from "./json_object.ts"

/** What stands where a secret was. */
export const MASK = "<redacted>"

/** Fewest characters of a known secret. A shorter one would also be found in ordinary words. */
const SECRET_LENGTH_MIN = 4

/**
 * Fewest characters of a piece of base64 that is looked for inside a longer one; a secret of 11 bytes has them wherever
 * it stands. Case is not told apart, so that a shorter piece would also be found in ordinary words.
 */
const BASE64_PIECE_MIN = 12

/**
 * Names whose value is a secret wherever it stands: in a query, a body, a header, an environment. Compared by their end,
 * so that `SCHEDULER_TOKEN`, `x-nomad-token` and `DB_PASSWORD` are among them. `EmbeddedTmpl` and `Payload` are fields of
 * a scheduler's job that hold files and input of its tasks.
 */
const FIELD =
  "(?:token|id_token_hint|secret|secretid|password|passwd|authorization|cookie|x-portolan-control|credential|signature|api_?key|private_?key|appsecret_proof|code_verifier|jwt|hmac|embeddedtmpl|payload)"

/** Names that are secrets as parameters of an address or a form only: elsewhere they are ordinary words. */
const PARAMETER = "(?:auth|code|hash|key|nonce|policy|sig|state|key-pair-id|awsaccesskeyid|googleaccessid)"

const SECRET_FIELD = new RegExp(`${FIELD}$`, "i")
const SECRET_PARAMETER = new RegExp(`^${PARAMETER}$`, "i")

/** Long mixed text is taken for a credential even under a name nobody knows. */
const CREDENTIAL = /^(?=.*[A-Za-z])(?=.*\d)[A-Za-z0-9._~+/=%-]{24,}$/

/** Objects all of whose values are secret: environments of tasks hold passwords under any name. */
const SECRET_OBJECT = /^env$/i

/**
 * True for a parameter of an address or a form whose value must not be shown.
 *
 * @param name the parameter's name, not percent-encoded
 * @param value the value as it stands in the address
 */
export const isSecretParameter = (name: string, value: string): boolean =>
  SECRET_FIELD.test(name) || SECRET_PARAMETER.test(name) || CREDENTIAL.test(value)

/** A value after `=`. It may hold a mask already, whose `<` would otherwise end it too early. */
const VALUE = `(?:${MASK}|[^&\\s"'<>])+`

/** A JSON text, list, object or word, also one inside a JSON string, whose quotes are escaped. */
const JSON_VALUE = `(?:\\\\?"(?:[^"\\\\]|\\\\.)*"?|[[{][^\\]}]*[\\]}]?|[^\\s"\\\\,}\\]]+)`

/** Secrets that are not known but can be recognised: signed tokens, user and password of a URL, values of secret names. */
const RECOGNISED: ReadonlyArray<readonly [pattern: RegExp, shown: string]> = [
  [/(?<![\w-])eyJ[\w-]*(?:\.[\w-]*)+/g, MASK],
  [new RegExp(`(://|%3A%2F%2F)(?:${MASK}|[^\\s/"'<>])*@`, "gi"), `$1${MASK}@`],
  [new RegExp(`(${FIELD}\\\\?"\\s*:\\s*)${JSON_VALUE}`, "gi"), `$1"${MASK}"`],
  [/((?:authorization|cookie|x-[\w-]{1,30}-(?:token|control))\s*:\s*)[^\r\n"}]+/gi, `$1${MASK}`],
  [new RegExp(`((?:${FIELD}|(?<=^|[?&"']|%3F|%26)${PARAMETER})(?:=|%3D))${VALUE}`, "gi"), `$1${MASK}`],
]

/** What every text with a recognisable secret holds. Most texts hold none of it and are spared five searches. */
const SUSPICIOUS = /[=@:]|%3D|eyJ/i

const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")

const percent = (character: string): string =>
  /^[\0-\x7f]$/.test(character)
    ? `%${character.charCodeAt(0).toString(16).padStart(2, "0")}`
    : encodeURIComponent(character)

const ENTITIES: Readonly<Record<string, ReadonlyArray<string>>> = {
  "&": ["&amp;", "&#38;", "&#x26;"],
  "<": ["&lt;", "&#60;", "&#x3c;"],
  ">": ["&gt;", "&#62;", "&#x3e;"],
  '"': ["&quot;", "&#34;", "&#x22;"],
  "'": ["&apos;", "&#39;", "&#x27;"],
  "|": ["&#124;"],
}

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1)

/** A character inside a JSON string. Some writers escape `/`, some what is beyond ASCII; any may be its UTF-16 numbers. */
const jsonSpellingsOf = (character: string): ReadonlyArray<string> => {
  const numbers = character.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
  return [inJson(character), numbers, ...(character === "/" ? ["\\/"] : [])]
}

/** One character as it is, percent-encoded once or twice, as a blank of a form, as an HTML entity, in JSON or in JSON in JSON. */
const spellingsOf = (character: string): string => {
  const once = percent(character)
  const twice = once.replaceAll("%", "%25")
  const blank = character === " " ? ["+", "%2b"] : []
  const json = jsonSpellingsOf(character)
  const all = [character, once, twice, ...blank, ...(ENTITIES[character] ?? []), ...json, ...json.map(inJson)]
  return `(?:${[...new Set(all)].map(literal).join("|")})`
}

/** Base64 of either alphabet, in which `+` and `/` may be percent-encoded or escaped in turn. */
const base64Pattern = (text: string): string =>
  text.replace(/[+/]/g, (character) => `(?:-|_|${spellingsOf(character)})`)

/** The secret in base64, alone and after one or two bytes more: as a part of `user:password`, or of a whole header. */
const base64PatternsOf = (secret: string): ReadonlyArray<string> => {
  const unpadded = (text: string) => base64(text).replace(/=+$/, "")
  const pieces = [0, 1, 2].flatMap((before) => {
    const text = unpadded("\0".repeat(before) + secret)
    const bytes = Math.floor((text.length * 6) / 8)
    // A character stands for six bits; those that hold bits of a neighbour are not known.
    const piece = text.slice(Math.ceil((before * 8) / 6), Math.floor((bytes * 8) / 6))
    return piece.length < BASE64_PIECE_MIN ? [] : [piece]
  })
  return [unpadded(secret), ...pieces].map(base64Pattern)
}

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Everything that gives the secret away, as alternatives of one pattern. */
const patternsOf = (secret: string): ReadonlyArray<string> =>
  // A lone surrogate can be encoded in no way, so it is only looked for as it stands.
  secret.isWellFormed()
    ? [[...secret].map(spellingsOf).join(""), hex(secret), ...base64PatternsOf(secret)]
    : [literal(secret)]

const patternOf = (secrets: ReadonlyArray<string>): RegExp | undefined => {
  // A secret taken from an address is percent-encoded there; whoever read the address may show it decoded.
  const known = new Set(secrets.flatMap((secret) => [secret, decoded(secret)]))
  const long = [...known].filter(({ length }) => length >= SECRET_LENGTH_MIN)
  if (long.length === 0) return undefined
  // A secret that begins with another one comes first, or its end would be shown.
  const patterns = long.sort((left, right) => right.length - left.length).flatMap(patternsOf)
  return new RegExp([...new Set(patterns)].join("|"), "gi")
}

/** Removes secrets from whatever is about to be shown. */
export interface SecretMask {
  /** The text with every secret replaced by {@link MASK}; takes time in proportion to its length. */
  readonly text: (text: string) => string
  /** The JSON value with secrets in its texts replaced, and the values of fields with secret names whole. */
  readonly fields: (value: unknown) => unknown
}

/**
 * Makes a mask that knows these secrets in every usual spelling: plain, percent-encoded once or twice, as a form, JSON,
 * JSON in JSON or HTML writes them, as hexadecimal digits, and in base64, alone or inside of more. It also masks what can
 * be recognised: signed tokens, user and password of a URL, and the values of secret names in queries, forms, JSON and
 * headers.
 *
 * @param secrets values that must never be shown, without regard to case. One below 4 characters is ignored, and one below
 *   11 bytes is not found inside of more base64: both would be found in ordinary words
 */
export const makeSecretMask = (secrets: ReadonlyArray<string>): SecretMask => {
  let pattern: { readonly of: RegExp | undefined } | undefined
  const text = (given: string): string => {
    // Made when it is needed: most masks of a single exchange never are.
    pattern ??= { of: patternOf(secrets) }
    const known = pattern.of
    const unknown = known === undefined ? given : given.replace(known, MASK)
    return SUSPICIOUS.test(unknown)
      ? RECOGNISED.reduce((left, [pattern, shown]) => left.replace(pattern, shown), unknown)
      : unknown
  }
  const field = (name: string, value: unknown): unknown => {
    if (value === null || value === undefined || value === "") return value
    if (SECRET_FIELD.test(name)) return MASK
    if (typeof value === "string") return text(value)
    if (Array.isArray(value)) return value.map((each) => field("", each))
    if (!isObject(value)) return typeof value === "bigint" ? String(value) : value
    const secret = SECRET_OBJECT.test(name)
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, secret ? MASK : field(key, each)]))
  }
  return { text, fields: (value) => field("", value) }
}
