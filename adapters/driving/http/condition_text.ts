// The text of a condition: an operator, a dot, and a value that the field's kind reads.
import { Result } from "effect"
import { InvalidQuery } from "../../../domain/records/errors.ts"
import type { WantedCondition } from "../../../domain/records/list_query.ts"
import type { Comparison, Scalar } from "../../../domain/records/query.ts"
import type { FieldKind, QueryField } from "../../../domain/records/query_field.ts"

/** An operator and the rest of the text. */
const CONDITION_REGEXP = /^(eq|neq|gt|gte|lt|lte|like|in|is)\.(.*)$/s

/** A number as JSON writes one (RFC 8259 section 6). */
export const NUMBER_PATTERN = "-?(?:0|[1-9]\\d*)(?:\\.\\d+)?(?:[eE][+-]?\\d+)?"

const NUMBER_REGEXP = new RegExp(`^${NUMBER_PATTERN}$`)

/** One value of a list and what ends it: quoted, with `\"` and `\\` inside, or bare, without quotes and commas. */
const ITEM_REGEXP = /(?:"((?:[^"\\]|\\["\\])*)"|([^",]+))(,|$)/sy

const READ: Readonly<Record<FieldKind, (text: string) => Scalar | undefined>> = {
  // `-0` is 0 in every record, too.
  number: (text) => (NUMBER_REGEXP.test(text) ? Number(text) + 0 : undefined),
  text: (text) => text,
  flag: (text) => ({ true: true, false: false })[text],
}

const KINDS: Readonly<Record<FieldKind, string>> = {
  number: "a decimal number",
  text: "a text",
  flag: "true or false",
}

/** The texts of a list in brackets; nothing when it cannot be read. */
const itemsOf = (text: string): ReadonlyArray<string> | undefined => {
  if (!text.startsWith("(") || !text.endsWith(")")) return undefined
  const list = text.slice(1, -1)
  const items: Array<string> = []
  ITEM_REGEXP.lastIndex = 0
  for (;;) {
    const [, quoted, bare = "", end] = ITEM_REGEXP.exec(list) ?? []
    if (end === undefined) return undefined
    items.push(quoted === undefined ? bare : quoted.replace(/\\(["\\])/g, "$1"))
    if (end === "") return items
  }
}

/** The condition that a parameter's value asks for, or why it cannot be read. */
export const readCondition = (
  { name, kind }: QueryField,
  text: string,
): Result.Result<WantedCondition, InvalidQuery> => {
  const refuse = (rule: string) => Result.fail(new InvalidQuery({ parameter: name, rule }))
  const [, operator, rest = ""] = CONDITION_REGEXP.exec(text) ?? []
  switch (operator) {
    case undefined:
      return refuse("must begin with an operator and a dot: eq, neq, gt, gte, lt, lte, like, in or is")
    case "is":
      return rest === "null"
        ? Result.succeed({ field: name, operator, value: null })
        : refuse("must be 'null' after 'is.'")
    case "like":
      return Result.succeed({ field: name, operator, value: rest })
    case "in": {
      const items = itemsOf(rest)
      if (items === undefined) return refuse("must have a list after 'in.', such as (a,b), commas and quotes in quotes")
      const values = items.map(READ[kind])
      return values.every((value) => value !== undefined)
        ? Result.succeed({ field: name, operator, value: values })
        : refuse(`must be compared with values that are each ${KINDS[kind]}`)
    }
    default: {
      const value = READ[kind](rest)
      return value === undefined
        ? refuse(`must be compared with ${KINDS[kind]}`)
        : Result.succeed({ field: name, operator: operator as Comparison, value })
    }
  }
}
