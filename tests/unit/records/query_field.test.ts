// Which fields may be filtered and sorted by, and have an index: judged by their schemas alone.
import { deepEqual } from "node:assert/strict"
import { describe, test } from "node:test"
import Type, { type TObject, type TSchema } from "typebox"
import { queryFieldsOf } from "../../../domain/records/query_field.ts"
import { storedShapeOf } from "../../../domain/records/stored_shape.ts"

const kindOf = (schema: unknown, name = "f") =>
  queryFieldsOf({ fields: { type: "object", properties: { [name]: schema } } as TObject }).get(name)?.kind

describe("queryFieldsOf()", () => {
  for (const [what, schema, kind] of [
    ["a text", Type.String(), "text"],
    ["a number", Type.Number(), "number"],
    ["an integer", Type.Integer(), "number"],
    ["a flag", Type.Boolean(), "flag"],
    ["an optional text", Type.Optional(Type.String()), "text"],
    ["a text or null, as JSON Schema writes it", { type: ["string", "null"] }, "text"],
    ["a number or null, as TypeBox writes it", Type.Union([Type.Number(), Type.Null()]), "number"],
    ["an integer or a number", { type: ["integer", "number"] }, "number"],
    ["one text", Type.Literal("a"), "text"],
    ["one of some texts", Type.Enum(["a", "b"]), "text"],
    ["one of some texts, as TypeBox writes it", Type.Union([Type.Literal("a"), Type.Literal("b")]), "text"],
    ["one of some numbers or null", { enum: [1, 2, null] }, "number"],
    ["one flag, without a type", { const: false }, "flag"],
    [
      "a text by oneOf",
      {
        oneOf: [
          { type: "string", maxLength: 1 },
          { type: "string", minLength: 9 },
        ],
      },
      "text",
    ],
    ["a text or a number", { type: ["string", "number"] }, undefined],
    ["a text or a number by anyOf", Type.Union([Type.String(), Type.Number()]), undefined],
    ["a text or anything", { anyOf: [{ type: "string" }, {}] }, undefined],
    ["null alone", Type.Null(), undefined],
    ["a list", Type.Array(Type.String()), undefined],
    ["an object", Type.Object({}), undefined],
    ["one of some lists", { enum: [["a"]] }, undefined],
    ["anything", {}, undefined],
    ["nothing", false, undefined],
  ] as ReadonlyArray<readonly [string, TSchema | boolean, string | undefined]>)
    test(`${what}: ${kind ?? "no"}`, () => deepEqual(kindOf(schema), kind))

  for (const name of ["größe", "空白", "a_b-2", "x".repeat(64)])
    test(`the name ${name} is plain`, () => deepEqual(kindOf(Type.String(), name), "text"))

  for (const name of ["a b", 'a"b', "a'b", "a\\b", "a[0]", "a,b", "x".repeat(65), ""])
    test(`the name '${name}' is not`, () => deepEqual(kindOf(Type.String(), name), undefined))

  test("the id is always among them", () => {
    deepEqual([...queryFieldsOf({ fields: Type.Object({}) })], [["id", { name: "id", kind: "number" }]])
  })
})

test("the times that the server notes are texts to filter and sort by, and may have an index", () => {
  const fields = Type.Object({ name: Type.String() })
  deepEqual([...queryFieldsOf({ fields, timestamps: true }).keys()], ["id", "name", "createdAt", "updatedAt"])
  const { indexes } = storedShapeOf({ name: "products", fields, timestamps: true, indexes: ["updatedAt"] })
  deepEqual(indexes, [{ fields: [{ name: "updatedAt", kind: "text" }] }])
})

test("a store is told the kinds of what it is to index", () => {
  const fields = Type.Object({ name: Type.String(), price: Type.Number(), sold: Type.Boolean() })
  deepEqual(storedShapeOf({ name: "products", fields, indexes: ["price", ["sold", "name"]], changes: true }), {
    name: "products",
    indexes: [
      { fields: [{ name: "price", kind: "number" }] },
      {
        fields: [
          { name: "sold", kind: "flag" },
          { name: "name", kind: "text" },
        ],
      },
    ],
    unique: [],
    changes: true,
  })
})
