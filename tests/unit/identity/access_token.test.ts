// The judgement without a verifier around it, as the gateway's policies use it.
import { deepEqual, equal } from "node:assert/strict"
import { describe, test } from "node:test"
import { Effect } from "effect"
import fc from "fast-check"
import { isCompactToken, judgeClaims, TOKEN_MAX } from "../../../domain/identity/access_token.ts"
import { kindOf } from "../../../domain/identity/token_kind.ts"
import { CLOCK_TOLERANCE_MAX_S, makeTokenRules } from "../../../domain/identity/token_rules.ts"
import { effectTest } from "../../support/effect_test.ts"
import { NOW } from "../../support/tokens.ts"

const HEADER = { alg: "RS256", typ: "JWT" }

describe("isCompactToken()", () => {
  const part = fc.uint8Array({ minLength: 1, maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString("base64url"))

  test("accepts three encoded parts, and no other spelling of their bytes", () => {
    fc.assert(
      fc.property(part, part, part, fc.nat(2), (a, b, c, at) => {
        const parts = [a, b, c]
        equal(isCompactToken(parts.join(".")), true)
        const spelled = parts[at] ?? ""
        for (const last of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") {
          const other = spelled.slice(0, -1) + last
          const canonical = Buffer.from(other, "base64url").toString("base64url") === other
          equal(isCompactToken(parts.with(at, other).join(".")), canonical)
        }
      }),
    )
  })

  test("accepts a token just short enough and refuses one too long", () => {
    const tokenOf = (quads: number) => `eyJ9.${"AAAA".repeat(quads)}.AAA`
    const longest = Math.floor((TOKEN_MAX - tokenOf(0).length) / 4)
    equal(isCompactToken(tokenOf(longest)), true)
    equal(isCompactToken(tokenOf(longest + 1)), false)
  })
})

describe("kindOf()", () => {
  for (const [kind, header, payload] of [
    ["access", HEADER, { typ: "Bearer" }],
    ["access", {}, { typ: "BEARER" }],
    ["access", { typ: "at+JWT" }, { typ: "Bearer" }],
    ["untyped", { typ: "at+jwt" }, {}],
    ["untyped", {}, { nonce: "n" }],
    ["id", HEADER, { typ: "ID" }],
    ["id", HEADER, { typ: "id", cnf: {} }],
    ["id", HEADER, { at_hash: "x" }],
    ["id", HEADER, { c_hash: "x" }],
    ["refresh", HEADER, { typ: "Refresh" }],
    ["refresh", HEADER, { typ: "Offline" }],
    ["logout", HEADER, { typ: "Logout" }],
    ["logout", { typ: "logout+jwt" }, {}],
    ["logout", {}, { events: {} }],
    ["bound", HEADER, { typ: "DPoP" }],
    ["bound", HEADER, { typ: "Bearer", cnf: { jkt: "x" } }],
    ["bound", {}, { cnf: null }],
    ["other", HEADER, { typ: "Bearer " }],
    ["other", HEADER, { typ: ["Bearer"] }],
    ["other", HEADER, { typ: "toString" }],
    ["other", { typ: "dpop+jwt" }, { typ: "Bearer" }],
    ["other", { typ: null }, { typ: "Bearer" }],
  ] as const)
    test(`finds ${JSON.stringify(header)} ${JSON.stringify(payload)} to be ${kind}`, () => {
      equal(kindOf(header, payload), kind)
    })
})

describe("judgeClaims()", () => {
  const judged = (payload: Readonly<Record<string, unknown>>, clockToleranceS: number) =>
    judgeClaims({ exp: NOW + 60, ...payload }, HEADER, { clockToleranceS }, NOW).pipe(
      Effect.as("accepted"),
      Effect.catchTag("Unauthenticated", (refusal) => Effect.succeed(refusal.reason)),
    )

  for (const [payload, toleranceS, expected] of [
    [{ exp: NOW }, 0, "expired"],
    [{ exp: NOW + 0.001 }, 0, "accepted"],
    [{ exp: NOW - 9 }, 10, "accepted"],
    [{ exp: NOW - 10 }, 10, "expired"],
    [{ nbf: NOW }, 0, "accepted"],
    [{ nbf: NOW + 1 }, 0, "not-yet-valid"],
    [{ nbf: NOW + 10 }, 10, "accepted"],
    [{ nbf: NOW + 11 }, 10, "not-yet-valid"],
    [{ nbf: Number.NEGATIVE_INFINITY }, 0, "claims"],
    [{ nbf: 1e11 }, 0, "claims"],
    [{ exp: 1e11 }, 0, "claims"],
    [{ exp: 1e11 - 1 }, 0, "accepted"],
    [{ iat: NOW + 86_400 }, 0, "accepted"],
  ] as const)
    effectTest(`${JSON.stringify(payload)} with a tolerance of ${toleranceS} s is ${expected}`, function* () {
      equal(yield* judged(payload, toleranceS), expected)
    })

  effectTest("keeps subject, roles and expiry, and nothing else", function* () {
    const payload = {
      exp: NOW + 60,
      sub: "alice",
      realm_access: { roles: ["a", 1, "b"] },
      email: "alice@example.org",
    }
    deepEqual(yield* judgeClaims(payload, HEADER, {}, NOW), {
      subject: "alice",
      roles: new Set(["a", "b"]),
      expiresAt: NOW + 60,
    })
    equal((yield* judgeClaims({ ...payload, sub: 5 }, HEADER, {}, NOW)).subject, undefined)
  })
})

describe("makeTokenRules()", () => {
  effectTest("takes the largest tolerance", () => makeTokenRules({ clockToleranceS: CLOCK_TOLERANCE_MAX_S }))

  for (const clockToleranceS of [-1, 0.5, CLOCK_TOLERANCE_MAX_S + 1, Number.NaN])
    effectTest(`refuses a tolerance of ${clockToleranceS} s`, function* () {
      equal((yield* Effect.flip(makeTokenRules({ clockToleranceS }))).option, "clockToleranceS")
    })
})
