import { readFile } from "node:fs/promises"
import { resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { Effect } from "effect"
import Type, { type TObject } from "typebox"
import { Compile } from "typebox/schema"
import { isObject } from "../domain/json_object.ts"
import { type Collection, defineCollection } from "../domain/records/collection.ts"
import { InvalidConfiguration } from "./config.ts"

const refuse = (rule: string) => new InvalidConfiguration({ mistakes: [{ variable: "COLLECTIONS", rule }] })

const OBJECT = { additionalProperties: false }
const ROLES = Type.Optional(Type.Array(Type.String({ minLength: 1 }), { minItems: 1 }))

/** Form of the .json file. The schemas inside are judged keyword by keyword: an unknown keyword would be no rule at all. */
const FILE = Compile(
  Type.Object(
    {
      collections: Type.Array(
        Type.Object(
          {
            name: Type.String(),
            fields: Type.Unsafe<TObject>(
              Type.Object({
                type: Type.Literal("object"),
                properties: Type.Record(Type.String(), Type.Unknown()),
              }),
            ),
            roles: Type.Optional(Type.Object({ list: ROLES, get: ROLES, create: ROLES, delete: ROLES }, OBJECT)),
          },
          OBJECT,
        ),
        { minItems: 1 },
      ),
    },
    OBJECT,
  ),
)

const TYPES = new Set(["object", "array", "string", "number", "integer", "boolean", "null"])

/** Keywords of JSON Schema 2020-12 that the validator honours. */
const KEYWORDS = new Set(
  `$comment $id $schema title description default examples deprecated type const enum properties required
  additionalProperties patternProperties minProperties maxProperties items prefixItems minItems maxItems uniqueItems
  contains minContains maxContains minLength maxLength pattern format minimum maximum exclusiveMinimum exclusiveMaximum
  multipleOf allOf anyOf oneOf not if then else`.split(/\s+/),
)

type Named = readonly [name: string, value: unknown]

/** The schemas inside a keyword's value, as a sentence names them; `undefined` when the value has the wrong form. */
const schemasIn = (keyword: string, value: unknown): ReadonlyArray<Named> | undefined => {
  switch (keyword) {
    case "properties":
    case "patternProperties":
      return isObject(value) ? Object.entries(value) : undefined
    case "items":
    case "additionalProperties":
    case "not":
      return [[keyword, value]]
    case "allOf":
    case "anyOf":
    case "oneOf":
      return Array.isArray(value) ? value.map((each, index): Named => [`${keyword}[${index}]`, each]) : undefined
    default:
      return []
  }
}

/** The first thing in a schema that is no rule, as a sentence. */
const schemaMistake = (schema: unknown, at: string): string | undefined => {
  if (typeof schema === "boolean") return undefined
  if (!isObject(schema)) return `${at} must be a JSON Schema`
  for (const [keyword, value] of Object.entries(schema)) {
    if (!KEYWORDS.has(keyword)) return `${at} has the unsupported keyword '${keyword}'`
    if (keyword === "type" && !(typeof value === "string" && TYPES.has(value)))
      return `${at}.type must be one of ${[...TYPES].join(", ")}`
    if (keyword === "required" && !(Array.isArray(value) && value.every((name) => typeof name === "string")))
      return `${at}.required must be a list of field names`
    const nested = schemasIn(keyword, value)
    if (nested === undefined) return `${at}.${keyword} has the wrong form`
    for (const [name, each] of nested) {
      const mistake = schemaMistake(each, `${at}.${name}`)
      if (mistake !== undefined) return mistake
    }
  }
  return undefined
}

const fromJson = Effect.fnUntraced(function* (text: string) {
  const file: unknown = yield* Effect.try({ try: () => JSON.parse(text), catch: () => refuse("is not valid JSON") })
  if (!FILE.Check(file)) {
    const [first] = FILE.Errors(file)[1]
    const rule = first?.keyword === "boolean" ? "is not known" : (first?.message ?? "")
    return yield* refuse(`breaks the file's form at '${first?.instancePath ?? ""}': ${rule}`)
  }
  const collections: Array<Collection<object>> = []
  for (const { name, fields, roles } of file.collections) {
    const mistake = schemaMistake(fields, "fields")
    if (mistake !== undefined) return yield* refuse(`collection '${name}': ${mistake}`)
    collections.push(
      yield* Effect.try({
        try: () =>
          defineCollection({
            name,
            fields,
            ...(roles === undefined ? {} : { roles }),
          }),
        catch: (failure) => refuse(failure instanceof Error ? failure.message : "cannot be compiled"),
      }),
    )
  }
  return collections
})

const isCollection = (value: unknown): value is Collection<object> =>
  isObject(value) &&
  typeof value["name"] === "string" &&
  typeof value["check"] === "function" &&
  isObject(value["fields"])

const fromModule = Effect.fnUntraced(function* (path: string) {
  const module: unknown = yield* Effect.tryPromise({
    try: () => import(pathToFileURL(path).href),
    catch: () => refuse("names a module that cannot be loaded"),
  })
  const collections = isObject(module) ? Object.values(module).flat().filter(isCollection) : []
  return collections.length > 0 ? collections : yield* refuse("names a module that exports no collection")
})

/**
 * Reads what `COLLECTIONS` names: a `.json` file (`{"collections":[{"name","fields","roles"?}]}`) or a module exporting
 * results of `defineCollection`.
 *
 * @fails {InvalidConfiguration} naming the collection and the rule
 */
export const loadCollections = Effect.fn("loadCollections")(function* (file: string) {
  const path = resolve(file)
  const collections: ReadonlyArray<Collection<object>> = /\.json$/i.test(path)
    ? yield* Effect.tryPromise({
        try: () => readFile(path, "utf8"),
        catch: () => refuse("names a file that cannot be read"),
      }).pipe(Effect.flatMap(fromJson))
    : yield* fromModule(path)
  const names = collections.map(({ name }) => name)
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  return twice === undefined ? collections : yield* refuse(`defines the collection '${twice}' twice`)
})
