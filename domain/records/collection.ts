import { Effect } from "effect"
import type { Static, TObject, TSchema } from "typebox"
import { Compile } from "typebox/compile"
import { Default } from "typebox/value"
import { InvalidRecord, type Issue } from "./errors.ts"
import { cleanJson, ISSUES_MAX, unknownKeyPointer } from "./json_hygiene.ts"
import type { Fields } from "./record_repository.ts"

/** The four operations of a collection (seed 4.1). */
export type Operation = "list" | "get" | "create" | "delete"

export const OPERATIONS: ReadonlyArray<Operation> = ["list", "get", "create", "delete"]

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

export const COLLECTION_NAME_REGEXP = /^[a-z][a-z0-9_-]{0,62}$/

/** Text that is there but shows nothing: white space and invisible code points. */
const BLANK_REGEXP = /^[\p{White_Space}\p{Default_Ignorable_Code_Point}]*$/u

const isText = (schema: TSchema): boolean =>
  "type" in schema && schema.type === "string" && "minLength" in schema && Number(schema.minLength) >= 1

type SchemaIssue = ReturnType<ReturnType<typeof Compile>["Errors"]>[number]

/** One schema error as issues: a missing field is reported at its own pointer; the twin report of an unknown field is dropped. */
const toIssues = (error: SchemaIssue): ReadonlyArray<Issue> => {
  switch (error.keyword) {
    case "boolean":
      return []
    case "required":
      return error.params.requiredProperties.map((key) => ({
        pointer: `${error.instancePath}/${key}`,
        message: "is required",
      }))
    case "additionalProperties":
      return error.params.additionalProperties.map((key) => ({
        pointer: unknownKeyPointer(error.instancePath, String(key)),
        message:
          key === "id" && error.instancePath === "" ? "is assigned by the server" : "is not a field of this record",
      }))
    default:
      return [{ pointer: error.instancePath, message: error.message }]
  }
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
  const validator = Compile(fields)
  const textFields = Object.keys(fields.properties).filter((key) => isText(fields.properties[key] as TSchema))
  const invalid = (issues: ReadonlyArray<Issue>) =>
    Effect.fail(new InvalidRecord({ collection: name, issues: issues.slice(0, ISSUES_MAX) }))

  const check = (input: unknown): Effect.Effect<Static<S>, InvalidRecord> => {
    if (typeof input !== "object" || input === null || Array.isArray(input))
      return invalid([{ pointer: "", message: "must be an object" }])
    const issues: Array<Issue> = []
    const record = cleanJson(input, issues) as Record<string, unknown>
    const complete = Default(fields, record) as Record<string, unknown>
    if (!validator.Check(complete)) issues.push(...validator.Errors(complete).flatMap(toIssues))
    for (const key of textFields) {
      const text = complete[key]
      if (typeof text === "string" && text !== "" && BLANK_REGEXP.test(text))
        issues.push({ pointer: `/${key}`, message: "must not be blank" })
    }
    return issues.length > 0 ? invalid(issues) : Effect.succeed(complete as Static<S>)
  }
  return { name, fields, roles: definition.roles ?? {}, check }
}
