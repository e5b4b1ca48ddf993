/**
 * JSON whose integers keep every digit: an integer outside ±(2^53-1) is read as `bigint` and written with the same digits.
 *
 * Everything else is what `JSON` makes of it: safe integers and fractions are `number`, `null`, `[]` and unknown keys stay.
 *
 * @see contract section 3, row "integers"
 */

/** Engines newer than the type library know the source text of a number and can write raw text. */
interface SourceAwareJson {
  readonly rawJSON: (text: string) => unknown
}
type Reviver = (key: string, value: unknown, context?: { readonly source?: string }) => unknown

const INTEGER = /^-?\d+$/
/** An integer value of 16 digits or more: rarely one that only looks like it, inside a string. */
const LONG_INTEGER = /([:,[]\s*)(-?\d{16,})(?=\s*[,\]}])/g
/** Marks a long integer while the engine's own parser does the work; not JSON by itself when it lands inside a string. */
const MARK = "~portolan:integer:"
const MARK_FIRST = MARK.charCodeAt(0)

const exact = (digits: string): number | bigint => {
  const value = Number(digits)
  return Number.isSafeInteger(value) ? value : BigInt(digits)
}

const reviveExactly: Reviver = (_key, value, context) =>
  typeof value === "number" && context?.source !== undefined && INTEGER.test(context.source)
    ? Number.isSafeInteger(value)
      ? value
      : BigInt(context.source)
    : value

const restored = (value: unknown): unknown => {
  if (typeof value === "object") {
    if (value !== null) restore(value as Record<string, unknown>)
    return value
  }
  return typeof value === "string" && value.charCodeAt(0) === MARK_FIRST && value.startsWith(MARK)
    ? exact(value.slice(MARK.length))
    : value
}

/** Replaces marks by integers in place: the tree was made by the parser a moment ago and nobody else holds it. */
const restore = (holder: Record<string, unknown> | Array<unknown>): void => {
  if (Array.isArray(holder)) {
    for (let index = 0; index < holder.length; index++) holder[index] = restored(holder[index])
    return
  }
  for (const key in holder) {
    const value = holder[key]
    const next = restored(value)
    if (next !== value) holder[key] = next
  }
}

/**
 * Reads a JSON text.
 *
 * Long texts are the reason for the marks: asking the engine for the source of every value costs five times the parse.
 * A mark inside a string breaks the text, and then the slow exact way is taken.
 *
 * @throws {SyntaxError} when `text` is not JSON
 */
export const parseLossless = (text: string): unknown => {
  if (!/\d{16}/.test(text)) return JSON.parse(text)
  if (!text.includes(MARK)) {
    try {
      const holder = [JSON.parse(text.replace(LONG_INTEGER, `$1"${MARK}$2"`)) as unknown]
      restore(holder)
      if (typeof holder[0] !== "number") return holder[0]
    } catch {
      // Either the text is not JSON, or a mark fell into a string: the exact reader tells which.
    }
  }
  return JSON.parse(text, reviveExactly as (key: string, value: unknown) => unknown)
}

/**
 * Writes a value as JSON.
 *
 * @param indent blanks per level; everything on one line when omitted
 * @throws {TypeError} on a cycle, and on `NaN` or an infinity, which `JSON` would silently write as `null`
 */
export const stringifyLossless = (value: unknown, indent?: number): string => {
  const write = (_key: string, each: unknown) => {
    if (typeof each === "bigint") return (JSON as unknown as SourceAwareJson).rawJSON(each.toString())
    if (typeof each === "number" && !Number.isFinite(each)) throw new TypeError(`${each} has no JSON form`)
    return each
  }
  return JSON.stringify(value, write, indent)
}
