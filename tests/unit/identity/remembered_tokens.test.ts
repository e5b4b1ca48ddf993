// The memory of verified tokens, alone and inside the verifier.
import { equal } from "node:assert/strict"
import { describe, test } from "node:test"
import { Context, Effect, Exit, Layer } from "effect"
import { TestClock } from "effect/testing"
import fc from "fast-check"
import { layer } from "../../../adapters/driven/token_verifier/jose.ts"
import type { Claims } from "../../../domain/identity/claims.ts"
import { TokenVerifier } from "../../../domain/identity/token_verifier.ts"
import { VerifiedTokens } from "../../../domain/identity/verified_tokens.ts"
import { effectTest } from "../../support/effect_test.ts"
import { bareOf, KEYS, tokenKit } from "../../support/tokens.ts"

const claimsUntil = (expiresAt: number): Claims => ({ subject: undefined, roles: new Set(), expiresAt })

describe("VerifiedTokens", () => {
  test("knows a token until its exp, not at it", () => {
    const tokens = new VerifiedTokens(10)
    tokens.add("a", claimsUntil(100), 0)
    equal(tokens.get("a", 99.9)?.expiresAt, 100)
    equal(tokens.get("a", 100), undefined)
    equal(tokens.size, 0, "an expired token is dropped")
  })

  test("does not know a token before its nbf", () => {
    const tokens = new VerifiedTokens(10)
    tokens.add("a", claimsUntil(100), 50)
    equal(tokens.get("a", 49), undefined)
    equal(tokens.get("a", 50)?.expiresAt, 100)
  })

  test("drops the token that was not used for longest", () => {
    const tokens = new VerifiedTokens(2)
    tokens.add("a", claimsUntil(100), 0)
    tokens.add("b", claimsUntil(100), 0)
    tokens.get("a", 1)
    tokens.add("c", claimsUntil(100), 0)
    equal(tokens.get("b", 1), undefined)
    equal(tokens.get("a", 1)?.expiresAt, 100)
    equal(tokens.get("c", 1)?.expiresAt, 100)
  })

  test("never holds more than its capacity, and gives each token its own claims", () => {
    fc.assert(
      fc.property(fc.nat(5), fc.array(fc.record({ token: fc.nat(8), add: fc.boolean() })), (capacity, steps) => {
        const tokens = new VerifiedTokens(capacity)
        for (const { token, add } of steps) {
          if (add) tokens.add(`t${token}`, claimsUntil(1000 + token), 0)
          const found = tokens.get(`t${token}`, 1)
          equal(found?.expiresAt ?? 1000 + token, 1000 + token)
          equal(tokens.size <= capacity, true)
        }
      }),
    )
  })
})

/** 2026-11-21T10:00:00Z, in seconds. */
const NOW = 1_795_255_200
const kit = tokenKit(NOW)

const setUp = Effect.fnUntraced(function* (cacheSize?: number) {
  yield* TestClock.setTime(NOW * 1000)
  const verifier = yield* Layer.build(
    layer({ keys: bareOf(KEYS.realm().publicKey), ...(cacheSize === undefined ? {} : { cacheSize }) }),
  )
  const { verify, recall } = Context.get(verifier, TokenVerifier)
  return {
    verify,
    reason: (token: string) => Effect.map(Effect.flip(verify(token)), (failure) => failure.reason),
    isRemembered: (token: string) => recall(token, NOW) !== undefined,
  }
})

describe("the verifier's memory", () => {
  effectTest("answers a token seen before without a promise", () =>
    Effect.gen(function* () {
      const { verify } = yield* setUp()
      const claims = yield* verify(kit.access())
      const exit = Effect.runSyncExitWith(yield* Effect.context<never>())(verify(kit.access()))
      equal(Exit.isSuccess(exit) && exit.value, claims)
    }),
  )

  effectTest("remembers nothing with a size of 0", () =>
    Effect.gen(function* () {
      const { verify, isRemembered } = yield* setUp(0)
      yield* verify(kit.access())
      equal(isRemembered(kit.access()), false)
    }),
  )

  effectTest("J80 a thousand bad tokens are all refused and push no good one out", () =>
    Effect.gen(function* () {
      const { verify, reason, isRemembered } = yield* setUp(1)
      const token = kit.access()
      yield* verify(token)
      for (let n = 0; n < 1000; n++)
        equal(yield* reason(`${kit.access({ jti: `${n}` }).slice(0, -8)}AAAAAAAA`), "signature")
      equal(isRemembered(token), true)
    }),
  )

  effectTest("a remembered token does not vouch for one that shares its first or last parts", () =>
    Effect.gen(function* () {
      const { verify, reason } = yield* setUp()
      const token = kit.access()
      yield* verify(token)
      equal(yield* reason(`${token}=`), "malformed")
      equal(yield* reason(`${token.slice(0, -8)}AAAAAAAA`), "signature")
      equal(yield* reason(token.replace(/\.[^.]+\./, `.${kit.access({ sub: "x" }).split(".")[1]}.`)), "signature")
    }),
  )

  effectTest("J93 a clock that jumps ahead expires a remembered token, one that jumps back closes it again", () =>
    Effect.gen(function* () {
      const { verify, reason } = yield* setUp()
      const token = kit.access({ nbf: NOW - 10, exp: NOW + 60 })
      yield* verify(token)
      yield* TestClock.setTime((NOW + 60) * 1000)
      equal(yield* reason(token), "expired")
      yield* TestClock.setTime((NOW + 59) * 1000)
      equal((yield* verify(token)).expiresAt, NOW + 60)
      yield* TestClock.setTime((NOW - 11) * 1000)
      equal(yield* reason(token), "not-yet-valid")
      yield* TestClock.setTime(NOW * 1000)
      equal((yield* verify(token)).expiresAt, NOW + 60)
    }),
  )
})
