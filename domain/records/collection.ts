import { Effect } from "effect"
import type { Static, TObject, TSchema } from "typebox"
import { Compile } from "typebox/schema"
import type { Issue } from "../issue.ts"
import { isObject } from "../json_object.ts"
import { InvalidRecord } from "./errors.ts"
import { cleanJson, ISSUES_MAX, keyPointer } from "./json_hygiene.ts"
import type { Fields } from "./record_repository.ts"

/** The four operations of a collection (seed 4.1). */
export type Operation = "list" | "get" | "create" | "delete"

/** What an integrator writes to get a new record type. */
export interface CollectionDefinition<S extends TObject> {
  /** Plural path segment: lower-case letters, digits, `-`, `_`; at most 63 characters. */
  readonly name: string
  /** JSON Schema of the fields without `id`, as a TypeBox object. Unknown fields are always refused. */
  readonly fields: S
  /** Realm roles per operation: any one of them is enough. An operation not named needs a token only. */
  readonly roles?: { readonly [operation in Operation]?: ReadonlyArray<string> }
}

/** What is known of a record type without its TypeScript type. */
export interface CollectionShape {
  readonly name: string
  /** Schema of what a client may submit. */
  readonly fields: TObject
  readonly roles: { readonly [operation in Operation]?: ReadonlyArray<string> }
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

const COLLECTION_NAME_REGEXP = /^[a-z][a-z0-9_-]{0,62}$/

/** Text that is there but shows nothing: white space and invisible code points. */
const BLANK_REGEXP = /^[\p{White_Space}\p{Default_Ignorable_Code_Point}]*$/u

const isText = (schema: TSchema): boolean =>
  "type" in schema && schema.type === "string" && "minLength" in schema && Number(schema.minLength) >= 1

type Members = Readonly<Record<string, TSchema>>

const membersOf = (schema: TSchema): Members | undefined =>
  "properties" in schema ? (schema.properties as Members) : undefined

/** Fills in what is missing and has a `default`, in the record and in objects inside it. */
const fillDefaults = (members: Members, record: Record<string, unknown>): void => {
  for (const [key, schema] of Object.entries(members)) {
    const value = record[key]
    const nested = membersOf(schema)
    if (value === undefined && "default" in schema) record[key] = cleanJson(schema.default, [])
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
  record: Readonly<Record<string, unknown>>,
): ReadonlyArray<Issue> => {
  const issues: Array<Issue> = []
  for (const key of Object.keys(record))
    if (!byField.has(key))
      issues.push({
        pointer: keyPointer("", key),
        message: key === "id" ? "is assigned by the server" : "is not a field of this record",
      })
  for (const key of fields.required ?? [])
    if (!(key in record)) issues.push({ pointer: `/${key}`, message: "is required" })
  for (const [key, validator] of byField)
    if (key in record && !validator.Check(record[key]))
      issues.push(...validator.Errors(record[key])[1].flatMap((error) => toIssues(error, `/${key}`)))
  return issues.length > 0 ? issues : whole.Errors(record)[1].flatMap((error) => toIssues(error, ""))
}

/**
 * Defines a record type.
 *
 * @throws {TypeError} when the name cannot be a path segment or the schema names `id`: a mistake of the integrator
 * @see seed 2.1 and 4.1
 */
export const defineCollection = <S extends TObject>(definition: CollectionDefinition<S>): Collection<Static<S>> => {
  const { name } = definition
  if (!COLLECTION_NAME_REGEXP.test(name))
    throw new TypeError(`Collection name must match ${COLLECTION_NAME_REGEXP.source}: current name is '${name}'`)
  if ("id" in definition.fields.properties)
    throw new TypeError(`Collection '${name}' must not define the field 'id': the server assigns it`)
  const fields: TObject = { ...definition.fields, additionalProperties: false }
  const members: Members = fields.properties
  const whole = Compile(fields)
  const byField = new Map(Object.entries(members).map(([key, schema]) => [key, Compile(schema)]))
  const textFields = Object.keys(members).filter((key) => isText(members[key] as TSchema))
  const invalid = (issues: ReadonlyArray<Issue>) =>
    Effect.fail(new InvalidRecord({ collection: name, issues: issues.slice(0, ISSUES_MAX) }))

  const check = (input: unknown): Effect.Effect<Static<S>, InvalidRecord> => {
    if (!isObject(input)) return invalid([{ pointer: "", message: "must be an object" }])
    const issues: Array<Issue> = []
    const record = cleanJson(input, issues) as Record<string, unknown>
    fillDefaults(members, record)
    if (!whole.Check(record)) issues.push(...fieldIssues(fields, whole, byField, record))
    for (const key of textFields) {
      const text = record[key]
      if (typeof text === "string" && text !== "" && BLANK_REGEXP.test(text))
        issues.push({ pointer: `/${key}`, message: "must not be blank" })
    }
    return issues.length > 0 ? invalid(issues) : Effect.succeed(record as Static<S>)
  }
  return { name, fields, roles: definition.roles ?? {}, check }
}
