// What every TokenVerifier does, over the in-memory one, jose with a fixed key, and jose with a published key set.
import { deepEqual, equal } from "node:assert/strict"
import { describe } from "node:test"
import { Effect, Exit, type Layer, type Scope } from "effect"
import { TestClock } from "effect/testing"
import * as jose from "../../adapters/driven/token_verifier/jose.ts"
import * as memory from "../../adapters/driven/token_verifier/memory.ts"
import type { InvalidIdentitySetup } from "../../domain/identity/errors.ts"
import { TokenVerifier } from "../../domain/identity/token_verifier.ts"
import { effectTest, virtualNow } from "../support/effect_test.ts"
import { localServer } from "../support/local_server.ts"
import { bareOf, jwkOf, KEYS, NOW, tokenKit } from "../support/tokens.ts"

const kit = tokenKit(NOW)

const ADMIN = kit.access({ realm_access: { roles: ["admin"] } })
const NOBODY = kit.access({ realm_access: undefined, sub: undefined })
const CLAIMS = new Map([
  [ADMIN, { subject: String(kit.claims["sub"]), roles: new Set(["admin"]), expiresAt: NOW + 300 }],
  [NOBODY, { subject: undefined, roles: new Set<string>(), expiresAt: NOW + 300 }],
])

type Made = Effect.Effect<(now: () => number) => Layer.Layer<TokenVerifier, InvalidIdentitySetup>, never, Scope.Scope>

const ADAPTERS: ReadonlyArray<readonly [name: string, make: Made]> = [
  ["memory", Effect.succeed((now) => memory.layer(CLAIMS, now))],
  ["jose with a fixed key", Effect.succeed((now) => jose.layer({ keys: bareOf(KEYS.realm().publicKey) }, now))],
  [
    "jose with a published key set",
    Effect.map(
      localServer(() => ({
        body: JSON.stringify({ keys: [jwkOf(KEYS.realm().publicKey, { kid: kit.header["kid"] })] }),
      })),
      ({ url }) =>
        (now: () => number) =>
          jose.layer({ jwksUrl: `${url}/certs` }, now),
    ),
  ],
]

for (const [name, make] of ADAPTERS)
  describe(`TokenVerifier: ${name}`, () => {
    /** Runs against one verifier, at the instant the tokens were made. */
    const withVerifier = <A, E>(use: (verify: TokenVerifier["Service"]["verify"]) => Effect.Effect<A, E>) =>
      Effect.gen(function* () {
        yield* TestClock.setTime(NOW * 1000)
        const layer = yield* make
        return yield* Effect.provide(
          Effect.flatMap(TokenVerifier, ({ verify }) => use(verify)),
          layer(yield* virtualNow),
        )
      })

    for (const [token, claims] of CLAIMS)
      effectTest(`gives the claims of ${claims.subject ?? "a token without subject and roles"}, again and again`, () =>
        withVerifier((verify) =>
          Effect.gen(function* () {
            deepEqual(yield* verify(token), claims)
            deepEqual(yield* verify(token), claims)
          }),
        ),
      )

    effectTest("refuses a token from the instant of its expiry, remembered or not", () =>
      withVerifier((verify) =>
        Effect.gen(function* () {
          yield* verify(ADMIN)
          yield* TestClock.setTime((NOW + 299) * 1000)
          yield* verify(ADMIN)
          yield* TestClock.setTime((NOW + 300) * 1000)
          for (const token of [ADMIN, NOBODY]) {
            const refusal = yield* Effect.flip(verify(token))
            deepEqual([refusal._tag, refusal.reason], ["Unauthenticated", "expired"])
          }
        }),
      ),
    )

    effectTest("gives the verdict over a token it has accepted before at once, without a fiber", () =>
      withVerifier((verify) =>
        Effect.gen(function* () {
          const claims = yield* verify(ADMIN)
          const verdict = verify(ADMIN)
          equal(Exit.isExit(verdict), true)
          deepEqual(yield* verdict, claims)
        }),
      ),
    )

    effectTest("refuses at once, without a fiber, what has not the shape of a token", () =>
      withVerifier((verify) =>
        Effect.gen(function* () {
          for (const token of ["", "x", `${ADMIN}=`, "a.b.c.d"]) {
            const verdict = verify(token)
            equal(Exit.isExit(verdict), true)
            equal((yield* Effect.flip(verdict))._tag, "Unauthenticated")
          }
        }),
      ),
    )

    for (const token of [
      "",
      "x",
      `${ADMIN}x`,
      `${ADMIN}=`,
      ` ${ADMIN}`,
      ADMIN.slice(0, -1),
      ADMIN.toLowerCase(),
      ADMIN.replace(/.{9}$/, "AAAAAAAAA"),
      "__proto__",
    ])
      effectTest(`refuses ...${token.slice(-12)}, and an accepted token changes nothing of that`, () =>
        withVerifier((verify) =>
          Effect.gen(function* () {
            equal((yield* Effect.flip(verify(token)))._tag, "Unauthenticated")
            yield* verify(ADMIN)
            equal((yield* Effect.flip(verify(token)))._tag, "Unauthenticated")
          }),
        ),
      )
  })
