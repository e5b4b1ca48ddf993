// JSON Merge Patch: the specification's own examples, and the laws that every implementation of it keeps.
import { deepEqual, equal } from "node:assert/strict"
import { describe, test } from "node:test"
import { Effect, Result } from "effect"
import fc from "fast-check"
import Type from "typebox"
import { isObject } from "../../../domain/json_object.ts"
import { defineCollection } from "../../../domain/records/collection.ts"
import { mergePatch, readPatch } from "../../../domain/records/merge_patch.ts"

// RFC 7396, appendix A.
for (const [target, patch, result] of [
  [{ a: "b" }, { a: "c" }, { a: "c" }],
  [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
  [{ a: "b" }, { a: null }, {}],
  [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
  [{ a: ["b"] }, { a: "c" }, { a: "c" }],
  [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
  [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
  [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
  [
    ["a", "b"],
    ["c", "d"],
    ["c", "d"],
  ],
  [{ a: "b" }, ["c"], ["c"]],
  [{ a: "foo" }, null, null],
  [{ a: "foo" }, "bar", "bar"],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: "b", c: null }, { a: "b" }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
] as const)
  test(`${JSON.stringify(target)} patched by ${JSON.stringify(patch)}`, () => {
    deepEqual(mergePatch(target, patch), result)
  })

const json = (options: fc.JsonSharedConstraints) =>
  fc.jsonValue(options).map((value): unknown => JSON.parse(JSON.stringify(value)))

const key = fc.constantFrom("a", "b", "c", "toString", "1", "é")
const object = (depth: number): fc.Arbitrary<object> =>
  fc.dictionary(key, depth === 0 ? json({ maxDepth: 1 }) : fc.oneof(json({ maxDepth: 1 }), object(depth - 1)))
const document = object(3).map((value): unknown => JSON.parse(JSON.stringify(value)))

/** The document without members that are `null`: what a patch can describe. */
const withoutNull = (value: unknown): unknown =>
  isObject(value)
    ? Object.fromEntries(
        Object.entries(value).flatMap(([name, each]) => (each === null ? [] : [[name, withoutNull(each)]])),
      )
    : value

/** The smallest patch that makes one document of another (RFC 7396 section 1 says what it cannot describe). */
const difference = (from: unknown, to: unknown): unknown => {
  if (!isObject(from) || !isObject(to)) return to
  const changed = Object.entries(to).filter(([name, each]) => JSON.stringify(from[name]) !== JSON.stringify(each))
  return Object.fromEntries([
    ...Object.keys(from).flatMap((name) => (Object.hasOwn(to, name) ? [] : [[name, null] as const])),
    ...changed.map(([name, each]) => [name, difference(Object.hasOwn(from, name) ? from[name] : undefined, each)]),
  ])
}

describe("a patch", () => {
  test("that is empty changes nothing", () => {
    fc.assert(fc.property(document, (target) => deepEqual(mergePatch(target, {}), target)))
  })

  test("applied twice is applied once", () => {
    fc.assert(
      fc.property(document, document, (target, patch) => {
        const once = mergePatch(target, patch)
        deepEqual(mergePatch(once, patch), once)
      }),
    )
  })

  test("leads from any document to any other that has no null", () => {
    fc.assert(
      fc.property(document, document, (from, wanted) => {
        const to = withoutNull(wanted)
        deepEqual(mergePatch(from, difference(from, to)), to)
      }),
    )
  })

  test("leaves alone what it does not name, at every depth, and brings no null", () => {
    const untouched = (before: unknown, patch: unknown, after: unknown): void => {
      if (!isObject(before) || !isObject(patch) || !isObject(after)) return
      for (const [name, each] of Object.entries(before))
        if (!Object.hasOwn(patch, name)) deepEqual(after[name], each)
        else untouched(each, patch[name], after[name])
      for (const name of Object.keys(patch)) equal(patch[name] === null && Object.hasOwn(after, name), false)
    }
    fc.assert(fc.property(document, document, (target, patch) => untouched(target, patch, mergePatch(target, patch))))
  })

  test("changes neither the document nor itself", () => {
    fc.assert(
      fc.property(document, document, (target, patch) => {
        const before = JSON.stringify([target, patch])
        mergePatch(target, patch)
        equal(JSON.stringify([target, patch]), before)
      }),
    )
  })
})

const charts = defineCollection({ name: "charts", fields: Type.Object({ title: Type.String() }), timestamps: true })

const nested = (depth: number): unknown => (depth === 0 ? null : { a: nested(depth - 1) })

describe("a patch from outside", () => {
  for (const [what, patch, pointers] of [
    ["null", null, [""]],
    ["a list", [{ title: "a" }], [""]],
    ["a text", "title", [""]],
    ["the id", { id: 7 }, ["/id"]],
    ["the id, to be removed", { id: null }, ["/id"]],
    ["times", { createdAt: null, updatedAt: "2026-01-01T00:00:00.000Z" }, ["/createdAt", "/updatedAt"]],
    ["an operator", { title: { $set: "a" } }, ["/title/$set"]],
    ["a reserved key, to be removed", JSON.parse('{"__proto__":null}'), ["/__proto__"]],
    ["a key with a dot", { "title.x": null }, ["/title.x"]],
    ["NUL", { title: "a\0" }, ["/title"]],
    ["nesting over 32", nested(40), [undefined]],
  ] as const)
    test(`is refused with ${what}`, () => {
      const result = Effect.runSync(Effect.result(readPatch(charts, patch)))
      const issues = Result.isFailure(result) ? result.failure.issues : []
      equal(issues.length, pointers.length)
      for (const [at, pointer] of pointers.entries()) if (pointer !== undefined) equal(issues[at]?.pointer, pointer)
    })

  test("is taken with null for what is to be removed", () => {
    deepEqual(Effect.runSync(readPatch(charts, { title: null, other: { a: null } })), {
      title: null,
      other: { a: null },
    })
  })
})
