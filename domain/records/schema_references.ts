import { type Issue, memberPointer } from "../issue.ts"
import { isObject, type JsonObject } from "../json_object.ts"
import { changed, withParts } from "./schema_keywords.ts"

/** Most schemas that references may put in the place of each other: a few definitions of definitions would make millions. */
const SCHEMAS_MAX = 10_000

/** What a reference may have beside it: it says nothing about the value. */
const BESIDE: ReadonlySet<string> = new Set([
  "$ref",
  "$comment",
  "title",
  "description",
  "default",
  "examples",
  "deprecated",
])

const TARGET_REGEXP = /^#\/\$defs\/([^/%~]+)$/

/**
 * Puts every schema of `$defs` in the place of the references to it, so that all who read the schema find rules, not names.
 *
 * A schema that leads back to itself is refused: a record has 32 levels at most, and no rule could be shown for each of them.
 *
 * @param fields the schema of a collection's fields, in the form of DEFINITION_SCHEMA
 * @param issues where broken rules are added
 * @returns the schema without `$defs` and `$ref`
 * @see JSON Schema 2020-12, core, sections 8.2.3.1 and 8.2.4
 */
export const withoutReferences = <S extends object>(fields: S, issues: Array<Issue>): S => {
  const definitions = "$defs" in fields && isObject(fields.$defs) ? fields.$defs : {}
  let schemas = 0

  /** A definition is walked once for each reference to it; what is wrong in it is said once. */
  const broken = (at: string, message: string): void => {
    if (!issues.some((each) => each.pointer === at && each.message === message)) issues.push({ pointer: at, message })
  }

  const resolve = (schema: unknown, pointer: string, path: ReadonlyArray<string>): unknown => {
    if (!isObject(schema)) return schema
    if (++schemas > SCHEMAS_MAX) {
      broken("/fields", `has more than ${SCHEMAS_MAX} schemas once '$ref' is followed`)
      return {}
    }
    if ("$defs" in schema && pointer !== "/fields") broken(`${pointer}/$defs`, "is only known at the top of 'fields'")
    if (!("$ref" in schema))
      return withParts(schema, (part) => resolve(part.schema, pointer + part.pointer, path), ["$defs"])
    return follow(schema, pointer, path)
  }

  const follow = (schema: JsonObject, pointer: string, path: ReadonlyArray<string>): unknown => {
    const refuse = (message: string): object => {
      broken(`${pointer}/$ref`, message)
      return {}
    }
    const name = TARGET_REGEXP.exec(String(schema["$ref"]))?.[1]
    if (name === undefined) return refuse("must be '#/$defs/<name>'")
    if (!Object.hasOwn(definitions, name)) return refuse("names no schema of '$defs'")
    if (path.includes(name)) return refuse("leads back to itself")
    const beside = Object.keys(schema).find((keyword) => !BESIDE.has(keyword))
    if (beside !== undefined) return refuse(`must not stand beside '${beside}'`)
    const target = resolve(definitions[name], memberPointer("/fields/$defs", name), [...path, name])
    if (!isObject(target)) return target
    const { $ref: _, ...said } = schema
    return changed(target, said)
  }

  return resolve(fields, "/fields", []) as S
}
