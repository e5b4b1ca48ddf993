// The token check list at the level of the use cases: header value in, claims or refusal out. No HTTP server involved.
import { equal, ok } from "node:assert/strict"
import { after, describe, test } from "node:test"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { layer } from "../../../adapters/driven/token_verifier/jose.ts"
import { authenticate } from "../../../application/identity/authenticate.ts"
import { authorize, makeAccess } from "../../../domain/identity/claims.ts"
import { TokenVerifier } from "../../../domain/identity/token_verifier.ts"
import { effectTest } from "../../support/effect_test.ts"
import { localServer } from "../../support/local_server.ts"
import { SETUP_CASES } from "../../support/token_cases/setup.ts"
import { TOKEN_CASES } from "../../support/token_cases/table.ts"
import { defaultSetup, type TokenCase } from "../../support/token_cases/token_case.ts"
import { NOW, tokenKit } from "../../support/tokens.ts"

const kit = tokenKit(NOW)

const STATUS_OF = { Unauthenticated: 401, Forbidden: 403 } as const

/** The status the service gives for this request. */
const statusOf = Effect.fnUntraced(function* (each: TokenCase, jwksUrl: string, trap: string) {
  const { authorization } = each.make(kit, trap)
  const { keys, issuer, ...setup } = { ...defaultSetup(kit), ...each.setup }
  const options = {
    ...setup,
    ...(issuer === undefined ? {} : { issuer }),
    ...(each.published === undefined ? { keys: keys ?? "" } : { jwksUrl }),
  }
  const verifier = Context.get(yield* Layer.build(layer(options, () => NOW)), TokenVerifier)
  return yield* authenticate(verifier, authorization.length === 0 ? null : authorization.join(", ")).pipe(
    Effect.flatMap((claims) => authorize(claims, each.roles === undefined ? "authenticated" : { roles: each.roles })),
    Effect.as(200),
    Effect.catchTag(["Unauthenticated", "Forbidden"], (refusal) => Effect.succeed(STATUS_OF[refusal._tag])),
  )
}, Effect.scoped)

const scope = Scope.makeUnsafe()
const trap = Effect.runSync(
  Effect.cached(
    Scope.provide(
      localServer(() => ({})),
      scope,
    ),
  ),
)

describe("token check list", () => {
  after(() => Effect.runPromise(Scope.close(scope, Exit.void)))

  for (const each of TOKEN_CASES)
    effectTest(`${each.id} ${each.title} -> ${each.expect}`, function* () {
      const body = each.published === undefined ? undefined : JSON.stringify(each.published())
      const jwksUrl = body === undefined ? "" : `${(yield* localServer(() => ({ body }))).url}/certs`
      equal(yield* statusOf(each, jwksUrl, (yield* trap).url), each.expect)
      equal((yield* trap).seen.length, 0, "an address of the token was called")
    })

  for (const { id, title, option, setup } of SETUP_CASES)
    effectTest(`${id} setup with ${title} is refused`, function* () {
      const refusal = yield* Effect.flip(Effect.scoped(Layer.build(layer(setup()))))
      equal(refusal._tag, "InvalidIdentitySetup")
      equal(refusal.option, option)
      for (const given of Object.values(setup()))
        if (typeof given === "string" && given.trim().length > 3)
          ok(!JSON.stringify([refusal, refusal.message, refusal.stack]).includes(given.trim().slice(0, 40)))
    })

  for (const roles of [[], [""], ["admin", " "]])
    effectTest(`J87 a route for the roles ${JSON.stringify(roles)} is a setup error`, function* () {
      equal((yield* Effect.flip(makeAccess({ roles }))).option, "roles")
    })

  test("covers the whole list", () => {
    // J42, J80 and J93 are sequences of requests and have tests of their own.
    const covered = new Set([...TOKEN_CASES, ...SETUP_CASES].map(({ id }) => id).concat("J42", "J80", "J87", "J93"))
    const wanted = Array.from({ length: 93 }, (_, n) => `J${String(n + 1).padStart(2, "0")}`)
    equal([...covered].sort().join(" "), wanted.join(" "))
  })
})
