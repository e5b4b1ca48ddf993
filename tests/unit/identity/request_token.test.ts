import { deepEqual, equal } from "node:assert/strict"
import { describe } from "node:test"
import { Effect, Fiber, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { makeRequestToken, RENEWAL_MARGIN_S } from "../../../application/identity/request_token.ts"
import { TokenRequestFailed } from "../../../domain/identity/errors.ts"
import { type AccessToken, TokenIssuer } from "../../../domain/identity/token_issuer.ts"
import { effectTest } from "../../support/effect_test.ts"

interface Script {
  readonly lifetimeS?: number
  /** Seconds an answer takes; none when absent. */
  readonly delayS?: number
  /** Requests, counted from 1, that fail. */
  readonly failing?: ReadonlySet<number>
}

/** An issuer that follows a script, the use case over it, and what was asked. */
const setUp = Effect.fnUntraced(function* ({ lifetimeS, delayS = 0, failing = new Set() }: Script) {
  let requests = 0
  const issuer = Layer.succeed(
    TokenIssuer,
    TokenIssuer.of({
      requestToken: Effect.gen(function* () {
        requests += 1
        const number = requests
        if (delayS > 0) yield* Effect.sleep(`${delayS} seconds`)
        if (failing.has(number)) return yield* new TokenRequestFailed({ kind: "unreachable" })
        const nowS = yield* Effect.clockWith((clock) => Effect.map(clock.currentTimeMillis, (now) => now / 1000))
        const token: AccessToken = {
          text: Redacted.make(`token-${number}`),
          ...(lifetimeS === undefined ? {} : { expiresAt: nowS + lifetimeS }),
        }
        return token
      }),
    }),
  )
  const requestToken = yield* Effect.provide(makeRequestToken, issuer)
  return { text: Effect.map(requestToken, ({ text }) => Redacted.value(text)), requests: () => requests }
})

const fifty = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.all(Array(50).fill(effect) as ReadonlyArray<typeof effect>, { concurrency: "unbounded" })

describe("requestToken", () => {
  effectTest("asks nobody before the first call", function* () {
    equal((yield* setUp({ lifetimeS: 300 })).requests(), 0)
  })

  effectTest("gives the held token until shortly before its expiry", function* () {
    const { text, requests } = yield* setUp({ lifetimeS: 300 })
    equal(yield* text, "token-1")
    yield* TestClock.adjust(`${300 - RENEWAL_MARGIN_S - 1} seconds`)
    equal(yield* text, "token-1")
    equal(requests(), 1)
    yield* TestClock.adjust("1 seconds")
    equal(yield* text, "token-2")
    equal(requests(), 2)
  })

  effectTest("holds a short-lived token for half its life", function* () {
    const { text } = yield* setUp({ lifetimeS: 20 })
    yield* text
    yield* TestClock.adjust("9 seconds")
    equal(yield* text, "token-1")
    yield* TestClock.adjust("1 seconds")
    equal(yield* text, "token-2")
  })

  effectTest("does not hold a token that does not say when it expires", function* () {
    const { text } = yield* setUp({})
    equal(yield* text, "token-1")
    equal(yield* text, "token-2")
  })

  effectTest("makes one request of fifty concurrent calls", function* () {
    const { text, requests } = yield* setUp({ lifetimeS: 300, delayS: 2 })
    const calls = yield* Effect.forkChild(fifty(text))
    yield* TestClock.adjust("2 seconds")
    deepEqual([...new Set(yield* Fiber.join(calls))], ["token-1"])
    equal(requests(), 1)
  })

  effectTest("shares a failure among concurrent calls, and asks again at the next", function* () {
    const { text, requests } = yield* setUp({ lifetimeS: 300, delayS: 2, failing: new Set([1]) })
    const calls = yield* Effect.forkChild(fifty(Effect.flip(text)))
    yield* TestClock.adjust("2 seconds")
    deepEqual(new Set((yield* Fiber.join(calls)).map(({ kind }) => kind)), new Set(["unreachable"]))
    equal(requests(), 1)

    const next = yield* Effect.forkChild(text)
    yield* TestClock.adjust("2 seconds")
    equal(yield* Fiber.join(next), "token-2")
  })

  effectTest("a caller who gives up does not take the others along", function* () {
    const { text, requests } = yield* setUp({ lifetimeS: 300, delayS: 2 })
    const first = yield* Effect.forkChild(text, { startImmediately: true })
    const second = yield* Effect.forkChild(text, { startImmediately: true })
    yield* TestClock.adjust("1 seconds")
    yield* Fiber.interrupt(first)
    yield* TestClock.adjust("1 seconds")
    equal(yield* Fiber.join(second), "token-1")
    equal(requests(), 1)
  })
})
