import { deepEqual, equal } from "node:assert/strict"
import { describe } from "node:test"
import { Effect, Fiber, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { layer } from "../../../adapters/driven/token_issuer/http.ts"
import { type IssuerOptions, readToken, tokenRequest } from "../../../adapters/driven/token_issuer/token_request.ts"
import { TokenIssuer } from "../../../domain/identity/token_issuer.ts"
import { effectTest } from "../../support/effect_test.ts"
import { type Answer, localServer } from "../../support/local_server.ts"

const OPTIONS: IssuerOptions = {
  authUrl: "http://localhost:8180",
  realm: "demo",
  clientId: "portolan-service",
  clientSecret: Redacted.make("a&b=c d+e"),
}

const answer = (status: number, body: unknown) => ({
  status,
  headers: new Headers(),
  text: typeof body === "string" ? body : JSON.stringify(body),
})

describe("the token request", () => {
  effectTest("is a form of three fields to the realm's token address", function* () {
    const { method, url, query, headers, body, timeoutMs } = yield* tokenRequest(OPTIONS)
    equal(timeoutMs, 10_000)
    deepEqual(
      [method, url, query],
      ["POST", "http://localhost:8180/realms/demo/protocol/openid-connect/token", undefined],
    )
    deepEqual(headers, { "content-type": "application/x-www-form-urlencoded", accept: "application/json" })
    equal(body, "grant_type=client_credentials&client_id=portolan-service&client_secret=a%26b%3Dc+d%2Be")
  })

  for (const [authUrl, realm, url] of [
    ["http://idp", "demo", "http://idp/realms/demo/protocol/openid-connect/token"],
    ["http://idp/auth//", "demo", "http://idp/auth/realms/demo/protocol/openid-connect/token"],
    ["https://idp:8443/", "a/../b?c", "https://idp:8443/realms/a%2F..%2Fb%3Fc/protocol/openid-connect/token"],
  ] as const)
    effectTest(`goes to ${url}`, function* () {
      equal((yield* tokenRequest({ ...OPTIONS, authUrl, realm })).url, url)
    })

  for (const [option, value] of [
    ["authUrl", ""],
    ["authUrl", "idp"],
    ["authUrl", "ftp://idp"],
    ["authUrl", "http://user:password@idp"],
    ["authUrl", "http://idp?x=1"],
    ["realm", ""],
    ["realm", ".."],
    ["realm", "."],
    ["realm", "\uD800"],
    ["clientId", " "],
    ["clientSecret", Redacted.make("")],
  ] as const)
    effectTest(`cannot be made with ${option} ${JSON.stringify(value)}`, function* () {
      const refusal = yield* Effect.flip(tokenRequest({ ...OPTIONS, [option]: value }))
      equal(refusal.option, option)
    })
})

describe("the answer to a token request", () => {
  effectTest("counts the lifetime from when the request left", function* () {
    const token = yield* readToken(answer(200, { access_token: "t", token_type: "bearer", expires_in: 60 }), 1000)
    deepEqual([Redacted.value(token.text), token.expiresAt], ["t", 1060])
  })

  for (const expires_in of [undefined, null, "60", 0, -1])
    effectTest(`has no expiry with expires_in ${JSON.stringify(expires_in) ?? "missing"}`, function* () {
      equal((yield* readToken(answer(200, { access_token: "t", expires_in }), 1000)).expiresAt, undefined)
    })

  for (const [status, body, expected] of [
    [200, "<html>", { kind: "malformed", status: 200 }],
    [200, "", { kind: "malformed", status: 200 }],
    [200, [], { kind: "malformed", status: 200 }],
    [200, "null", { kind: "malformed", status: 200 }],
    [200, { access_token: "" }, { kind: "malformed", status: 200 }],
    [200, { access_token: { a: 1 } }, { kind: "malformed", status: 200 }],
    [200, { access_token: "t", token_type: "DPoP" }, { kind: "malformed", status: 200 }],
    [400, { error: "unauthorized_client" }, { kind: "refused", status: 400, error: "unauthorized_client" }],
    [401, { error: "invalid_client" }, { kind: "refused", status: 401, error: "invalid_client" }],
    [401, { error: "the secret s3cret is wrong" }, { kind: "refused", status: 401 }],
    [401, { error: { a: 1 } }, { kind: "refused", status: 401 }],
    [401, "<html>", { kind: "refused", status: 401 }],
    [404, { error: "Realm does not exist" }, { kind: "refused", status: 404 }],
    [429, { error: "slow_down" }, { kind: "unreachable", status: 429 }],
    [503, "<html>", { kind: "unreachable", status: 503 }],
  ] as const)
    effectTest(`${status} ${JSON.stringify(body)} is ${JSON.stringify(expected)}`, function* () {
      const { kind, status: got, error } = yield* Effect.flip(readToken(answer(status, body), 1000))
      deepEqual({ kind, status: got, ...(error === undefined ? {} : { error }) }, expected)
    })
})

describe("the identity provider", () => {
  const request = Effect.fnUntraced(function* (authUrl: string, more: Partial<IssuerOptions> = {}) {
    const { requestToken } = yield* TokenIssuer.pipe(Effect.provide(layer({ ...OPTIONS, ...more, authUrl })))
    return yield* Effect.flip(requestToken)
  })

  effectTest("that is not there is unreachable", function* () {
    const { url } = yield* Effect.scoped(localServer(() => ({})))
    equal((yield* request(url)).kind, "unreachable")
  })

  effectTest("that never answers times out", function* () {
    const { url } = yield* localServer(() => undefined)
    const refusal = yield* Effect.forkChild(request(url, { timeoutMs: 3000 }), { startImmediately: true })
    yield* TestClock.adjust("3 seconds")
    equal((yield* Fiber.join(refusal)).kind, "timeout")
  })

  effectTest("that redirects gets the secret once and nobody else does", function* () {
    const elsewhere = yield* localServer(() => ({ body: '{"access_token":"t"}' }))
    const redirecting: Answer = { status: 307, headers: { location: `${elsewhere.url}/token` } }
    const { url, seen } = yield* localServer(() => redirecting)
    equal((yield* request(url)).kind, "unreachable")
    deepEqual([seen.length, elsewhere.seen.length], [1, 0])
  })
})
