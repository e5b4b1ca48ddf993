import { equal } from "node:assert/strict"
import { describe, test } from "node:test"
import { Effect } from "effect"
import fc from "fast-check"
import { AUTHORIZATION_MAX, readBearer } from "../../../domain/identity/bearer.ts"
import { effectTest } from "../../support/effect_test.ts"

const reasonOf = (authorization: string | null | undefined) =>
  Effect.map(Effect.flip(readBearer(authorization)), ({ reason }) => reason)

describe("readBearer()", () => {
  test("gives back every token, whatever the case of the scheme", () => {
    const scheme = fc.mixedCase(fc.constant("bearer"))
    const token = fc.stringMatching(/^[\w\-.~+/]{1,200}={0,2}$/)
    fc.assert(
      fc.property(scheme, token, (name, text) => {
        equal(Effect.runSync(readBearer(`${name} ${text}`)), text)
      }),
    )
  })

  for (const [reason, headers] of [
    ["missing", [null, undefined, "", "Basic eHg6eA==", "Bearerx", "token", " Bearer x"]],
    ["malformed", ["Bearer", "Bearer ", "Bearer  x", "Bearer x ", "Bearer x y", "Bearer x, Bearer x"]],
  ] as const)
    for (const header of headers)
      test(`${JSON.stringify(header) ?? "no header"} is ${reason}`, () =>
        equal(Effect.runSync(reasonOf(header)), reason))

  effectTest("takes the longest header and refuses one character more", function* () {
    const longest = `Bearer ${"x".repeat(AUTHORIZATION_MAX - "Bearer ".length)}`
    equal((yield* readBearer(longest)).length, AUTHORIZATION_MAX - "Bearer ".length)
    equal(yield* reasonOf(`${longest}x`), "malformed")
  })
})
