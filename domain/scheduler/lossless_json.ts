/**
 * JSON whose integers keep every digit: an integer outside ±(2^53-1) is read as `bigint` and written with the same digits.
 *
 * Everything else is what `JSON` makes of it: safe integers and fractions are `number`, `null`, `[]` and unknown keys stay.
 *
 * @see specification 13, row "integers"
 */

/** Deepest nesting that is written: the runtime's writer calls itself for each level, and its search for cycles takes longer with each. */
const WRITTEN_DEPTH_MAX = 1000

/** A whole value of 16 digits or more (2^53 has 16). It may also match inside a string. */
const LONG_INTEGER = /((?:^|[:,[])\s*)(-?[1-9]\d{15,})(?=\s*(?:$|[,}\]]))/g

const exactInteger = (digits: string): number | bigint => {
  const value = Number(digits)
  return Number.isSafeInteger(value) ? value : BigInt(digits)
}

/** Where the string ends that begins at this quote: after its last quote, or at the end of the text. */
const endOfString = (text: string, begin: number): number => {
  for (let at = text.indexOf('"', begin + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let first = at
    while (text[first - 1] === "\\") first--
    // An even number of backslashes stands for themselves; an odd one takes the quote along.
    if ((at - first) % 2 === 0) return at + 1
  }
  return text.length
}

/** The text with its long integers written as strings that begin with the mark. */
const marked = (text: string, mark: string): string => text.replace(LONG_INTEGER, `$1"${mark}$2"`)

/** The same, with the text's own strings left as they are. */
const markedBetweenStrings = (text: string, mark: string): string => {
  const pieces: Array<string> = []
  for (let at = 0; at < text.length; ) {
    const quote = text.indexOf('"', at)
    const end = quote < 0 ? text.length : quote
    pieces.push(marked(text.slice(at, end), mark))
    at = quote < 0 ? end : endOfString(text, quote)
    pieces.push(text.slice(end, at))
  }
  return pieces.join("")
}

const isContainer = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null

/** Replaces marked strings by their integers, inside the value itself: the parser has just made it, nobody else holds it. */
const withoutMarks = (root: unknown, mark: string): unknown => {
  const exact = (value: unknown) =>
    typeof value === "string" && value.startsWith(mark) ? exactInteger(value.slice(mark.length)) : value
  const waiting = [root].filter(isContainer)
  for (let members = waiting.pop(); members !== undefined; members = waiting.pop())
    for (const key in members) {
      const member = members[key]
      if (isContainer(member)) waiting.push(member)
      else if (typeof member === "string" && member.startsWith(mark)) members[key] = exact(member)
    }
  return exact(root)
}

/**
 * Reads a JSON text, in time in proportion to its length, however deep it is.
 *
 * Long integers go through the runtime's parser as strings that begin with a mark. The mark is made after the text, so no
 * string of the text begins with it. A mark that falls into a string breaks the text there; then strings are told apart
 * first, which on an answer of megabytes takes three times as long.
 *
 * @throws {SyntaxError} when `text` is not JSON
 */
export const parseLossless = (text: string): unknown => {
  if (!/\d{16}/.test(text)) return JSON.parse(text)
  const mark = `~${Math.random()}~${Math.random()}~`
  let value: unknown
  try {
    value = JSON.parse(marked(text, mark))
  } catch {
    // The text is not JSON, or a mark fell into a string: the second attempt tells which.
    value = JSON.parse(markedBetweenStrings(text, mark))
  }
  return withoutMarks(value, mark)
}

/**
 * True when lists and objects are nested deeper than this; the outermost one is level 1. A value that holds itself is
 * deeper than any level.
 */
export const isDeeperThan = (levels: number, root: unknown): boolean => {
  const waiting = [{ value: root, level: 1 }]
  for (let each = waiting.pop(); each !== undefined; each = waiting.pop()) {
    const { value, level } = each
    if (!isContainer(value)) continue
    if (level > levels) return true
    for (const key in value) if (isContainer(value[key])) waiting.push({ value: value[key], level: level + 1 })
  }
  return false
}

/** `JSON.rawJSON` of ECMAScript 2026, which the type library does not know yet. */
const { rawJSON } = JSON as typeof JSON & { readonly rawJSON: (text: string) => unknown }

/**
 * Writes a value as JSON.
 *
 * @param indent blanks per level; everything on one line when omitted
 * @throws {TypeError} on a cycle, on nesting deeper than 1,000 levels, and on `NaN` or an infinity, which `JSON` would
 *   silently write as `null`
 */
export const stringifyLossless = (value: unknown, indent?: number): string => {
  if (isDeeperThan(WRITTEN_DEPTH_MAX, value)) throw new TypeError("A cycle, or nesting too deep, has no JSON form")
  const write = (_key: string, each: unknown) => {
    if (typeof each === "bigint") return rawJSON(each.toString())
    if (typeof each === "number" && !Number.isFinite(each)) throw new TypeError(`${each} has no JSON form`)
    return each
  }
  return JSON.stringify(value, write, indent)
}
