// What the verifier remembers of tokens it has accepted.
import { deepEqual, equal } from "node:assert/strict"
import { describe } from "node:test"
import { Context, Effect, Exit, Layer } from "effect"
import { TestClock } from "effect/testing"
import { layer } from "../../../adapters/driven/token_verifier/jose.ts"
import { TokenVerifier } from "../../../domain/identity/token_verifier.ts"
import { effectTest, virtualNow } from "../../support/effect_test.ts"
import { bareOf, base64url, KEYS, NOW, tokenKit, withParts } from "../../support/tokens.ts"

const kit = tokenKit(NOW)

const setUp = Effect.fnUntraced(function* (cacheSize?: number) {
  yield* TestClock.setTime(NOW * 1000)
  const options = { keys: bareOf(KEYS.realm().publicKey), ...(cacheSize === undefined ? {} : { cacheSize }) }
  const { verify } = Context.get(yield* Layer.build(layer(options, yield* virtualNow)), TokenVerifier)
  return {
    verify,
    reason: (token: string) => Effect.map(Effect.flip(verify(token)), (failure) => failure.reason),
    /** Only a remembered token is accepted without waiting for its signature. */
    isRemembered: (token: string) => Exit.isExit(verify(token)),
  }
})

describe("the verifier's memory", () => {
  effectTest("remembers nothing with a size of 0", function* () {
    const { verify, isRemembered } = yield* setUp(0)
    yield* verify(kit.access())
    equal(isRemembered(kit.access()), false)
  })

  effectTest("drops the token that was not used for longest", function* () {
    const { verify, isRemembered } = yield* setUp(2)
    const [a, b, c] = [kit.access({ jti: "a" }), kit.access({ jti: "b" }), kit.access({ jti: "c" })]
    for (const token of [a, b, a, c]) yield* verify(token)
    deepEqual([a, b, c].map(isRemembered), [true, false, true])
  })

  effectTest("J80 a thousand bad tokens are all refused and push no good one out", function* () {
    const { verify, reason, isRemembered } = yield* setUp(1)
    const token = kit.access()
    yield* verify(token)
    // Each another token, none with a signature that fits.
    for (let n = 0; n < 1000; n++) {
      const payload = base64url({ ...kit.claims, jti: `${n}` })
      equal(yield* reason(withParts(token, ([header, , signature]) => [header, payload, signature])), "signature")
    }
    equal(isRemembered(token), true)
  })

  effectTest("a remembered token does not vouch for one that shares its first or last parts", function* () {
    const { verify, reason } = yield* setUp()
    const token = kit.access()
    yield* verify(token)
    equal(yield* reason(`${token}=`), "malformed")
    equal(yield* reason(`${token.slice(0, -8)}AAAAAAAA`), "signature")
    equal(yield* reason(token.replace(/\.[^.]+\./, `.${kit.access({ sub: "x" }).split(".")[1]}.`)), "signature")
  })

  effectTest("J93 a clock that jumps ahead expires a remembered token, one that jumps back closes it", function* () {
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
  })
})
