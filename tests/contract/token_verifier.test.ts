// What every TokenVerifier does, over the in-memory one, jose with a fixed key, and jose with a published key set.
import { deepEqual, equal } from "node:assert/strict"
import { describe } from "node:test"
import { Effect, type Layer, type Scope } from "effect"
import { TestClock } from "effect/testing"
import * as jose from "../../adapters/driven/token_verifier/jose.ts"
import * as memory from "../../adapters/driven/token_verifier/memory.ts"
import type { InvalidIdentitySetup } from "../../domain/identity/errors.ts"
import { TokenVerifier } from "../../domain/identity/token_verifier.ts"
import { effectTest } from "../support/effect_test.ts"
import { localServer } from "../support/local_server.ts"
import { bareOf, jwkOf, KEYS, tokenKit } from "../support/tokens.ts"

/** 2026-11-21T10:00:00Z, in seconds. */
const NOW = 1_795_255_200
const kit = tokenKit(NOW)

const ADMIN = kit.access({ realm_access: { roles: ["admin"] } })
const NOBODY = kit.access({ realm_access: undefined, sub: undefined })
const CLAIMS = new Map([
  [ADMIN, { subject: String(kit.claims["sub"]), roles: new Set(["admin"]), expiresAt: NOW + 300 }],
  [NOBODY, { subject: undefined, roles: new Set<string>(), expiresAt: NOW + 300 }],
])

type Made = Effect.Effect<Layer.Layer<TokenVerifier, InvalidIdentitySetup>, never, Scope.Scope>

const ADAPTERS: ReadonlyArray<readonly [name: string, make: Made]> = [
  ["memory", Effect.succeed(memory.layer(CLAIMS))],
  ["jose with a fixed key", Effect.succeed(jose.layer({ keys: bareOf(KEYS.realm().publicKey) }))],
  [
    "jose with a published key set",
    Effect.map(
      localServer(() => ({
        body: JSON.stringify({ keys: [jwkOf(KEYS.realm().publicKey, { kid: kit.header["kid"] })] }),
      })),
      ({ url }) => jose.layer({ jwksUrl: `${url}/certs` }),
    ),
  ],
]

for (const [name, make] of ADAPTERS)
  describe(`TokenVerifier: ${name}`, () => {
    /** Runs against one verifier, at the instant the tokens were made. */
    const withVerifier = <A, E>(
      use: (
        verify: TokenVerifier["Service"]["verify"],
        recall: TokenVerifier["Service"]["recall"],
      ) => Effect.Effect<A, E>,
    ) =>
      Effect.gen(function* () {
        yield* TestClock.setTime(NOW * 1000)
        const layer = yield* make
        return yield* Effect.provide(
          Effect.flatMap(TokenVerifier, ({ verify, recall }) => use(verify, recall)),
          layer,
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

    effectTest("recalls the claims of a token it has verified until its expiry", () =>
      withVerifier((verify, recall) =>
        Effect.gen(function* () {
          const claims = yield* verify(ADMIN)
          deepEqual(recall(ADMIN, NOW), claims)
          deepEqual(recall(ADMIN, NOW + 299.9), claims)
          equal(recall(ADMIN, NOW + 300), undefined)
        }),
      ),
    )

    effectTest(
      "recalls nothing of a token it has refused, nor of one that shares a beginning or an end with a good one",
      () =>
        withVerifier((verify, recall) =>
          Effect.gen(function* () {
            yield* verify(ADMIN)
            const broken = `${ADMIN.slice(0, -8)}AAAAAAAA`
            yield* Effect.flip(verify(broken))
            for (const token of [broken, "", ADMIN.slice(0, -1), `${ADMIN}=`, ` ${ADMIN}`, ADMIN.toLowerCase()])
              equal(recall(token, NOW), undefined)
          }),
        ),
    )

    for (const token of ["", "x", `${ADMIN}x`, ADMIN.slice(0, -1), ADMIN.replace(/.{9}$/, "AAAAAAAAA"), "__proto__"])
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
