import type { TObject } from "typebox"
import { Compile } from "typebox/schema"
import { changeAll, changed } from "./schema_keywords.ts"

/**
 * Longest text, in code points, that is held against a `pattern` or a `format`, unless the author says otherwise: what such a
 * rule costs grows with the length of what a stranger sends.
 */
export const TEXT_LENGTH_MAX = 4_096

/** The schema, with a `maxLength` of {@link TEXT_LENGTH_MAX} beside every `pattern` and `format` that has none. */
export const withBounds = (fields: TObject): TObject =>
  changeAll(fields, (schema) =>
    (schema["pattern"] === undefined && schema["format"] === undefined) || schema["maxLength"] !== undefined
      ? schema
      : changed(schema, { maxLength: TEXT_LENGTH_MAX }),
  ) as TObject

/** Rules whose cost grows with the value, and what is said when one is broken. */
const COSTLY: Readonly<Record<string, (rule: unknown) => string>> = {
  pattern: (pattern) => `must match pattern "${pattern}"`,
  format: (format) => `must match format "${format}"`,
  uniqueItems: () => "must not have duplicate items",
}

/**
 * The same rules for the validator, costly ones as refinements, which are asked when every other rule of their schema holds.
 * To name all broken rules, the validator would ask for the pattern of a text that is already too long; and it would name
 * duplicate items in a time that grows with the square of their number.
 */
export const withCostlyRulesLast = (fields: TObject): TObject =>
  changeAll(fields, (schema) => {
    const rules = Object.entries(COSTLY).flatMap(([keyword, said]) => {
      const rule = schema[keyword]
      if (rule === undefined) return []
      const validator = Compile({ [keyword]: rule })
      return [{ check: (value: unknown) => validator.Check(value), error: () => said(rule) }]
    })
    if (rules.length === 0) return schema
    const { "~refine": refinements = [] } = schema
    return changed(
      schema,
      { "~refine": [...(Array.isArray(refinements) ? refinements : []), ...rules] },
      Object.keys(COSTLY),
    )
  }) as TObject
