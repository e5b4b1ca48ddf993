import { deepEqual, equal, throws } from "node:assert/strict"
import { describe, test } from "node:test"
import * as fc from "fast-check"
import { isDeeperThan, parseLossless, stringifyLossless } from "../../../domain/scheduler/lossless_json.ts"

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

  test("is not misled by strings that look like integers, however they are written", () => {
    for (const text of [
      '{"a":"x:9007199254740993,"}',
      '["[9007199254740993]"]',
      '["\\\\",9007199254740993,"\\":9007199254740993,\\\\"]',
    ])
      equal(stringifyLossless(parseLossless(text)), text)
    // Of a mark that is known before the text, a string could be made with the mark's own first characters escaped.
    const written = '["\\u007eportolan:integer:9007199254740993",9007199254740993]'
    deepEqual(parseLossless(written), ["~portolan:integer:9007199254740993", 9007199254740993n])
  })

  const DEEP = 100_000
  const nested = (open: string, inside: string, close: string): string =>
    `${open.repeat(DEEP)}${inside}${close.repeat(DEEP)}`
  for (const [what, text] of [
    ["lists", nested("[", "9007199254740993", "]")],
    ["objects", nested('{"a":', "9007199254740993", "}")],
    ["lists around a string that looks like an integer", nested("[", '9007199254740993,":9007199254740993,"', "]")],
  ] as const)
    test(`reads ${DEEP} ${what}, and says that it does not write them`, () => {
      let value = parseLossless(text)
      for (let level = 0; level < DEEP; level++) value = Object.values(value as object)[0]
      equal(value, 9007199254740993n)
      throws(() => stringifyLossless(parseLossless(text)), TypeError)
    })

  test("knows how deep a value is", () => {
    const twoWide = { a: {} as Record<string, unknown>, b: [] }
    twoWide.a["self"] = twoWide
    deepEqual(
      [isDeeperThan(2, [[]]), isDeeperThan(1, [[]]), isDeeperThan(1, [1, "a"]), isDeeperThan(0, null)],
      [false, true, false, false],
    )
    equal(isDeeperThan(1000, twoWide), true)
  })

  test("takes time in proportion to the length", { timeout: 120_000 }, () => {
    const size = 1_000_000
    for (const text of [
      "1".repeat(size),
      `["${"1".repeat(size)}",9007199254740993]`,
      `["${':9007199254740993,"'.slice(0, -1).repeat(size / 18)}"]`,
      `["${'\\"'.repeat(size / 2)}:9007199254740993,"]`,
      `["${"\\\\".repeat(size / 2)}",":9007199254740993,"]`,
      `[9007199254740993${" ".repeat(size)}]`,
      `[${"9007199254740993,".repeat(size / 17)}0]`,
    ])
      stringifyLossless(parseLossless(text))
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
