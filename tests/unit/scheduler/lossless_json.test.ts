import { deepEqual, equal, throws } from "node:assert/strict"
import { describe, test } from "node:test"
import * as fc from "fast-check"
import { parseLossless, stringifyLossless } from "../../../domain/scheduler/lossless_json.ts"

/** JSON values with integers of any size; written by hand so that nothing of the code under test takes part. */
const { json } = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(String),
    fc.integer().map(String),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value === 0 ? 0.5 : value)),
    fc
      .oneof(fc.string({ unit: "grapheme" }), fc.constant('",:9007199254740993,"'), fc.constant(":[9007199254740993]"))
      .map((text) => JSON.stringify(text)),
    fc.constantFrom("null", "true", "false", "[]", "{}"),
    fc.array(tie("json"), { maxLength: 4 }).map((items) => `[${items.join(",")}]`),
    fc
      .uniqueArray(
        fc.tuple(fc.constantFrom("a", "b", "__proto__", "constructor", "Zed", '"', "9007199254740993:"), tie("json")),
        {
          selector: ([key]) => key,
          maxLength: 4,
        },
      )
      .map((members) => `{${members.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(",")}}`),
  ),
}))

describe("lossless JSON", () => {
  test("keeps every digit, key, null and empty list, byte for byte", () => {
    const roundTrip = fc.property(json, (text) => equal(stringifyLossless(parseLossless(text)), text))
    equal(fc.check(roundTrip, { numRuns: 500 }).failed, false)
  })

  test("reads safe integers as numbers and the others as bigint", () => {
    deepEqual(
      parseLossless("[9007199254740991,-9007199254740991,9007199254740992,-9007199254740993,18446744073709551615]"),
      [9007199254740991, -9007199254740991, 9007199254740992n, -9007199254740993n, 18446744073709551615n],
    )
    equal(parseLossless(" 18446744073709551615 "), 18446744073709551615n)
    equal(parseLossless("1e300"), 1e300)
  })

  test("is not misled by strings that look like integers, or like its own marks", () => {
    for (const text of [
      '{"a":"x:9007199254740993,"}',
      '["[9007199254740993]"]',
      '["~portolan:integer:9007199254740993"]',
    ])
      equal(stringifyLossless(parseLossless(text)), text)
    deepEqual(parseLossless('{"a":"~portolan:integer:1","b":9007199254740993}'), {
      a: "~portolan:integer:1",
      b: 9007199254740993n,
    })
  })

  test("puts nothing on the prototype", () => {
    const value = parseLossless('{"__proto__":{"polluted":9007199254740993}}') as Record<string, unknown>
    equal(({} as Record<string, unknown>)["polluted"], undefined)
    equal(stringifyLossless(value), '{"__proto__":{"polluted":9007199254740993}}')
  })

  test("refuses what has no JSON form", () => {
    const cycle: Record<string, unknown> = {}
    cycle["self"] = cycle
    for (const value of [{ Count: Number.NaN }, [Number.POSITIVE_INFINITY], cycle])
      throws(() => stringifyLossless(value), TypeError)
    for (const text of ["", "{", '{"a":9007199254740993', "[1,]", "9007199254740993 x", "[00000000000000001]"])
      throws(() => parseLossless(text), SyntaxError)
  })
})
