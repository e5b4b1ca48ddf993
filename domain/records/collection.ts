import { Effect } from "effect"
import type { Static, TObject } from "typebox"
import { Compile } from "typebox/schema"
import type { Issue } from "../issue.ts"
import { isObject, type JsonObject } from "../json_object.ts"
import { ASSIGNED, assignedFields } from "./assigned_fields.ts"
import { isBlank, isRequiredText } from "./blank_text.ts"
import { withBounds, withCostlyRulesLast } from "./bounded_schema.ts"
import { collectionMistakes } from "./collection_mistakes.ts"
import { InvalidCollectionSetup, InvalidRecord } from "./errors.ts"
import { cleanJson, ISSUES_MAX, keyPointer } from "./json_hygiene.ts"
import { type PatternJudge, refuseEveryPattern } from "./pattern_judge.ts"
import type { Fields } from "./record_repository.ts"
import { changed } from "./schema_keywords.ts"
import { withoutReferences } from "./schema_references.ts"

/** Operations that a collection has when it asks for them. */
export type Update = "replace" | "patch"

/** The four operations of a collection (specification 4.1), and those it may ask for. */
export type Operation = "list" | "get" | "create" | "delete" | "changes" | Update

/** What a collection may ask for beside its fields. */
export interface CollectionOptions {
  /** Realm roles per operation: any one of them is enough. An operation not named needs a token only. */
  readonly roles?: { readonly [operation in Operation]?: ReadonlyArray<string> }
  /** Fields, or lists of fields, by which the store is to find and sort records without reading all of them. */
  readonly indexes?: ReadonlyArray<string | ReadonlyArray<string>>
  /** Fields of which no two records may have the same value. Records without the field, or with `null`, do not count. */
  readonly unique?: ReadonlyArray<string>
  /** Ways to change a record: `replace` is PUT, `patch` is PATCH. None when omitted. */
  readonly updates?: ReadonlyArray<Update>
  /** True when nobody may replace, patch or delete a record without saying, by `If-Match`, which state of it he means. */
  readonly requireMatch?: boolean
  /** True when the server notes in `createdAt` and `updatedAt` when a record was created and last changed. */
  readonly timestamps?: boolean
  /** True to keep a log of the collection's changes, which clients may follow. Every write then costs more. */
  readonly changes?: boolean
}

/** What an integrator writes to get a new record type. */
export interface CollectionDefinition<S extends TObject> extends CollectionOptions {
  /** Plural path segment: lower-case letters, digits, `-`, `_`; at most 63 characters. */
  readonly name: string
  /** JSON Schema of the fields without `id`, as a TypeBox object. Unknown fields are always refused. */
  readonly fields: S
}

/** What is known of a record type without its TypeScript type. */
export interface CollectionShape extends CollectionOptions {
  readonly name: string
  /** Schema of what a client may submit. */
  readonly fields: TObject
  readonly roles: NonNullable<CollectionOptions["roles"]>
}

/** A record type: its name, its schema, and the one judgement over submitted fields. */
export interface Collection<F extends object = Fields> extends CollectionShape {
  /**
   * Turns untrusted input into fields: a clean copy, defaults filled in.
   *
   * @fails {InvalidRecord} naming every broken rule by JSON Pointer, never a value
   */
  readonly check: (input: unknown) => Effect.Effect<F, InvalidRecord>
}

/** Whoever follows the changes sees every record: where that is not said, it takes the roles that a list takes. */
const followers = ({ list, changes = list }: CollectionShape["roles"]): CollectionShape["roles"] =>
  changes === undefined ? {} : { changes }

type Members = JsonObject

const membersOf = (schema: JsonObject): Members | undefined =>
  isObject(schema["properties"]) ? schema["properties"] : undefined

/** Fills in what is missing and has a `default`, in the record and in objects inside it. */
const fillDefaults = (members: Members, record: Record<string, unknown>): void => {
  for (const [key, schema] of Object.entries(members)) {
    if (!isObject(schema)) continue
    const value = record[key]
    const nested = membersOf(schema)
    if (value === undefined && "default" in schema) record[key] = cleanJson(schema["default"], [])
    else if (nested !== undefined && isObject(value)) fillDefaults(nested, value as Record<string, unknown>)
  }
}

type Validator = ReturnType<typeof Compile>
type SchemaIssue = ReturnType<Validator["Errors"]>[1][number]

/** A schema error as issues. The validator reports an unknown field twice; the nameless report is dropped. */
const toIssues = (error: SchemaIssue, pointer: string): ReadonlyArray<Issue> => {
  const at = pointer + error.instancePath
  switch (error.keyword) {
    case "boolean":
      return []
    case "required":
      return error.params.requiredProperties.map((key) => ({ pointer: `${at}/${key}`, message: "is required" }))
    case "additionalProperties":
      return error.params.additionalProperties.map((key) => ({
        pointer: keyPointer(at, String(key)),
        message: "is not a field of this record",
      }))
    default:
      return [{ pointer: at, message: error.message }]
  }
}

/**
 * Everything a record breaks, field by field: the validator alone stops after a few errors, and a client should see all.
 * Rules that span fields (`anyOf` of the whole record) are asked only when every field is fine by itself.
 */
const fieldIssues = (
  fields: TObject,
  whole: Validator,
  byField: ReadonlyMap<string, Validator>,
  assigned: ReadonlyArray<string>,
  record: Readonly<Record<string, unknown>>,
): ReadonlyArray<Issue> => {
  const issues: Array<Issue> = []
  for (const key of Object.keys(record))
    if (!byField.has(key))
      issues.push({
        pointer: keyPointer("", key),
        message: assigned.includes(key) ? ASSIGNED : "is not a field of this record",
      })
  for (const key of fields.required ?? [])
    if (!(key in record)) issues.push({ pointer: `/${key}`, message: "is required" })
  for (const [key, validator] of byField)
    if (key in record && !validator.Check(record[key]))
      issues.push(...validator.Errors(record[key])[1].flatMap((error) => toIssues(error, `/${key}`)))
  if (issues.length === 0) issues.push(...whole.Errors(record)[1].flatMap((error) => toIssues(error, "")))
  // A field whose schema is `false` has a nameless report only, and is broken all the same.
  return issues.length > 0 ? issues : [{ pointer: "", message: "breaks a rule of the collection's schema" }]
}

/** Every rule of a record, in general and field by field. */
const compile = (collection: string, fields: TObject) => {
  const ordered = withCostlyRulesLast(fields)
  try {
    const whole = Compile(ordered)
    // The validator's code is made by its first run: only then does it show that there is too much of it.
    whole.Check({})
    return {
      ordered,
      whole,
      byField: new Map(Object.entries(ordered.properties).map(([key, each]) => [key, Compile(each)])),
    }
  } catch (failure) {
    if (!(failure instanceof RangeError)) throw failure
    throw new InvalidCollectionSetup({ collection, issues: [{ pointer: "/fields", message: "has too many rules" }] })
  }
}

/**
 * Defines a record type.
 *
 * A text field with a `pattern` or a `format` and no `maxLength` gets one, and an array of unique items a `maxItems`.
 *
 * @param judge of the patterns in the schema; without one, a schema with patterns is refused
 * @throws {InvalidCollectionSetup} naming every place and rule that can never work: a mistake of the integrator
 * @see specification 2.1 and 4.1
 */
export const defineCollection = <S extends TObject>(
  definition: CollectionDefinition<S>,
  judge: PatternJudge = refuseEveryPattern,
): Collection<Static<S>> => {
  const {
    name,
    roles = {},
    indexes = [],
    unique = [],
    updates = [],
    requireMatch = false,
    timestamps = false,
    changes = false,
  } = definition
  const issues = collectionMistakes(definition, judge)
  if (issues.length > 0) throw new InvalidCollectionSetup({ collection: String(name), issues })
  const plain = withoutReferences(definition.fields, [])
  const fields = withBounds(changed<TObject>(plain, { additionalProperties: false }))
  const { ordered, whole, byField } = compile(name, fields)
  const members: Members = fields.properties
  const assigned = assignedFields(definition)
  const texts = Object.entries(members).flatMap(([key, each]) => (isObject(each) && isRequiredText(each) ? [key] : []))
  const invalid = (broken: ReadonlyArray<Issue>) =>
    Effect.fail(new InvalidRecord({ collection: name, issues: broken.slice(0, ISSUES_MAX) }))

  const check = (input: unknown): Effect.Effect<Static<S>, InvalidRecord> => {
    if (!isObject(input)) return invalid([{ pointer: "", message: "must be an object" }])
    const broken: Array<Issue> = []
    const record = cleanJson(input, broken) as Record<string, unknown>
    fillDefaults(members, record)
    if (!whole.Check(record)) broken.push(...fieldIssues(ordered, whole, byField, assigned, record))
    for (const key of texts) if (isBlank(record[key])) broken.push({ pointer: `/${key}`, message: "must not be blank" })
    return broken.length > 0 ? invalid(broken) : Effect.succeed(record as Static<S>)
  }
  return {
    name,
    fields,
    roles: { ...roles, ...followers(roles) },
    indexes,
    unique,
    updates,
    requireMatch,
    timestamps,
    changes,
    check,
  }
}
