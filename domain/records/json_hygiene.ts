import type { Issue } from "../issue.ts"

/** Deepest nesting a record may have; the record itself is level 1. */
export const DEPTH_MAX = 32

/** Issues reported at most for one record, so that a hostile body cannot ask for a huge answer. */
export const ISSUES_MAX = 50

/** Keys that a prototype, a BSON serializer or a query language would give a meaning of its own. */
const RESERVED_KEYS = new Set(["__proto__", "constructor", "prototype", "_bsontype"])

/** True for a key that no record may have, at any depth. */
export const isReservedKey = (key: string): boolean =>
  RESERVED_KEYS.has(key) || key.startsWith("$") || key.includes(".") || key.includes("\0")

/** Keys that may be repeated in an answer: a key is submitted text too. */
const NAMEABLE_KEY_REGEXP = /^[A-Za-z_$][\w$.-]{0,63}$/

/** True for a name that may be repeated in an answer. */
export const isNameable = (name: string): boolean => NAMEABLE_KEY_REGEXP.test(name)

/** The pointer of a member. A key that could be hostile text is left out, and the pointer then names the object. */
export const keyPointer = (pointer: string, key: string): string => (isNameable(key) ? `${pointer}/${key}` : pointer)

const textIssue = (text: string): string | undefined => {
  if (text.includes("\0")) return "must not contain NUL"
  if (!text.isWellFormed()) return "must not contain lone surrogates"
  return undefined
}

/**
 * Copies a JSON value, and notes what no store may ever see: reserved keys at any depth, NUL and lone surrogates,
 * numbers that are not finite, nesting over {@link DEPTH_MAX}. `-0` becomes `0`: stores and JSON disagree about it.
 *
 * @param value a parsed JSON value
 * @param issues where broken rules are added, {@link ISSUES_MAX} at most
 */
export const cleanJson = (value: unknown, issues: Array<Issue>, pointer = "", depth = 1): unknown => {
  const broken = (message: string, at = pointer) => {
    if (issues.length < ISSUES_MAX) issues.push({ pointer: at, message })
  }
  if (typeof value === "string") {
    const issue = textIssue(value)
    if (issue !== undefined) broken(issue)
    return value
  }
  if (typeof value === "number") {
    if (!Number.isFinite(value)) broken("must be a finite number")
    return value === 0 ? 0 : value
  }
  if (typeof value !== "object" || value === null) return value
  if (depth > DEPTH_MAX) {
    broken(`must not be nested deeper than ${DEPTH_MAX} levels`)
    return null
  }
  if (Array.isArray(value))
    return value.map((item: unknown, at) => cleanJson(item, issues, `${pointer}/${at}`, depth + 1))
  const copy: Record<string, unknown> = {}
  for (const [key, member] of Object.entries(value)) {
    const at = keyPointer(pointer, key)
    if (isReservedKey(key)) broken("is a reserved key", at)
    else if (!key.isWellFormed()) broken("has a key with lone surrogates", at)
    else copy[key] = cleanJson(member, issues, at, depth + 1)
  }
  return copy
}
