// What an author writes into a collection cannot make a stranger's text block the service.
import { deepEqual, equal, ok } from "node:assert/strict"
import { describe, test } from "node:test"
import { Effect, Result } from "effect"
import Type, { type TObject } from "typebox"
import { judgePattern } from "../../../adapters/driven/pattern_judge/redos_detector.ts"
import { TEXT_LENGTH_MAX } from "../../../domain/records/bounded_schema.ts"
import { defineCollection } from "../../../domain/records/collection.ts"
import { InvalidCollectionSetup } from "../../../domain/records/errors.ts"
import { FORMATS } from "../../../domain/records/schema_keywords.ts"

describe("a pattern is refused when hostile text could keep it busy", () => {
  for (const pattern of [
    "^(a|a)*$",
    "^(a|aa)+$",
    "^(?:a?){25}a{25}$",
    "^(?=(a+)+$)",
    "^(.*a){12}$",
    "^(a*)\\1*b$",
    "^(?:\\p{L}+\\s*)+$",
    "^([a-zA-Z0-9])(([\\-.]|[_]+)?([a-zA-Z0-9]+))*@$",
    // Polynomial: seconds at 4,096 characters, or at a few times that.
    "^a*a*a*a*b$",
    "^.*foo.*bar$",
    "[a-z]+x",
  ])
    test(pattern, () => ok(judgePattern(pattern)?.startsWith("could take too long on hostile text")))
})

describe("a pattern is taken when its time grows with the text", () => {
  for (const pattern of [
    "^[a-z]{2,5}$",
    "^\\d{4}-\\d{2}-\\d{2}$",
    "^(red|green|blue)$",
    "^[a-z0-9]+(?:-[a-z0-9]+)*$",
    "^[^@]+@[^@]+$",
    "^-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?$",
    "^\\+[1-9]\\d{1,14}$",
    "^[\\p{L}\\p{N} '.-]+$",
    "^https://[^\\s/]+/.*$",
    "^(?!.*\\s$)\\S.*$",
    "[A-Z]",
    "^.*$",
    "^[A-Z][a-z]+( [A-Z][a-z]+)*$",
    "^(?:[01]\\d|2[0-3]):[0-5]\\d$",
  ])
    test(pattern, () => equal(judgePattern(pattern), undefined))
})

const define = (schema: object) =>
  defineCollection(
    { name: "charts", fields: { type: "object", properties: { depth: schema } } as unknown as TObject },
    judgePattern,
  )

const messages = (schema: object, depth: unknown) => {
  const result = Effect.runSync(Effect.result(define(schema).check({ depth })))
  return Result.isFailure(result) ? result.failure.issues.map(({ message }) => message) : []
}

describe("every place that takes a pattern is judged", () => {
  const pattern = "^(a+)+$"
  for (const [what, schema, place] of [
    ["a field", { pattern }, "pattern"],
    ["an item", { items: { pattern } }, "items.pattern"],
    ["a condition", { if: { pattern } }, "if.pattern"],
    ["names of members", { patternProperties: { [pattern]: {} } }, `patternProperties.${pattern}`],
  ] as const)
    test(what, () => {
      try {
        define(schema)
        ok(false)
      } catch (failure) {
        ok(failure instanceof InvalidCollectionSetup, String(failure))
        ok(
          failure.message.startsWith(`collection 'charts', field 'depth': ${place} could take too long`),
          failure.message,
        )
      }
    })
})

describe("a costly rule has a bound", () => {
  test("which the collection shows, so that the API document shows it too", () => {
    const { fields } = define({
      anyOf: [
        { type: "string", format: "date" },
        { type: "array", items: { pattern: "^a$" } },
      ],
    })
    deepEqual(JSON.parse(JSON.stringify(fields.properties["depth"])), {
      anyOf: [
        { type: "string", format: "date", maxLength: TEXT_LENGTH_MAX },
        { type: "array", items: { pattern: "^a$", maxLength: TEXT_LENGTH_MAX } },
      ],
    })
  })

  test("and an author's own bound stays", () => {
    deepEqual(JSON.parse(JSON.stringify(define({ pattern: "^a+$", maxLength: 9 }).fields.properties["depth"])), {
      pattern: "^a+$",
      maxLength: 9,
    })
  })

  test("above which only the bound is broken", () => {
    deepEqual(messages({ type: "string", pattern: "^a+$" }, "b".repeat(TEXT_LENGTH_MAX + 1)), [
      `must not have more than ${TEXT_LENGTH_MAX} characters`,
    ])
    deepEqual(messages({ type: "string", pattern: "^a+$" }, "a".repeat(TEXT_LENGTH_MAX)), [])
    deepEqual(messages({ type: "string", pattern: "^a+$" }, "b"), ['must match pattern "^a+$"'])
    deepEqual(messages({ type: "string", format: "date" }, "b"), ['must match format "date"'])
    deepEqual(messages({ type: "array", uniqueItems: true }, [1, 1]), ["must not have duplicate items"])
  })
})

/** Texts that a format's rule could be slow on: one beginning and many repetitions, which then fit or do not. */
const hostile = (length: number): ReadonlyArray<string> =>
  [
    ["", "a"],
    ["", "1"],
    ["", "é"],
    ["", "a."],
    ["", "é."],
    ["", ":"],
    ["", "/"],
    ["", "%41"],
    ["", "~0"],
    ["", "T"],
    ["a@", "a."],
    ["a@", "a-"],
    ['"', "\\a"],
    ["a:", "/a"],
    ["a://", "a:"],
    ["a://", "1."],
    ["http://", "é"],
    ["http://", "é."],
    ["http://", "@"],
    ["http://a/", "../"],
    ["{", "a,"],
    ["{", "a."],
    ["{", "%aa"],
    ["P", "1"],
    ["2020-12-12T20:20:40Z[", "a"],
    ["2020-12-12T20:20:40Z[a", "/a"],
    ["xn--", "9"],
    ["", "(a*)*"],
    ["", "(?:a|"],
    ["::", "a:"],
    ["#/", "%41"],
    ["1", "/a~"],
  ].flatMap(([start = "", part = ""]) => {
    const text = start + part.repeat((length - start.length) / part.length - 1)
    return [text, `${text}\u0001`]
  })

describe("a body of hostile texts is judged at once, whatever the format", () => {
  const texts = hostile(TEXT_LENGTH_MAX)
  const tooLong = hostile(1_000_000)
  for (const format of FORMATS)
    test(format, () => {
      const { check } = defineCollection(
        { name: "charts", fields: Type.Object({ depth: Type.Array(Type.String({ format })) }) },
        judgePattern,
      )
      const startedMs = performance.now()
      for (const depth of [texts, ...tooLong.map((text) => [text])]) ok(Effect.runSync(Effect.result(check({ depth }))))
      // Some 50 ms on an idle machine; a rule whose time grows with the square of the length takes minutes.
      ok(performance.now() - startedMs < 10_000)
    })

  test("and an array of unique items, which is no text", () => {
    const startedMs = performance.now()
    ok(
      messages(
        { type: "array", uniqueItems: true },
        Array.from({ length: 100_000 }, () => 1),
      ).length > 0,
    )
    ok(performance.now() - startedMs < 10_000)
  })
})
