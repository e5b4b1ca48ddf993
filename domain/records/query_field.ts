import type { TObject } from "typebox"
import { isObject } from "../json_object.ts"
import { assignedFields } from "./assigned_fields.ts"

/** How the values of a field compare: numbers by size, texts by code points, flags with `false` before `true`. */
export type FieldKind = "number" | "text" | "flag"

/** A field that lists may be filtered and sorted by, and that an index may have. */
export interface QueryField {
  readonly name: string
  readonly kind: FieldKind
}

/** The id, which every record has. */
export const ID_FIELD: QueryField = { name: "id", kind: "number" }

/** Letters, digits, `_` and `-`: what every store can have in a path, and a URL in the name of a parameter. */
const NAME_REGEXP = /^[\p{L}\p{N}_-]{1,64}$/u

/** True for a name that a parameter can have without being quoted. */
export const isPlainName = (name: string): boolean => NAME_REGEXP.test(name)

const KIND_OF_TYPE: Readonly<Record<string, FieldKind | undefined>> = {
  number: "number",
  integer: "number",
  string: "text",
  boolean: "flag",
}

const ANYTHING = ["anything"]

/** The names of JSON types that a value of the schema may have; `null` is no value. */
const typesOf = (schema: unknown): ReadonlyArray<unknown> => {
  if (!isObject(schema)) return ANYTHING
  const { type, const: only, enum: some, anyOf = schema["oneOf"] } = schema
  if (type !== undefined) return [type].flat().filter((each) => each !== "null")
  const values = Array.isArray(some) ? some : "const" in schema ? [only] : []
  if (values.length > 0) return values.filter((each) => each !== null).map((each) => typeof each)
  return Array.isArray(anyOf) ? anyOf.flatMap(typesOf) : ANYTHING
}

const kindOf = (schema: unknown): FieldKind | undefined => {
  const kinds = new Set(typesOf(schema).map((type) => KIND_OF_TYPE[String(type)]))
  return kinds.size === 1 ? [...kinds][0] : undefined
}

/** What is known of a collection's records. */
export interface RecordSchema {
  /** Schema of the fields that clients submit. */
  readonly fields: TObject
  /** True when the server notes times in every record. */
  readonly timestamps?: boolean
}

/**
 * The fields of a collection that lists may be filtered and sorted by, by name: `id`, the times that the server notes, and
 * every field of the record itself whose schema allows values of one scalar kind only, `null` aside, and whose name is plain.
 */
export const queryFieldsOf = (schema: RecordSchema): ReadonlyMap<string, QueryField> => {
  const times = assignedFields(schema)
    .filter((name) => name !== ID_FIELD.name)
    .map((name): QueryField => ({ name, kind: "text" }))
  const known = Object.entries(schema.fields.properties).flatMap(([name, schema]): ReadonlyArray<QueryField> => {
    const kind = isPlainName(name) ? kindOf(schema) : undefined
    return kind === undefined ? [] : [{ name, kind }]
  })
  return new Map([ID_FIELD, ...known, ...times].map((field) => [field.name, field]))
}
