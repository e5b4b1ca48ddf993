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
/** 2^53 has 16 digits. */
const LONG_DIGITS = /\d{16,}/g
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

const isBlank = (character: string | undefined): boolean =>
  character === " " || character === "\n" || character === "\r" || character === "\t"

/** True when what stands between `start` and `end` is a whole value: rarely one that only looks like it, inside a string. */
const isValue = (text: string, start: number, end: number): boolean => {
  let before = start - 1
  while (isBlank(text[before])) before--
  if (text[before] !== ":" && text[before] !== "," && text[before] !== "[") return false
  let after = end
  while (isBlank(text[after])) after++
  return text[after] === "," || text[after] === "}" || text[after] === "]"
}

/** The text with every long integer as a marked string, and how many there are. */
const marked = (text: string): { readonly text: string; readonly marks: number } => {
  let result = ""
  let from = 0
  let marks = 0
  for (const { 0: digits, index } of text.matchAll(LONG_DIGITS)) {
    const start = text[index - 1] === "-" ? index - 1 : index
    const end = index + digits.length
    if (!isValue(text, start, end)) continue
    result += `${text.slice(from, start)}"${MARK}${text.slice(start, end)}"`
    from = end
    marks++
  }
  return { text: marks === 0 ? text : result + text.slice(from), marks }
}

/** Puts integers back where marks stand, in place: the parser made the tree a moment ago and nobody else holds it. */
class Restorer {
  /** Marks still to be found: the walk ends with the last one. */
  #left: number

  constructor(marks: number) {
    this.#left = marks
  }

  value(value: unknown): unknown {
    if (typeof value === "object") {
      if (value !== null) this.#members(value as Record<string, unknown>)
      return value
    }
    if (typeof value !== "string" || value.charCodeAt(0) !== MARK_FIRST || !value.startsWith(MARK)) return value
    this.#left--
    return exact(value.slice(MARK.length))
  }

  #members(holder: Record<string, unknown> | Array<unknown>): void {
    if (Array.isArray(holder)) {
      for (let index = 0; index < holder.length && this.#left > 0; index++) holder[index] = this.value(holder[index])
      return
    }
    for (const key in holder) {
      if (this.#left === 0) return
      const value = holder[key]
      const next = this.value(value)
      if (next !== value) holder[key] = next
    }
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
      const { text: markedText, marks } = marked(text)
      const value = new Restorer(marks).value(JSON.parse(markedText))
      if (typeof value !== "number") return value
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
