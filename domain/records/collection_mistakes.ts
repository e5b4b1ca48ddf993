import type { TObject } from "typebox"
import { Check, Errors } from "typebox/schema"
import { type Issue, memberPointer } from "../issue.ts"
import { isObject, type JsonObject } from "../json_object.ts"
import { assignedFields } from "./assigned_fields.ts"
import { isBlank, isRequiredText } from "./blank_text.ts"
import { TEXT_LENGTH_MAX } from "./bounded_schema.ts"
import { cleanJson, DEPTH_MAX, isReservedKey } from "./json_hygiene.ts"
import type { PatternJudge } from "./pattern_judge.ts"
import { queryFieldsOf } from "./query_field.ts"
import { DEFINITION_SCHEMA, IN_PLACE, partsOf } from "./schema_keywords.ts"
import { withoutReferences } from "./schema_references.ts"
import { indexNames } from "./stored_shape.ts"
import { possiblyUnique } from "./unique_fields.ts"

/** Of the lists among the allowed values only the rule is said: there is one for each type. */
const choices = (allowed: ReadonlyArray<unknown>): string =>
  allowed.filter((each) => typeof each === "string").join(", ") +
  (allowed.some(Array.isArray) ? ", or a list of one of them and 'null'" : "")

/** What breaks the form of a definition, keyword by keyword. Nothing is compiled: each definition is judged once. */
const formIssues = (definition: unknown): ReadonlyArray<Issue> =>
  Check(DEFINITION_SCHEMA, definition)
    ? []
    : Errors(DEFINITION_SCHEMA, definition)[1].flatMap((error): ReadonlyArray<Issue> => {
        const at = error.instancePath
        switch (error.keyword) {
          // The only `false` in the form is that of names it does not have; an object of schemas is reported a second time.
          case "boolean":
            return [{ pointer: at, message: at.startsWith("/fields") ? "is not a supported keyword" : "is not known" }]
          case "additionalProperties":
            return []
          case "required":
            return error.params.requiredProperties.map((name) => ({ pointer: `${at}/${name}`, message: "is required" }))
          case "enum":
            return [{ pointer: at, message: `must be one of ${choices(error.params.allowedValues)}` }]
          default:
            return [{ pointer: at, message: error.message }]
        }
      })

/** Names of the properties that a schema and those that judge the same value define. */
const namesIn = (schema: unknown): ReadonlyArray<string> =>
  isObject(schema)
    ? [
        ...Object.keys(isObject(schema["properties"]) ? schema["properties"] : {}),
        ...partsOf(schema)
          .filter(({ keyword }) => IN_PLACE.has(keyword))
          .flatMap((part) => namesIn(part.schema)),
      ]
    : []

const patternIssue = (pattern: string, judge: PatternJudge): string | undefined => {
  try {
    new RegExp(pattern, "u")
  } catch {
    return "is not a regular expression (ECMA-262, flag u)"
  }
  return judge(pattern)
}

/** What no value of a schema could ever satisfy, or what could block the service. */
const ruleIssues = (schema: JsonObject, pointer: string, names: ReadonlySet<string>, judge: PatternJudge) => {
  const issues: Array<Issue> = []
  const add = (at: string, message: string | undefined) => {
    if (message !== undefined) issues.push({ pointer: `${pointer}${at}`, message })
  }
  const { properties, patternProperties = {}, required = [], pattern } = schema
  const patterns = Object.keys(patternProperties as JsonObject)
  for (const name of isObject(properties) ? Object.keys(properties) : [])
    if (isReservedKey(name) || name in Object.prototype) add(memberPointer("/properties", name), "is a reserved name")
  for (const each of patterns) add(memberPointer("/patternProperties", each), patternIssue(each, judge))
  if (typeof pattern === "string") add("/pattern", patternIssue(pattern, judge))
  if (issues.length > 0) return issues
  for (const name of required as ReadonlyArray<string>)
    if (!names.has(name) && !patterns.some((each) => new RegExp(each, "u").test(name)))
      add("/required", `names '${name}', which is no property`)
  if (schema["format"] !== undefined && Number(schema["maxLength"] ?? 0) > TEXT_LENGTH_MAX)
    add("/maxLength", `must be at most ${TEXT_LENGTH_MAX} beside 'format'`)
  return issues
}

const NONE: ReadonlySet<string> = new Set()

const schemaIssues = (
  schema: unknown,
  pointer: string,
  outerNames: ReadonlySet<string>,
  judge: PatternJudge,
  depth = 1,
): ReadonlyArray<Issue> => {
  if (!isObject(schema)) return []
  if (depth > DEPTH_MAX) return [{ pointer, message: `must not be nested deeper than ${DEPTH_MAX} levels` }]
  const names = new Set([...outerNames, ...namesIn(schema)])
  return [
    ...ruleIssues(schema, pointer, names, judge),
    ...partsOf(schema).flatMap((part) =>
      schemaIssues(part.schema, pointer + part.pointer, IN_PLACE.has(part.keyword) ? names : NONE, judge, depth + 1),
    ),
  ]
}

/** Fields that the server assigns, and roles of operations that no route has. */
const optionIssues = (definition: JsonObject): ReadonlyArray<Issue> => {
  const { fields, roles = {}, updates = [] } = definition
  const properties = isObject(fields) && isObject(fields["properties"]) ? fields["properties"] : {}
  const asked = updates as ReadonlyArray<string>
  return [
    ...assignedFields(definition)
      .filter((name) => Object.hasOwn(properties, name))
      .map((name) => ({
        pointer: `/fields/properties/${name}`,
        message: "must not be defined: the server assigns it",
      })),
    ...["replace", "patch"]
      .filter((update) => Object.hasOwn(roles as JsonObject, update) && !asked.includes(update))
      .map((update) => ({ pointer: `/roles/${update}`, message: `is of no use: 'updates' does not name '${update}'` })),
  ]
}

/** Indexes that no store could make, or that a store has anyway. */
const indexIssues = (definition: JsonObject): ReadonlyArray<Issue> => {
  const known = queryFieldsOf({
    fields: definition["fields"] as TObject,
    timestamps: definition["timestamps"] === true,
  })
  const declared = ((definition["indexes"] ?? []) as ReadonlyArray<string | ReadonlyArray<string>>).map(indexNames)
  const issueOf = (names: ReadonlyArray<string>, at: number): string | undefined => {
    const unknown = names.find((name) => !known.has(name))
    if (unknown !== undefined) return `names '${unknown}', which is no field of texts, numbers or flags alone`
    if (names.includes("id")) return "names 'id', which every index ends with"
    const same = declared.findIndex((each) => each.join() === names.join())
    return same < at ? "is declared twice" : undefined
  }
  return declared.flatMap((names, at) => {
    const message = issueOf(names, at)
    return message === undefined ? [] : [{ pointer: `/indexes/${at}`, message }]
  })
}

/** Unique fields that no store could keep apart. */
const uniqueIssues = (definition: JsonObject): ReadonlyArray<Issue> => {
  const known = possiblyUnique(definition["fields"] as TObject)
  return ((definition["unique"] ?? []) as ReadonlyArray<string>).flatMap((name, at) =>
    known.has(name)
      ? []
      : [{ pointer: `/unique/${at}`, message: `names '${name}', which is no field of texts or numbers alone` }],
  )
}

/** Defaults that a create would be refused for. */
const defaultIssues = (schema: unknown, pointer: string): ReadonlyArray<Issue> => {
  if (!isObject(schema)) return []
  const own: Array<Issue> = []
  if ("default" in schema) {
    const at = `${pointer}/default`
    const value = cleanJson(schema["default"], own, at)
    if (own.length === 0 && !Check(schema, value))
      own.push({ pointer: at, message: "is refused by the rules beside it" })
    if (own.length === 0 && isRequiredText(schema) && isBlank(value))
      own.push({ pointer: at, message: "must not be blank" })
  }
  return [...own, ...partsOf(schema).flatMap((part) => defaultIssues(part.schema, pointer + part.pointer))]
}

/**
 * Everything that is wrong with the definition of a collection: its form, and rules that could never hold or never end.
 *
 * @param definition what the author wrote: an object with `name`, `fields` and what else a collection may ask for
 * @param judge of the patterns in it; each is judged once
 */
export const collectionMistakes = (definition: unknown, judge: PatternJudge): ReadonlyArray<Issue> => {
  const judged = new Map<string, string | undefined>()
  const judgeOnce: PatternJudge = (pattern) => {
    if (!judged.has(pattern)) judged.set(pattern, judge(pattern))
    return judged.get(pattern)
  }
  try {
    // The author's text, without what TypeBox hides in a schema.
    const plain: unknown = JSON.parse(JSON.stringify(definition))
    const form = formIssues(plain)
    if (form.length > 0 || !isObject(plain)) return form
    const references: Array<Issue> = []
    const fields = withoutReferences(plain["fields"] as JsonObject, references)
    if (references.length > 0) return references
    const rules = [...optionIssues(plain), ...schemaIssues(fields, "/fields", NONE, judgeOnce)]
    return rules.length > 0
      ? rules
      : [
          ...indexIssues({ ...plain, fields }),
          ...uniqueIssues({ ...plain, fields }),
          ...defaultIssues(fields, "/fields"),
        ]
  } catch (failure) {
    if (failure instanceof RangeError) return [{ pointer: "/fields", message: "is nested too deeply" }]
    if (failure instanceof TypeError) return [{ pointer: "/fields", message: "is not JSON" }]
    throw failure
  }
}
