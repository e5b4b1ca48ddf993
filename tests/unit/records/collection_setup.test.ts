// The one judgement over definitions: what could never work, or could block the service, is refused when it is defined.
import { deepEqual, equal, ok } from "node:assert/strict"
import { describe, test } from "node:test"
import { Effect, Result } from "effect"
import Type, { type TObject } from "typebox"
import { type CollectionDefinition, defineCollection } from "../../../domain/records/collection.ts"
import { InvalidCollectionSetup } from "../../../domain/records/errors.ts"

const accept = () => undefined

/** The sentences of the refusal; empty for a definition that is taken. */
const refusals = (definition: unknown, judge = accept): ReadonlyArray<string> => {
  try {
    defineCollection(definition as CollectionDefinition<TObject>, judge)
    return []
  } catch (failure) {
    ok(failure instanceof InvalidCollectionSetup, String(failure))
    equal(failure.code, "INVALID_COLLECTION_SETUP")
    equal(failure.message, failure.sentences.join("\n"))
    return failure.sentences
  }
}

const charts = (properties: unknown, more: object = {}) => ({
  name: "charts",
  fields: { type: "object", properties, ...more },
})
const field = (schema: unknown) => charts({ depth: schema })

const indexed = (indexes: unknown) => ({
  ...charts({ title: { type: "string" }, depth: { type: "number" }, tags: { type: "array" } }),
  indexes,
})

const nested = (levels: number): object => {
  let schema = {}
  for (let level = 0; level < levels; level++) schema = { not: schema }
  return schema
}
const named = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at}`, {}]))

describe("a field is refused for", () => {
  for (const [schema, sentence] of [
    [{ type: "number", minimum: "5" }, "minimum must be number"],
    [{ type: "string", pattern: 5 }, "pattern must be string"],
    [{ enum: "abc" }, "enum must be array"],
    [{ enum: [] }, "enum must not have fewer than 1 items"],
    [{ type: "string", maxLength: null }, "maxLength must be integer"],
    [{ type: "string", maxLength: -1 }, "maxLength must be >= 0"],
    [{ type: "string", maxLength: 1.5 }, "maxLength must be integer"],
    [{ multipleOf: 0 }, "multipleOf must be > 0"],
    [{ uniqueItems: "yes" }, "uniqueItems must be boolean"],
    [{ minLenght: 1 }, "minLenght is not a supported keyword"],
    [{ $dynamicRef: "#" }, "$dynamicRef is not a supported keyword"],
    ...[
      "text",
      [],
      ["string"],
      ["string", "number"],
      ["null", "text"],
      ["null", "null"],
      ["string", "number", "null"],
    ].map(
      (type) =>
        [
          { type },
          "type must be one of object, array, string, number, integer, boolean, null, or a list of one of them and 'null'",
        ] as const,
    ),
    [{ type: ["string", "null"], default: 1 }, "default is refused by the rules beside it"],
    [{ $ref: 1 }, "$ref must be string"],
    [{ $ref: "#" }, "$ref must be '#/$defs/<name>'"],
    [{ $ref: "https://example.com/schema" }, "$ref must be '#/$defs/<name>'"],
    [{ $ref: "#/$defs/a/items" }, "$ref must be '#/$defs/<name>'"],
    [{ items: { $ref: "#/$defs/toString" } }, "items.$ref names no schema of '$defs'"],
    [{ $defs: { a: {} } }, "$defs is only known at the top of 'fields'"],
    [{ type: "string", pattern: "(" }, "pattern is not a regular expression (ECMA-262, flag u)"],
    [{ patternProperties: { "(": {} } }, "patternProperties.( is not a regular expression (ECMA-262, flag u)"],
    ["string", " must be either object or boolean"],
    [{ allOf: {} }, "allOf must be array"],
    [{ allOf: [] }, "allOf must not have fewer than 1 items"],
    [{ properties: [] }, "properties must be object"],
    [{ required: ["a"] }, "required names 'a', which is no property"],
    [{ properties: { a: {} }, required: ["a", "b"] }, "required names 'b', which is no property"],
    [{ properties: { a: {} }, if: { required: ["b"] } }, "if.required names 'b', which is no property"],
    [{ required: "a" }, "required must be array"],
    [{ type: "integer", default: "1" }, "default is refused by the rules beside it"],
    [{ type: "string", minLength: 1, default: " " }, "default must not be blank"],
    [{ default: "a\0" }, "default must not contain NUL"],
    [{ default: { $set: 1 } }, "default.$set is a reserved key"],
    [{ properties: { a: { type: "string", default: 1 } } }, "properties.a.default is refused by the rules beside it"],
    [{ properties: { "a.b": {} } }, "properties.a.b is a reserved name"],
    [{ format: "date", maxLength: 5000 }, "maxLength must be at most 4096 beside 'format'"],
    [{ enum: Array.from({ length: 8000 }, (_, at) => at) }, "enum must not have more than 1000 items"],
    [{ properties: named(8000) }, "properties must not have more than 1000 properties"],
  ] as const)
    test(sentence.trim(), () => {
      const place = sentence.startsWith(" ") ? "" : ": "
      deepEqual(refusals(field(schema)), [`collection 'charts', field 'depth'${place}${sentence}`])
    })

  test("a format that the validator does not know, or that takes long", () => {
    for (const format of ["datetime", "idn-email", "idn-hostname", ""])
      ok(
        refusals(field({ type: "string", format }))[0]?.startsWith(
          "collection 'charts', field 'depth': format must be one of date-time,",
        ),
      )
  })

  for (const place of ["items", "contains", "not", "if", "then", "else", "additionalProperties", "additionalItems"])
    test(`a typing mistake inside ${place}`, () => {
      deepEqual(refusals(field({ [place]: { minLenght: 1 } })), [
        `collection 'charts', field 'depth': ${place}.minLenght is not a supported keyword`,
      ])
    })

  for (const place of ["prefixItems", "allOf", "anyOf", "oneOf", "items"])
    test(`a typing mistake in the list ${place}`, () => {
      deepEqual(refusals(field({ [place]: [{}, { items: { minimum: "1" } }] })), [
        `collection 'charts', field 'depth': ${place}.1.items.minimum must be number`,
      ])
    })

  test("nesting deeper than a record may have", () => {
    deepEqual(refusals(field(nested(20))), [])
    ok(refusals(field(nested(40)))[0]?.endsWith("must not be nested deeper than 32 levels"))
    deepEqual(refusals(field(nested(200_000))), ["collection 'charts': fields is nested too deeply"])
  })

  test("rules that are not JSON", () => {
    const circle: Record<string, unknown> = {}
    circle["not"] = circle
    deepEqual(refusals(field(circle)), ["collection 'charts': fields is not JSON"])
    deepEqual(refusals(field({ const: 1n })), ["collection 'charts': fields is not JSON"])
    deepEqual(refusals(field({ pattern: /a/ })), ["collection 'charts', field 'depth': pattern must be string"])
    deepEqual(refusals(charts({ depth: Type.BigInt() })).length, 1)
  })
})

describe("a collection is refused for", () => {
  for (const name of [
    "toString",
    "valueOf",
    "hasOwnProperty",
    "constructor",
    "__proto__",
    "_bsontype",
    "$where",
    "a.b",
  ])
    test(`the field '${name}', required or not`, () => {
      const properties = JSON.parse(`{${JSON.stringify(name)}:{"type":"string"}}`)
      const sentence = `collection 'charts', field '${name}' is a reserved name`
      deepEqual(refusals(charts(properties)), [sentence])
      deepEqual(refusals(charts(properties, { required: [name] })), [sentence])
    })

  for (const [definition, sentence] of [
    [charts({ id: {} }), "collection 'charts', field 'id' must not be defined: the server assigns it"],
    [charts({ a: {} }, { required: ["b"] }), "collection 'charts': fields.required names 'b', which is no property"],
    [charts({ a: {} }, { minimun: 1 }), "collection 'charts': fields.minimun is not a supported keyword"],
    [charts({}, { type: "array" }), "collection 'charts': fields.type must be one of object"],
    [charts(named(8000)), "collection 'charts': fields.properties must not have more than 1000 properties"],
    [{ name: "charts", fields: { properties: {} } }, "collection 'charts': fields.type is required"],
    [{ name: "charts" }, "collection 'charts': fields is required"],
    [{ name: "charts", fields: null }, "collection 'charts': fields must be object"],
    [{ ...charts({}), roles: { update: ["a"] } }, "collection 'charts': roles.update is not known"],
    [{ ...charts({}), roles: { list: [] } }, "collection 'charts': roles.list must not have fewer than 1 items"],
    [{ ...charts({}), roles: { list: "a" } }, "collection 'charts': roles.list must be array"],
    [{ ...charts({}), roles: { get: [1] } }, "collection 'charts': roles.get.0 must be string"],
    [
      { ...charts({ updatedAt: {} }), timestamps: true },
      "collection 'charts', field 'updatedAt' must not be defined: the server assigns it",
    ],
    [{ ...charts({}), timestamps: "yes" }, "collection 'charts': timestamps must be boolean"],
    [{ ...charts({}), updates: ["put"] }, "collection 'charts': updates.0 must be one of replace, patch"],
    [{ ...charts({}), updates: "patch" }, "collection 'charts': updates must be array"],
    [
      { ...charts({}), updates: ["patch"], roles: { patch: ["a"], replace: ["a"] } },
      "collection 'charts': roles.replace is of no use: 'updates' does not name 'replace'",
    ],
    [
      { ...charts({ a: { type: "string" } }), unique: ["a", "b"] },
      "collection 'charts': unique.1 names 'b', which is no field of texts or numbers alone",
    ],
    ...[{}, { type: "boolean" }, { type: "array" }, { type: "object" }, { enum: ["a", 1] }].map(
      (a) =>
        [
          { ...charts({ a }), unique: ["a"] },
          "collection 'charts': unique.0 names 'a', which is no field of texts or numbers alone",
        ] as const,
    ),
    [
      { ...charts({}), unique: ["id"] },
      "collection 'charts': unique.0 names 'id', which is no field of texts or numbers alone",
    ],
    [{ ...charts({}), role: {} }, "collection 'charts': role is not known"],
    [indexed("title"), "collection 'charts': indexes must be array"],
    [indexed([7]), "collection 'charts': indexes.0 must be either string or array"],
    [indexed([[]]), "collection 'charts': indexes.0 must not have fewer than 1 items"],
    [indexed([["a", "b", "c", "d"]]), "collection 'charts': indexes.0 must not have more than 3 items"],
    [indexed([["title", "title"]]), "collection 'charts': indexes.0 must not have duplicate items"],
    [
      indexed(["titel"]),
      "collection 'charts': indexes.0 names 'titel', which is no field of texts, numbers or flags alone",
    ],
    [
      indexed(["tags"]),
      "collection 'charts': indexes.0 names 'tags', which is no field of texts, numbers or flags alone",
    ],
    [indexed([["title", "id"]]), "collection 'charts': indexes.0 names 'id', which every index ends with"],
    [indexed(["title", ["title"]]), "collection 'charts': indexes.1 is declared twice"],
  ] as const)
    test(sentence, () => deepEqual(refusals(definition), [sentence]))

  test("every mistake at once", () => {
    deepEqual(refusals(charts({ a: { minimum: "1" }, b: { maxLength: null } })), [
      "collection 'charts', field 'a': minimum must be number",
      "collection 'charts', field 'b': maxLength must be integer",
    ])
  })

  test("a pattern where nobody can judge it", () => {
    try {
      defineCollection({ name: "charts", fields: Type.Object({ a: Type.String({ pattern: "^a$" }) }) })
      ok(false)
    } catch (failure) {
      ok(failure instanceof InvalidCollectionSetup && failure.message.includes("cannot be judged here"))
    }
  })
})

describe("a schema of named parts", () => {
  const parts = (fields: object, $defs: object): unknown => ({
    name: "charts",
    fields: { type: "object", ...fields, $defs },
  })

  test("judges as if each part stood where it is named", () => {
    const definition = parts(
      {
        properties: {
          from: { $ref: "#/$defs/place", description: "Where it begins" },
          via: { type: "array", items: { $ref: "#/$defs/place" } },
          note: { type: ["string", "null"], minLength: 1, default: null },
        },
        required: ["from"],
      },
      {
        place: { type: "object", properties: { name: { $ref: "#/$defs/name" } }, required: ["name"] },
        name: { type: "string", minLength: 1, maxLength: 5 },
      },
    )
    deepEqual(refusals(definition), [])
    const { check, fields } = defineCollection(definition as CollectionDefinition<TObject>, accept)
    deepEqual(Effect.runSync(check({ from: { name: "Elbe" } })), { from: { name: "Elbe" }, note: null })
    const broken = Effect.runSync(Effect.result(check({ from: { name: "Hamburg" }, via: [{}], note: "" })))
    deepEqual(Result.isFailure(broken) && broken.failure.issues.map(({ pointer }) => pointer), [
      "/from/name",
      "/via/0/name",
      "/note",
    ])
    const text = JSON.stringify(fields)
    ok(!text.includes("$ref") && !text.includes("$defs"))
    ok(text.includes("Where it begins"))
  })

  for (const [fields, $defs, sentence] of [
    [{ properties: { a: { $ref: "#/$defs/b" } } }, {}, "field 'a': $ref names no schema of '$defs'"],
    [
      { properties: { a: { $ref: "#/$defs/a", minLength: 1 } } },
      { a: {} },
      "field 'a': $ref must not stand beside 'minLength'",
    ],
    [
      { properties: { a: { $ref: "#/$defs/a" } } },
      { a: { items: { $ref: "#/$defs/b" } }, b: { not: { $ref: "#/$defs/a" } } },
      ": fields.$defs.b.not.$ref leads back to itself",
    ],
    [{ properties: { a: { $ref: "#/$defs/a" } } }, { a: { minimum: "1" } }, ": fields.$defs.a.minimum must be number"],
    [
      { properties: { a: { $ref: "#/$defs/a" } } },
      { a: { required: ["x"] } },
      "field 'a': required names 'x', which is no property",
    ],
  ] as const)
    test(`is refused: ${sentence}`, () => {
      deepEqual(refusals(parts(fields, $defs)), [
        `collection 'charts'${sentence.startsWith(":") ? "" : ", "}${sentence}`,
      ])
    })

  test("is refused when its parts would make millions of rules", () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 30 }, (_, at) => {
        const next = at === 29 ? { type: "string" } : { $ref: `#/$defs/p${at + 1}` }
        return [`p${at}`, { anyOf: [next, next] }]
      }),
    )
    deepEqual(refusals(parts({ properties: { a: { $ref: "#/$defs/p0" } } }, $defs)), [
      "collection 'charts': fields has more than 10000 schemas once '$ref' is followed",
    ])
  })
})

describe("a definition is taken with", () => {
  for (const [what, fields] of [
    [
      "what TypeBox writes",
      Type.Object({
        tuple: Type.Tuple([Type.String(), Type.Number()]),
        record: Type.Record(Type.String(), Type.Number()),
        both: Type.Intersect([Type.Object({ a: Type.String() }), Type.Object({ b: Type.Optional(Type.String()) })]),
        either: Type.Union([Type.Literal("a"), Type.Null()]),
        choice: Type.Enum(["a", "b"]),
        template: Type.TemplateLiteral([Type.Literal("a"), Type.String()]),
        any: Type.Unknown(),
      }),
    ],
    [
      "names of a pattern in required",
      Type.Object({ a: Type.Unsafe({ patternProperties: { "^x": {} }, required: ["x1"] }) }),
    ],
    [
      "names of a schema beside in required",
      Type.Object({ a: Type.Unsafe({ properties: { b: {} }, anyOf: [{ required: ["b"] }] }) }),
    ],
    ["yes and no as schemas", Type.Object({ a: Type.Unsafe(true as never), b: Type.Unsafe(false as never) })],
    [
      "1,000 fields",
      Type.Object(
        Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`f${at}`, Type.Optional(Type.String())])),
      ),
    ],
  ] as const)
    test(what, () => deepEqual(refusals({ name: "charts", fields }), []))
})

describe("the judgement over records keeps to the definition", () => {
  const judge = (fields: object, record: unknown) =>
    Effect.runSync(Effect.result(defineCollection({ name: "charts", fields: fields as TObject }, accept).check(record)))

  test("refuses what only nameless rules refuse", () => {
    const never = JSON.parse('{"if":{},"then":false}')
    for (const rule of [{ a: false }, { a: { not: {} } }, { a: never }])
      ok(Result.isFailure(judge({ type: "object", properties: rule }, { a: 1 })), JSON.stringify(rule))
  })

  test("keeps the refinements that TypeBox hides in a schema", () => {
    const even = Type.Refine(
      Type.Number(),
      (value) => value % 2 === 0,
      () => "must be even",
    )
    const fields = Type.Object({ a: even, b: Type.Array(Type.String({ format: "date" })) })
    ok(Result.isSuccess(judge(fields, { a: 2, b: ["2026-01-01"] })))
    const refused = judge(fields, { a: 1, b: ["2026-01-01"] })
    deepEqual(Result.isFailure(refused) && refused.failure.issues, [{ pointer: "/a", message: "must be even" }])
  })

  test("the largest record is judged", () => {
    const names = Array.from({ length: 1000 }, (_, at) => `f${at}`)
    const fields = {
      type: "object",
      properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
      required: names,
    }
    const record = Object.fromEntries(names.map((name) => [name, "a"]))
    ok(Result.isSuccess(judge(fields, record)))
    const refused = judge(fields, { ...record, f7: 1 })
    deepEqual(Result.isFailure(refused) && refused.failure.issues.map(({ pointer }) => pointer), ["/f7"])
  })
})
