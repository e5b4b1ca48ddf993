// What every TokenIssuer does, over the in-memory one and the HTTP one in front of a made-up identity provider.
import { deepEqual, equal } from "node:assert/strict"
import { describe } from "node:test"
import { Effect, type Layer, Redacted, type Scope } from "effect"
import { TestClock } from "effect/testing"
import * as http from "../../adapters/driven/token_issuer/http.ts"
import * as memory from "../../adapters/driven/token_issuer/memory.ts"
import type { InvalidIdentitySetup } from "../../domain/identity/errors.ts"
import { TokenIssuer } from "../../domain/identity/token_issuer.ts"
import { effectTest } from "../support/effect_test.ts"
import { identityProvider } from "../support/identity_provider.ts"
import { NOW } from "../support/tokens.ts"

/** Every character a form can get wrong. */
const SECRET = "s3cr&t=+ %/\u00E4\u{1F511}"
const CLIENTS = new Map([["portolan service", SECRET]])

interface Wanted {
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted<string>
  readonly lifetimeS?: number
}

type Made = Effect.Effect<Layer.Layer<TokenIssuer, InvalidIdentitySetup>, never, Scope.Scope>

const ADAPTERS: ReadonlyArray<readonly [name: string, make: (wanted: Wanted) => Made]> = [
  ["memory", (wanted) => Effect.succeed(memory.layer({ ...wanted, clients: CLIENTS }))],
  [
    "http",
    ({ lifetimeS, ...wanted }) =>
      Effect.map(identityProvider({ clients: CLIENTS, ...(lifetimeS === undefined ? {} : { lifetimeS }) }), ({ url }) =>
        http.layer({ ...wanted, authUrl: `${url}/auth/`, realm: "demo realm" }),
      ),
  ],
]

const GOOD: Wanted = { clientId: "portolan service", clientSecret: Redacted.make(SECRET), lifetimeS: 300 }

for (const [name, make] of ADAPTERS)
  describe(`TokenIssuer: ${name}`, () => {
    const request = (wanted: Wanted) =>
      Effect.flatMap(make(wanted), (layer) =>
        Effect.provide(
          Effect.flatMap(TokenIssuer, ({ requestToken }) => requestToken),
          layer,
        ),
      )

    effectTest("gives a token and when it expires", function* () {
      yield* TestClock.setTime(NOW * 1000)
      const token = yield* request(GOOD)
      equal(Redacted.value(token.text), "token-1")
      equal(token.expiresAt, NOW + 300)
    })

    effectTest("gives a token without an expiry when none is told", function* () {
      const token = yield* request({ clientId: GOOD.clientId, clientSecret: GOOD.clientSecret })
      equal("expiresAt" in token, false)
    })

    effectTest("asks anew each time", function* () {
      const layer = yield* make(GOOD)
      const texts = yield* Effect.gen(function* () {
        const { requestToken } = yield* TokenIssuer
        return [(yield* requestToken).text, (yield* requestToken).text].map(Redacted.value)
      }).pipe(Effect.provide(layer))
      deepEqual(texts, ["token-1", "token-2"])
    })

    for (const [title, wanted, error] of [
      ["a wrong secret", { ...GOOD, clientSecret: Redacted.make("wrong") }, "unauthorized_client"],
      ["an unknown client", { ...GOOD, clientId: "nobody" }, "invalid_client"],
    ] as const)
      effectTest(`is refused with ${title}`, function* () {
        const refusal = yield* Effect.flip(request(wanted))
        equal(refusal._tag, "TokenRequestFailed")
        if (refusal._tag !== "TokenRequestFailed") return
        deepEqual([refusal.kind, refusal.error, refusal.status], ["refused", error, 401])
      })
  })
