// No token and no client secret in anything that can be printed: errors, their stacks, JSON, inspection, logs.
import { equal, ok } from "node:assert/strict"
import { describe } from "node:test"
import { inspect } from "node:util"
import { Cause, Context, Effect, Layer, Logger, Redacted } from "effect"
import { layer as issuerLayer } from "../../../adapters/driven/token_issuer/http.ts"
import { layer as verifierLayer } from "../../../adapters/driven/token_verifier/jose.ts"
import { authenticate } from "../../../application/identity/authenticate.ts"
import { makeRequestToken } from "../../../application/identity/request_token.ts"
import { TokenVerifier } from "../../../domain/identity/token_verifier.ts"
import { effectTest } from "../../support/effect_test.ts"
import { identityProvider } from "../../support/identity_provider.ts"
import { type Answer, localServer } from "../../support/local_server.ts"
import { bareOf, KEYS, NOW, tokenKit } from "../../support/tokens.ts"

const kit = tokenKit(NOW)
const SECRET = "s3cr3t-0f-the-client"
const ISSUED = "issued-t0ken-text"

/** Everything a logger, a console or a serialiser could make of a value. */
const shown = (value: unknown): string => {
  const own = value instanceof Error ? [value.message, value.stack, Object.getOwnPropertyNames(value)] : []
  return [inspect(value, { depth: 20, showHidden: true }), JSON.stringify(value), String(value), ...own].join("\n")
}

/** Runs the program and gives all it left behind: its exit in every spelling, and every log line. */
const traces = <A, E, R>(program: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const capture = Logger.make((entry) => void lines.push(inspect(entry, { depth: 20 }), shown(entry.message)))
    const exit = yield* program.pipe(
      Effect.tapCause((cause) => Effect.logError("failed", cause)),
      Effect.exit,
      Effect.provide(Logger.layer([capture, Logger.formatJson.pipe(Logger.map((line) => lines.push(line)))])),
    )
    ok(lines.length > 0, "nothing was logged, so nothing was proven")
    const failures = exit._tag === "Failure" ? [Cause.pretty(exit.cause), ...exit.cause.reasons.map(shown)] : []
    return { exit, text: [shown(exit), ...failures, ...lines].join("\n") }
  })

const hides = (text: string, secrets: ReadonlyArray<string>) => {
  for (const secret of secrets)
    for (const spelling of [secret, encodeURIComponent(secret), Buffer.from(secret).toString("base64")])
      equal(text.includes(spelling), false, `shows ${spelling.slice(0, 12)}...`)
}

const ANSWERS: ReadonlyArray<readonly [title: string, answer: Answer | undefined]> = [
  ["refused with the secret in the description", undefined],
  ["refused with the secret as the error code", { status: 400, body: JSON.stringify({ error: SECRET }) }],
  ["answered with a page that repeats the form", { status: 200, body: `<html>${SECRET}</html>` }],
  ["answered with a token of another type", { body: JSON.stringify({ access_token: ISSUED, token_type: "mac" }) }],
  ["redirected", { status: 302, headers: { location: `http://localhost:1/?client_secret=${SECRET}` } }],
  ["down", { status: 503, body: SECRET }],
]

describe("secrets", () => {
  for (const [title, answer] of ANSWERS)
    effectTest(`a token request that is ${title} shows no secret`, function* () {
      const provider = yield* identityProvider({ clients: new Map([["portolan", "another"]]), instead: () => answer })
      const { exit, text } = yield* traces(
        Effect.flatten(makeRequestToken).pipe(
          Effect.provide(
            issuerLayer({
              authUrl: `${provider.url}/auth`,
              realm: "demo realm",
              clientId: "portolan",
              clientSecret: Redacted.make(SECRET),
            }),
          ),
        ),
      )
      equal(exit._tag, "Failure")
      ok(text.includes("TokenRequestFailed"))
      ok(provider.seen[0]?.body.includes(SECRET), "the secret was never sent, so nothing was proven")
      hides(text, [SECRET, ISSUED])
    })

  effectTest("an issued token shows itself to nobody who does not ask for its text", function* () {
    const provider = yield* localServer(() => ({ body: JSON.stringify({ access_token: ISSUED, expires_in: 60 }) }))
    const { exit, text } = yield* traces(
      Effect.flatten(makeRequestToken).pipe(
        Effect.tap((token) => Effect.log("got", token)),
        Effect.provide(
          issuerLayer({ authUrl: provider.url, realm: "demo", clientId: "x", clientSecret: Redacted.make(SECRET) }),
        ),
      ),
    )
    equal(exit._tag, "Success")
    hides(text, [SECRET, ISSUED])
  })

  for (const [title, token] of [
    ["expired", kit.access({ exp: NOW - 1 })],
    ["of the wrong kind", kit.idToken()],
    ["with a broken signature", `${kit.access().slice(0, -8)}AAAAAAAA`],
    ["that is malformed", `${kit.access()}=`],
  ] as const)
    effectTest(`a refused token ${title} shows no part of itself`, function* () {
      const { exit, text } = yield* traces(
        Effect.flatMap(TokenVerifier, (verifier) => authenticate(verifier, `Bearer ${token}`)).pipe(
          Effect.provide(verifierLayer({ keys: bareOf(KEYS.realm().publicKey), issuer: kit.issuer }, () => NOW)),
        ),
      )
      equal(exit._tag, "Failure")
      ok(text.includes("Unauthenticated"))
      hides(text, [token, ...token.split(".")])
    })

  effectTest("a realm that is away shows neither the token nor the query of its address", function* () {
    const realm = yield* localServer(() => ({ status: 500, body: SECRET }))
    const { exit, text } = yield* traces(
      Effect.gen(function* () {
        const context = yield* Layer.build(verifierLayer({ jwksUrl: `${realm.url}/certs?key=${SECRET}` }))
        return yield* Context.get(context, TokenVerifier).verify(kit.access())
      }),
    )
    equal(exit._tag, "Failure")
    ok(text.includes("KeysUnavailable") && realm.seen[0]?.path.includes(SECRET))
    hides(text, [SECRET, kit.access()])
  })
})
