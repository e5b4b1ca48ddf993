/**
 * JSON whose integers keep every digit: an integer outside ±(2^53-1) is read as `bigint` and written with the same digits.
 *
 * Everything else is what `JSON` makes of it: safe integers and fractions are `number`, `null`, `[]` and unknown keys stay.
 *
 * @see contract section 3, row "integers"
 */

/** Put before the digits of a long integer to carry them through the runtime's parser as a string. */
const MARK = "~portolan:integer:"

/** A whole value of 16 digits or more (2^53 has 16). It may also match inside a string, which {@link parseLossless} notices. */
const LONG_INTEGER = /((?:^|[:,[])\s*)(-?[1-9]\d{15,})(?=\s*(?:$|[,}\]]))/g

const exactInteger = (digits: string): number | bigint => {
  const value = Number(digits)
  return Number.isSafeInteger(value) ? value : BigInt(digits)
}

/** Replaces marked strings by their integers, inside the value itself: the parser has just made it, nobody else holds it. */
const withoutMarks = (value: unknown): unknown => {
  if (typeof value === "string") return value.startsWith(MARK) ? exactInteger(value.slice(MARK.length)) : value
  if (typeof value !== "object" || value === null) return value
  const members = value as Record<string, unknown>
  for (const key in members) {
    const member = members[key]
    const exact = withoutMarks(member)
    if (exact !== member) members[key] = exact
  }
  return value
}

/** The third parameter is part of ECMAScript 2026; the type library does not know it yet. */
type Reviver = (key: string, value: unknown, context?: { readonly source?: string }) => unknown

const exactNumber: Reviver = (_key, value, context) =>
  typeof value === "number" && context?.source !== undefined && /^-?\d+$/.test(context.source)
    ? exactInteger(context.source)
    : value

/**
 * Reads a JSON text.
 *
 * The reviver of `JSON.parse` alone would do. It is called for every value, which takes four times as long as the marks
 * on an answer of megabytes. A mark inside a string breaks the text there, and then the reviver reads it.
 *
 * @throws {SyntaxError} when `text` is not JSON
 */
export const parseLossless = (text: string): unknown => {
  if (!/\d{16}/.test(text)) return JSON.parse(text)
  if (!text.includes(MARK)) {
    try {
      return withoutMarks(JSON.parse(text.replace(LONG_INTEGER, `$1"${MARK}$2"`)))
    } catch {
      // The text is not JSON, or a mark fell into a string: the reviver tells which.
    }
  }
  return JSON.parse(text, exactNumber as (key: string, value: unknown) => unknown)
}

/** `JSON.rawJSON` of ECMAScript 2026, which the type library does not know yet. */
const { rawJSON } = JSON as typeof JSON & { readonly rawJSON: (text: string) => unknown }

/**
 * Writes a value as JSON.
 *
 * @param indent blanks per level; everything on one line when omitted
 * @throws {TypeError} on a cycle, and on `NaN` or an infinity, which `JSON` would silently write as `null`
 */
export const stringifyLossless = (value: unknown, indent?: number): string => {
  const write = (_key: string, each: unknown) => {
    if (typeof each === "bigint") return rawJSON(each.toString())
    if (typeof each === "number" && !Number.isFinite(each)) throw new TypeError(`${each} has no JSON form`)
    return each
  }
  return JSON.stringify(value, write, indent)
}
