import { memberPointer } from "../issue.ts"
import { isObject, type JsonObject } from "../json_object.ts"
import { INDEX_FIELDS_MAX, INDEXES_MAX } from "./stored_shape.ts"
import { UNIQUE_MAX } from "./unique_fields.ts"

/** Most members of one list or object inside a schema. The validator's code nests once per member: 8,000 overflow its stack. */
const MEMBERS_MAX = 1_000

/**
 * Formats that a text field may have. The validator also knows `idn-email` and `idn-hostname`, whose time grows with the
 * square of the length (18 s for 1 MiB of 4,096 characters each): they are left out.
 */
export const FORMATS = [
  "date-time",
  "date",
  "duration",
  "email",
  "hostname",
  "ipv4",
  "ipv6",
  "iri",
  "iri-reference",
  "json-pointer",
  "json-pointer-uri-fragment",
  "regex",
  "relative-json-pointer",
  "time",
  "uri",
  "uri-reference",
  "uri-template",
  "url",
  "uuid",
] as const

const text = { type: "string" }
const flag = { type: "boolean" }
const number = { type: "number" }
const size = { type: "integer", minimum: 0 }
const schema = { type: ["object", "boolean"], $ref: "#/$defs/keywords" }
const schemas = { type: "array", items: schema, minItems: 1, maxItems: MEMBERS_MAX }
const namedSchemas = { type: "object", additionalProperties: schema, maxProperties: MEMBERS_MAX }

/** Keywords that hold schemas, by the form of their value. */
const APPLICATORS = {
  properties: namedSchemas,
  patternProperties: namedSchemas,
  additionalProperties: schema,
  // TypeBox writes a tuple as a list of items and `additionalItems`, as JSON Schema did up to draft 2019-09.
  items: { type: ["object", "boolean", "array"], $ref: "#/$defs/keywords", items: schema, maxItems: MEMBERS_MAX },
  additionalItems: schema,
  prefixItems: schemas,
  contains: schema,
  allOf: schemas,
  anyOf: schemas,
  oneOf: schemas,
  not: schema,
  if: schema,
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: schema,
  else: schema,
}

const TYPES = ["object", "array", "string", "number", "integer", "boolean"]

/** One type, or one that may also be `null`. */
const type = {
  enum: [
    ...TYPES,
    "null",
    ...TYPES.flatMap((each) => [
      [each, "null"],
      ["null", each],
    ]),
  ],
}

/** Keywords whose schemas judge the same value as the schema around them. */
export const IN_PLACE: ReadonlySet<string> = new Set(["allOf", "anyOf", "oneOf", "not", "if", "then", "else"])

/** JSON Schema 2020-12 as far as the validator honours it and a record needs it: an unknown keyword would be no rule at all. */
const KEYWORDS = {
  properties: {
    ...APPLICATORS,
    $comment: text,
    $id: text,
    $ref: text,
    $defs: namedSchemas,
    $schema: text,
    title: text,
    description: text,
    default: true,
    examples: { type: "array" },
    deprecated: flag,
    type,
    const: true,
    enum: { type: "array", minItems: 1, maxItems: MEMBERS_MAX },
    required: { type: "array", items: text, uniqueItems: true, maxItems: MEMBERS_MAX },
    minProperties: size,
    maxProperties: size,
    minItems: size,
    maxItems: size,
    uniqueItems: flag,
    minContains: size,
    maxContains: size,
    minLength: size,
    maxLength: size,
    pattern: text,
    format: { enum: FORMATS },
    minimum: number,
    maximum: number,
    exclusiveMinimum: number,
    exclusiveMaximum: number,
    multipleOf: { type: "number", exclusiveMinimum: 0 },
  },
  additionalProperties: false,
}

const roles = { type: "array", items: { type: "string", minLength: 1 }, minItems: 1 }

/** The form of a collection's definition, its schema included. */
export const DEFINITION_SCHEMA = {
  $defs: { keywords: KEYWORDS },
  type: "object",
  required: ["name", "fields"],
  properties: {
    name: { type: "string", pattern: "^[a-z][a-z0-9_-]{0,62}$" },
    fields: {
      type: "object",
      $ref: "#/$defs/keywords",
      required: ["type", "properties"],
      properties: { type: { enum: ["object"] } },
    },
    roles: {
      type: "object",
      properties: {
        list: roles,
        get: roles,
        create: roles,
        delete: roles,
        replace: roles,
        patch: roles,
        changes: roles,
      },
      additionalProperties: false,
    },
    unique: { type: "array", items: { type: "string" }, uniqueItems: true, maxItems: UNIQUE_MAX },
    updates: { type: "array", items: { enum: ["replace", "patch"] }, uniqueItems: true },
    requireMatch: flag,
    timestamps: flag,
    indexes: {
      type: "array",
      items: {
        type: ["string", "array"],
        items: { type: "string" },
        minItems: 1,
        maxItems: INDEX_FIELDS_MAX,
        uniqueItems: true,
      },
      maxItems: INDEXES_MAX,
    },
    changes: flag,
  },
  additionalProperties: false,
}

/** A schema inside a schema. */
export interface Part {
  readonly keyword: string
  /** Place below the schema that holds it, a JSON Pointer. */
  readonly pointer: string
  readonly schema: unknown
}

const holdsNames = (keyword: string): boolean => keyword === "properties" || keyword === "patternProperties"

/** The schemas directly inside a schema. */
export const partsOf = (outer: JsonObject): ReadonlyArray<Part> =>
  Object.entries(outer).flatMap(([keyword, value]): ReadonlyArray<Part> => {
    if (!Object.hasOwn(APPLICATORS, keyword)) return []
    const at = memberPointer("", keyword)
    if (Array.isArray(value)) return value.map((each, index) => ({ keyword, pointer: `${at}/${index}`, schema: each }))
    if (!holdsNames(keyword)) return [{ keyword, pointer: at, schema: value }]
    return Object.entries(isObject(value) ? value : {}).map(([name, each]) => ({
      keyword,
      pointer: memberPointer(at, name),
      schema: each,
    }))
  })

/**
 * A schema with some members changed. It keeps what TypeBox hides in a schema: refinements are members that are not enumerable.
 *
 * @param dropped members that the copy does not have
 */
export const changed = <S extends object>(outer: S, change: object, dropped: ReadonlyArray<string> = []): S => {
  const members = Object.entries(Object.getOwnPropertyDescriptors(outer)).filter(([name]) => !dropped.includes(name))
  const all = { ...Object.fromEntries(members), ...Object.getOwnPropertyDescriptors(change) }
  return Object.defineProperties({}, all) as S
}

/**
 * A schema with other schemas inside.
 *
 * @param dropped members that the copy does not have
 */
export const withParts = (
  outer: JsonObject,
  change: (part: Part) => unknown,
  dropped: ReadonlyArray<string> = [],
): JsonObject => {
  const rewritten = Object.entries(outer)
    .filter(([keyword]) => Object.hasOwn(APPLICATORS, keyword))
    .map(([keyword, value]): readonly [string, unknown] => {
      const at = memberPointer("", keyword)
      const inside = (schema: unknown, pointer: string): unknown => change({ keyword, pointer, schema })
      if (Array.isArray(value)) return [keyword, value.map((each, index) => inside(each, `${at}/${index}`))]
      if (!holdsNames(keyword) || !isObject(value)) return [keyword, inside(value, at)]
      const named = Object.entries(value).map(([name, each]) => [name, inside(each, memberPointer(at, name))])
      return [keyword, Object.fromEntries(named)]
    })
  return changed(outer, Object.fromEntries(rewritten), dropped)
}

/** Changes every schema inside a schema, and last the schema itself. */
export const changeAll = (outer: unknown, change: (schema: JsonObject) => JsonObject): unknown =>
  isObject(outer) ? change(withParts(outer, ({ schema }) => changeAll(schema, change))) : outer
