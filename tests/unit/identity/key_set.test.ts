// A published key set over time: first fetch, rotation, unknown key ids, a realm that is away. The clock is virtual.
import { deepEqual, equal } from "node:assert/strict"
import { describe } from "node:test"
import { Context, Effect, Exit, Fiber, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import { layer } from "../../../adapters/driven/token_verifier/jose.ts"
import { COOL_DOWN_S, REFRESH_S, WAITING_MAX } from "../../../adapters/driven/token_verifier/jose_key_set.ts"
import { TokenVerifier } from "../../../domain/identity/token_verifier.ts"
import { effectTest, virtualNow } from "../../support/effect_test.ts"
import { type Answer, localServer } from "../../support/local_server.ts"
import { jwkOf, KEYS, NOW, signToken, tokenKit } from "../../support/tokens.ts"

/** Lives longer than any wait of these tests. */
const CLAIMS = { ...tokenKit(NOW).claims, exp: NOW + 86_400 }

const tokenOf = (pair: keyof typeof KEYS, kid: string | undefined = pair, more: object = {}): string =>
  signToken({ alg: "RS256", kid }, { ...CLAIMS, ...more }, KEYS[pair]().privateKey)

const publishing = (...pairs: ReadonlyArray<"realm" | "other" | "short">): Answer => ({
  body: JSON.stringify({ keys: pairs.map((pair) => jwkOf(KEYS[pair]().publicKey, { kid: pair, use: "sig" })) }),
})

const AWAY: Answer = { status: 503, body: "<html>" }

/** Waits for real exchanges that the virtual clock knows nothing of. */
const until = (holds: () => boolean) =>
  Effect.promise(async () => {
    while (!holds()) await new Promise((resolve) => setTimeout(resolve, 1))
  })

/** A verifier that follows a realm whose answer can be changed at any time. */
const setUp = Effect.fnUntraced(function* (first: Answer | undefined, jwksTimeoutMs?: number) {
  yield* TestClock.setTime(NOW * 1000)
  const realm = { answer: first }
  const server = yield* localServer(() => realm.answer)
  const logged: Array<string> = []
  const logging = Logger.layer([Logger.make(({ logLevel, message }) => logged.push(`${logLevel} ${message}`))])
  const context = yield* Layer.build(
    layer(
      { jwksUrl: `${server.url}/certs?realm=demo`, ...(jwksTimeoutMs === undefined ? {} : { jwksTimeoutMs }) },
      yield* virtualNow,
    ),
  ).pipe(Effect.provide(logging))
  const verifier = Context.get(context, TokenVerifier)
  /** What the verifier says: `accepted`, a reason, or that it has no keys. */
  const says = (token: string) =>
    verifier.verify(token).pipe(
      Effect.as("accepted"),
      Effect.catchTag("Unauthenticated", ({ reason }) => Effect.succeed(reason)),
      Effect.catchTag("KeysUnavailable", ({ reason }) => Effect.succeed(`no keys: ${reason}`)),
      Effect.provide(logging),
    )
  const ready = verifier.ready.pipe(
    Effect.as("ready"),
    Effect.catchTag("KeysUnavailable", ({ reason }) => Effect.succeed(`no keys: ${reason}`)),
  )
  return { realm, seen: server.seen, verifier, says, ready, logged }
})

describe("J40, J42 a published key set", () => {
  effectTest("is fetched once for many first tokens", function* () {
    const { says, seen } = yield* setUp(publishing("realm", "other"))
    const answers = yield* Effect.all(
      Array.from({ length: 50 }, (_, n) => says(tokenOf(n % 2 === 0 ? "realm" : "other"))),
      { concurrency: "unbounded" },
    )
    deepEqual([...new Set(answers)], ["accepted"])
    deepEqual(
      seen.map(({ method, path }) => [method, path]),
      [["GET", "/certs?realm=demo"]],
    )
  })

  effectTest("serves a token without a key id from any of its keys", function* () {
    const { says } = yield* setUp(publishing("other", "realm"))
    yield* says(tokenOf("realm"))
    equal(yield* says(tokenOf("realm", undefined)), "accepted")
  })

  effectTest("does not try a key under another key's id", function* () {
    const { says } = yield* setUp(publishing("other", "realm"))
    equal(yield* says(tokenOf("realm", "other")), "signature")
  })

  effectTest("is fetched again at once for a new key, then not before the cool-down is over", function* () {
    const { realm, says, seen } = yield* setUp(publishing("realm"))
    equal(yield* says(tokenOf("realm")), "accepted")
    realm.answer = publishing("other")
    equal(yield* says(tokenOf("other")), "accepted")
    equal(seen.length, 2)

    const strangers = Array.from({ length: 50 }, (_, n) => says(tokenOf("realm", `made-up-${n}`)))
    deepEqual([...new Set(yield* Effect.all(strangers, { concurrency: "unbounded" }))], ["signature"])
    equal(seen.length, 2, "fetched inside the cool-down")

    yield* TestClock.adjust(`${COOL_DOWN_S - 1} seconds`)
    equal(yield* says(tokenOf("realm", "made-up")), "signature")
    equal(seen.length, 2, "fetched a second before the end of the cool-down")

    yield* TestClock.adjust("1 seconds")
    deepEqual([...new Set(yield* Effect.all(strangers, { concurrency: "unbounded" }))], ["signature"])
    equal(seen.length, 3, "fetched once after the cool-down")
  })

  effectTest("lets a bounded number of tokens wait for it, and known ones not at all", function* () {
    const { says } = yield* setUp(publishing("realm"))
    equal(yield* says(tokenOf("realm")), "accepted")
    const forged = tokenOf("realm", "made-up")
    const flood = Effect.all(
      Array.from({ length: WAITING_MAX + 20 }, () => says(forged)),
      { concurrency: "unbounded" },
    )
    for (const _round of [1, 2]) {
      const answers = yield* flood
      equal(answers.filter((each) => each === "no keys: too many tokens wait for the keys").length, 20)
      equal(answers.filter((each) => each === "signature").length, WAITING_MAX)
      equal(yield* says(tokenOf("realm")), "accepted")
      yield* TestClock.adjust(`${COOL_DOWN_S} seconds`)
    }
  })

  effectTest("withdraws a key, and the tokens remembered of it, at the next refresh", function* () {
    const { realm, says, seen } = yield* setUp(publishing("realm"))
    equal(yield* says(tokenOf("realm")), "accepted")
    realm.answer = publishing("other")
    yield* TestClock.adjust(`${REFRESH_S} seconds`)
    yield* until(() => seen.length === 2)
    equal(yield* says(tokenOf("other")), "accepted")
    equal(seen.length, 2)
    equal(yield* says(tokenOf("realm")), "signature")
  })

  for (const [title, answer, reason] of [
    ["answers 503", AWAY, "status 503"],
    ["answers with a page", { body: "<html>" }, "the answer is no key set"],
    [
      "publishes no key of use",
      { body: JSON.stringify({ keys: [jwkOf(KEYS.elliptic().publicKey)] }) },
      "the key set holds no RS256 key",
    ],
    ["publishes a short key", publishing("short"), "the key set holds no RS256 key"],
    ["redirects", { status: 302, headers: { location: "http://localhost:1/" } }, "redirected"],
  ] as const)
    effectTest(`gives no verdict while the realm ${title}, and one as soon as it is back`, function* () {
      const { realm, says, seen, ready } = yield* setUp(answer)
      equal(yield* says(tokenOf("realm")), `no keys: ${reason}`)
      equal(yield* ready, `no keys: ${reason}`)
      realm.answer = publishing("realm")
      const before = seen.length
      yield* TestClock.adjust("1 seconds")
      equal(yield* says(tokenOf("realm")), "accepted")
      equal(seen.length, before + 1)
    })

  for (const [title, keys] of [
    ["no key at all", []],
    ["only elliptic keys", [jwkOf(KEYS.elliptic().publicKey, { kid: "realm", use: "sig" })]],
    ["only encryption keys", [jwkOf(KEYS.realm().publicKey, { kid: "realm", use: "enc", alg: "RSA-OAEP" })]],
    ["only short keys", [jwkOf(KEYS.short().publicKey, { kid: "realm", use: "sig" })]],
  ] as const)
    effectTest(`withdraws every key at the next refresh when the realm publishes ${title}`, function* () {
      const { realm, says, seen, ready, logged } = yield* setUp(publishing("realm"))
      equal(yield* says(tokenOf("realm")), "accepted")
      realm.answer = { body: JSON.stringify({ keys }) }
      yield* TestClock.adjust(`${REFRESH_S} seconds`)
      yield* until(() => seen.length === 2)
      const reason = "no keys: the key set holds no RS256 key"
      // A token of an unknown key waits for the fetch that is under way.
      equal(yield* says(tokenOf("other")), reason)
      for (const token of [tokenOf("realm"), tokenOf("realm", undefined)]) equal(yield* says(token), reason)
      equal(yield* ready, reason)
      deepEqual(logged, [
        "Info Keys of the realm in force: 1",
        "Warn The realm publishes no RS256 key: no token can be accepted",
      ])

      realm.answer = publishing("realm")
      yield* TestClock.adjust("1 seconds")
      equal(yield* says(tokenOf("realm")), "accepted")
      equal(logged.at(-1), "Info Keys of the realm in force: 1")
    })

  effectTest("gives no verdict within the deadline when the realm never answers", function* () {
    const { says, seen } = yield* setUp(undefined, 3000)
    const verdict = yield* Effect.forkChild(says(tokenOf("realm")), { startImmediately: true })
    yield* until(() => seen.length === 1)
    yield* TestClock.adjust("3 seconds")
    equal(yield* Fiber.join(verdict), "no keys: timeout")
  })

  effectTest("is not read to its end when it is far longer than any key set", function* () {
    const { says } = yield* setUp({ body: `{"keys":[],"more":"${"x".repeat(2 ** 20)}"}` })
    equal(yield* says(tokenOf("realm")), "no keys: oversized")
  })

  for (const [title, answer, reason] of [
    ["is away", AWAY, "status 503"],
    ["answers with a page", { body: "<html>" }, "the answer is no key set"],
    ["answers with JSON that is no key set", { body: '{"error":"later"}' }, "the answer is no key set"],
  ] as const)
    effectTest(`keeps working with known keys while the realm ${title}`, function* () {
      const { realm, says, seen, ready, logged } = yield* setUp(publishing("realm"))
      equal(yield* says(tokenOf("realm")), "accepted")
      realm.answer = answer
      yield* TestClock.adjust(`${REFRESH_S} seconds`)
      yield* until(() => seen.length === 2)
      equal(yield* says(tokenOf("realm", "realm", { jti: "never seen" })), "accepted")
      equal(yield* ready, "ready")
      equal(yield* says(tokenOf("other")), "signature")
      equal(logged.at(-1), `Warn The realm's keys cannot be fetched: ${reason}. The known keys stay in force`)
    })

  effectTest("a caller who gives up does not take along those who wait for the same fetch", function* () {
    const { realm, says, seen } = yield* setUp(publishing("realm"))
    yield* says(tokenOf("realm"))
    realm.answer = undefined
    const first = yield* Effect.forkChild(says(tokenOf("other")), { startImmediately: true })
    yield* until(() => seen.length === 2)
    const second = yield* Effect.forkChild(says(tokenOf("other")), { startImmediately: true })
    realm.answer = publishing("other")
    yield* Fiber.interrupt(first)
    equal(yield* Fiber.join(second), "accepted")
    equal(seen.length, 3)
  })

  effectTest("forgets no token when a refresh brings the same keys", function* () {
    const { says, seen, verifier } = yield* setUp(publishing("realm"))
    yield* says(tokenOf("realm"))
    yield* TestClock.adjust(`${REFRESH_S} seconds`)
    yield* until(() => seen.length === 2)
    // A token of an unknown key waits for the fetch that is under way.
    yield* says(tokenOf("other"))
    const verdict = verifier.verify(tokenOf("realm"))
    equal(Exit.isExit(verdict), true, "the token was checked again")
    equal((yield* verdict).expiresAt, CLAIMS.exp)
  })

  effectTest("refuses a bad token without asking the realm", function* () {
    const { says, seen } = yield* setUp(publishing("realm"))
    yield* says(tokenOf("realm"))
    const before = seen.length
    equal(yield* says("not.a.token"), "malformed")
    equal(yield* says(signToken({ alg: "none", kid: "made-up" }, CLAIMS)), "algorithm")
    equal(seen.length, before)
  })
})
