import { deepEqual, equal, match, ok } from "node:assert/strict"
import { describe } from "node:test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { decide } from "../../../application/gateway/decide.ts"
import type { GatewayRequest } from "../../../domain/gateway/gateway_request.ts"
import type { Header, Verdict } from "../../../domain/gateway/verdict.ts"
import type { TokenObject } from "../../../domain/identity/token_kind.ts"
import { effectTest } from "../../support/effect_test.ts"
import { CLIENT, type FakeRealm, fakeRealm, ISSUER, portsOf, settings } from "./fake_realm.ts"

const HOST: Header = ["host", "gateway.example"]

const get = (rawTarget: string, ...headers: ReadonlyArray<Header>): GatewayRequest => ({
  method: "GET",
  rawTarget,
  headers: [HOST, ...headers],
})

const bearer = (token: string): Header => ["authorization", `Bearer ${token}`]

const brief = (verdict: Verdict): string =>
  verdict.kind === "refuse"
    ? `${verdict.status}`
    : verdict.kind === "forward"
      ? `forward ${verdict.target}`
      : "redirect"

const COMMON = { iss: ISSUER, exp: 300, iat: 0, sub: "alice" }
const ACCESS: TokenObject = { ...COMMON, typ: "Bearer", aud: "account", azp: CLIENT, realm_access: { roles: ["user"] } }
const ID: TokenObject = { ...COMMON, typ: "ID", aud: CLIENT }

const give = (realm: FakeRealm, name: string, payload: TokenObject) =>
  realm.tokens.set(name, { header: { alg: "RS256", typ: "JWT" }, payload })

/** A gateway over a fake realm, and its answer to one request after another. */
const withRealm = (
  program: (
    ask: (request: GatewayRequest, more?: Partial<typeof settings>) => Effect.Effect<Verdict>,
    realm: FakeRealm,
  ) => Effect.Effect<unknown>,
) =>
  Effect.suspend(() => {
    const realm = fakeRealm()
    give(realm, "access", ACCESS)
    give(realm, "id", ID)
    return Effect.gen(function* () {
      const context = yield* Effect.context<Effect.Services<ReturnType<typeof decide>>>()
      yield* program((request, more) => Effect.provide(decide(request, { ...settings, ...more }), context), realm)
    }).pipe(Effect.provide(portsOf(realm)))
  })

describe("decide()", () => {
  for (const [name, request, expected] of [
    ["the allowed path", get("/open/allowed"), "forward /allowed"],
    ["its query", get("/open/allowed?a=b"), "forward /allowed?a=b"],
    ["the secret path", get("/open/secret"), "403"],
    ["a trick", get("/open/allowed/../secret"), "403"],
    ["no URI", get("/open/allowed%00"), "400"],
    ["no route", get("/nothing"), "404"],
    ["two hosts", { ...get("/open/allowed", HOST) }, "400"],
    ["two credentials", get("/jwt/x", bearer("access"), bearer("access")), "400"],
    ["chunks", get("/open/allowed", ["transfer-encoding", "Chunked"]), "forward /allowed"],
    ["a coding beside chunks", get("/open/allowed", ["transfer-encoding", "gzip, chunked"]), "400"],
    ["TRACE", { ...get("/open/allowed"), method: "TRACE" }, "405"],
    ["CONNECT", { ...get("/open/allowed"), method: "CONNECT" }, "405"],
    ["access on /jwt", get("/jwt/x", bearer("access")), "forward /x"],
    ["ID on /jwt", get("/jwt/x", bearer("id")), "401"],
    ["ID on /api", get("/api/x", bearer("id")), "forward /x"],
    ["access on /api", get("/api/x", bearer("access")), "401"],
    ["access on /api-access", get("/api-access/x", bearer("access")), "forward /x"],
    ["ID on /api-access", get("/api-access/x", bearer("id")), "401"],
    ["nothing on /api", get("/api/x"), "401"],
    ["a browser on /oidc", get("/oidc/x"), "redirect"],
    ["a bearer on /oidc", get("/oidc/x", bearer("access")), "redirect"],
  ] as const)
    effectTest(`${name}: ${expected}`, () =>
      withRealm((ask) => Effect.map(ask(request), (verdict) => equal(brief(verdict), expected))),
    )

  const untyped = { ...COMMON, aud: CLIENT }
  for (const [name, payload, onJwt, onApi] of [
    ["a token without typ for us alone is an ID token", untyped, "401", "forward /x"],
    ["a token without typ for others is an access token", { ...COMMON, aud: "account" }, "forward /x", "401"],
    ["a list of one audience", { ...ID, aud: [CLIENT] }, "401", "forward /x"],
    ["a list of two audiences", { ...ID, aud: [CLIENT, "other"] }, "401", "401"],
    ["an ID token of another client", { ...ID, azp: "other" }, "401", "401"],
    ["an ID token without subject", { ...ID, sub: undefined }, "401", "401"],
    ["issued in two minutes", { ...ID, iat: 120 }, "401", "401"],
    ["issued half a minute ahead", { ...ID, iat: 30 }, "401", "forward /x"],
  ] as const)
    effectTest(name, () =>
      withRealm((ask, realm) =>
        Effect.gen(function* () {
          give(realm, "t", payload)
          equal(brief(yield* ask(get("/jwt/x", bearer("t")))), onJwt)
          equal(brief(yield* ask(get("/api/x", bearer("t")))), onApi)
        }),
      ),
    )

  effectTest("a token that was good is refused once its time is over", () =>
    withRealm((ask) =>
      Effect.gen(function* () {
        equal(brief(yield* ask(get("/jwt/x", bearer("access")))), "forward /x")
        yield* TestClock.adjust("300 seconds")
        equal(brief(yield* ask(get("/jwt/x", bearer("access")))), "401")
      }),
    ),
  )

  effectTest("roles are asked for when configured: any one of them", () =>
    withRealm((ask) =>
      Effect.gen(function* () {
        const request = get("/jwt/x", bearer("access"))
        equal(brief(yield* ask(request, { jwtRoles: ["admin", "user"] })), "forward /x")
        const refused = yield* ask(request, { jwtRoles: ["admin"] })
        ok(refused.kind === "refuse")
        equal(refused.status, 403)
        ok(refused.headers.some(([, value]) => value === 'Bearer realm="demo", error="insufficient_scope"'))
      }),
    ),
  )

  for (const [keys, status] of [
    ["down", "503"],
    ["broken", "500"],
  ] as const)
    effectTest(`keys ${keys}: ${status}, never through`, () =>
      withRealm((ask, realm) =>
        Effect.gen(function* () {
          realm.keys = keys
          for (const request of [get("/jwt/x", bearer("access")), get("/api/x", bearer("id")), get("/oidc/x")])
            equal(brief(yield* ask(request)), status)
          equal(brief(yield* ask(get("/open/allowed"))), "forward /allowed")
          equal(brief(yield* ask(get("/jwt/x"))), "401")
        }),
      ),
    )

  effectTest("a policy that throws refuses", () =>
    withRealm((ask) =>
      Effect.gen(function* () {
        const broken = new Proxy(settings.allowedPaths, {
          get: () => {
            throw new Error("broken settings")
          },
        })
        equal(brief(yield* ask(get("/open/allowed"), { allowedPaths: broken })), "500")
      }),
    ),
  )

  effectTest("no refusal repeats what was sent", () =>
    withRealm((ask) =>
      Effect.gen(function* () {
        const marked = "zzmarkzz"
        const requests = [
          get(`/open/${marked}`, ["x-mark", marked]),
          get(`/${marked}`),
          get(`/${marked}/../x`),
          get("/jwt/x", bearer(marked)),
          get(`/oidc/cb?error=${marked}&state=${marked}&error_description=${marked}`),
        ]
        for (const request of requests) {
          const verdict = yield* ask(request)
          equal(verdict.kind, "refuse")
          ok(!JSON.stringify(verdict).includes(marked))
        }
      }),
    ),
  )
})

const cookiesOf = (verdict: Verdict): ReadonlyArray<string> =>
  verdict.kind === "redirect" ? verdict.headers.filter(([name]) => name === "set-cookie").map(([, value]) => value) : []

const cookie = (verdict: Verdict, name: string): string =>
  cookiesOf(verdict)
    .map((line) => line.split(";")[0] ?? "")
    .find((pair) => pair.startsWith(`${name}=`)) ?? ""

const locationOf = (verdict: Verdict): URL =>
  new URL(verdict.kind === "redirect" ? verdict.location : "", "http://none.example")

describe("the browser's login", () => {
  /** Begins a login and lets the provider answer with an ID token for it. */
  const begun = Effect.fnUntraced(function* (
    ask: (request: GatewayRequest) => Effect.Effect<Verdict>,
    realm: FakeRealm,
    more: TokenObject = {},
    wanted = "/oidc/page?x=1",
  ) {
    const sent = yield* ask(get(wanted))
    const query = locationOf(sent).searchParams
    give(realm, "login", { ...ID, nonce: query.get("nonce"), ...more })
    realm.exchange = "login"
    const state = query.get("state") ?? ""
    return { sent, query, state, login: ["cookie", cookie(sent, "portolan_login")] as const }
  })

  effectTest("sends the browser with code flow, PKCE, state and nonce, and binds it with a cookie", () =>
    withRealm((ask, realm) =>
      Effect.gen(function* () {
        const { sent, query } = yield* begun(ask, realm)
        equal(locationOf(sent).origin + locationOf(sent).pathname, settings.authorizationUrl)
        equal(query.get("redirect_uri"), "http://gateway.example/oidc/cb")
        equal(query.get("code_challenge_method"), "S256")
        match(query.get("code_challenge") ?? "", /^digest-of-/)
        ok(!locationOf(sent).href.includes(`verifier=`))
        match(cookiesOf(sent).join("\n"), /^portolan_login=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/)
      }),
    ),
  )

  effectTest("opens a session, brings the browser back, and lets it pass with who it is", () =>
    withRealm((ask, realm) =>
      Effect.gen(function* () {
        const { state, login, query } = yield* begun(ask, realm)
        const back = yield* ask(get(`/oidc/cb?code=c&state=${state}&iss=${encodeURIComponent(ISSUER)}`, login))
        equal(locationOf(back).pathname + locationOf(back).search, "/oidc/page?x=1")
        const session: Header = ["cookie", cookie(back, "portolan_session")]
        const passed = yield* ask(get("/oidc/page?x=1", session))
        ok(passed.kind === "forward")
        equal(passed.target, "/page?x=1")
        equal(passed.keepAuthorization, false)
        deepEqual(passed.identity.find(([name]) => name === "x-credential-identifier")?.[1], "alice")
        equal(brief(yield* ask(get("/api/x", session))), "forward /x")
        equal(brief(yield* ask(get("/api-access/x", session))), "401")
        deepEqual(
          realm.asked.verifiers.map((verifier) => `digest-of-${verifier}`),
          [query.get("code_challenge")],
        )
      }),
    ),
  )

  effectTest("with https the cookies are secure and bound to the host", () =>
    withRealm((ask) =>
      Effect.gen(function* () {
        const sent = yield* ask(get("/oidc/x"), { publicUrl: "https://gateway.example" })
        match(cookiesOf(sent).join("\n"), /^__Host-portolan_login=.*; Secure$/)
      }),
    ),
  )

  for (const [name, change, status] of [
    ["a nonce of another login", { nonce: "other" }, "401"],
    ["no nonce", { nonce: undefined }, "401"],
    ["an ID token of another client", { aud: "other" }, "401"],
    ["an access token in its place", { typ: "Bearer" }, "401"],
    ["another issuer", { iss: `${ISSUER}2` }, "401"],
    ["an expired ID token", { exp: 0 }, "401"],
  ] as const)
    effectTest(`${name}: ${status} and no session`, () =>
      withRealm((ask, realm) =>
        Effect.gen(function* () {
          const { state, login } = yield* begun(ask, realm, change)
          const back = yield* ask(get(`/oidc/cb?code=c&state=${state}`, login))
          equal(brief(back), status)
          equal(cookiesOf(back).length, 0)
        }),
      ),
    )

  for (const [name, target, exchanges] of [
    ["no state", "/oidc/cb?code=c", 0],
    ["an unknown state", "/oidc/cb?code=c&state=unknown", 0],
    ["two states", "/oidc/cb?code=c&state=$&state=$", 0],
    ["no code", "/oidc/cb?state=$", 0],
    ["a foreign issuer (RFC 9207)", "/oidc/cb?code=c&state=$&iss=http://evil.example", 0],
    ["a query that cannot be decoded", "/oidc/cb?code=%zz&state=$", 0],
  ] as const)
    effectTest(`${name}: 400, and no code is exchanged`, () =>
      withRealm((ask, realm) =>
        Effect.gen(function* () {
          const { state, login } = yield* begun(ask, realm)
          equal(brief(yield* ask(get(target.replaceAll("$", state), login))), "400")
          equal(realm.asked.exchanges, exchanges)
        }),
      ),
    )

  effectTest("a state works once, for the browser that has it, for ten minutes", () =>
    withRealm((ask, realm) =>
      Effect.gen(function* () {
        const { state, login } = yield* begun(ask, realm)
        const callback = `/oidc/cb?code=c&state=${state}`
        equal(brief(yield* ask(get(callback))), "400")
        equal(brief(yield* ask(get(callback, ["cookie", `portolan_login=${"x".repeat(43)}`]))), "400")
        equal(brief(yield* ask(get(callback, login))), "redirect")
        equal(brief(yield* ask(get(callback, login))), "400")
        const late = yield* begun(ask, realm)
        yield* TestClock.adjust("600 seconds")
        equal(brief(yield* ask(get(`/oidc/cb?code=c&state=${late.state}`, late.login))), "400")
        equal(realm.asked.exchanges, 1)
      }),
    ),
  )

  for (const [exchange, status] of [
    ["refused", "401"],
    ["down", "503"],
  ] as const)
    effectTest(`a code exchange that is ${exchange}: ${status}`, () =>
      withRealm((ask, realm) =>
        Effect.gen(function* () {
          const { state, login } = yield* begun(ask, realm)
          realm.exchange = exchange
          equal(brief(yield* ask(get(`/oidc/cb?code=c&state=${state}`, login))), status)
        }),
      ),
    )

  effectTest("a login the user refused is refused, without going round in circles", () =>
    withRealm((ask, realm) =>
      Effect.gen(function* () {
        const { state, login } = yield* begun(ask, realm)
        equal(brief(yield* ask(get(`/oidc/cb?error=access_denied&state=${state}`, login))), "401")
        equal(realm.asked.exchanges, 0)
      }),
    ),
  )

  effectTest("each login gets a new session id, and the one before is closed", () =>
    withRealm((ask, realm) =>
      Effect.gen(function* () {
        const once = Effect.fnUntraced(function* (...more: ReadonlyArray<Header>) {
          const { state, login } = yield* begun(ask, realm)
          const line = [login[1], ...more.map(([, value]) => value)].join("; ")
          return cookie(yield* ask(get(`/oidc/cb?code=c&state=${state}`, ["cookie", line])), "portolan_session")
        })
        const first = yield* once()
        const second = yield* once(["cookie", first])
        ok(first !== second)
        equal(brief(yield* ask(get("/oidc/x", ["cookie", first]))), "redirect")
        equal(brief(yield* ask(get("/oidc/x", ["cookie", second]))), "forward /x")
        equal(brief(yield* ask(get("/oidc/x", ["cookie", `${second}; ${second}`]))), "redirect")
        yield* TestClock.adjust("3600 seconds")
        equal(brief(yield* ask(get("/oidc/x", ["cookie", second]))), "redirect")
      }),
    ),
  )

  effectTest("logout closes the session on this side, whatever copy of the cookie exists", () =>
    withRealm((ask, realm) =>
      Effect.gen(function* () {
        const { state, login } = yield* begun(ask, realm)
        const session: Header = [
          "cookie",
          cookie(yield* ask(get(`/oidc/cb?code=c&state=${state}`, login)), "portolan_session"),
        ]
        for (const header of [
          ["sec-fetch-site", "cross-site"],
          ["sec-fetch-site", "same-site"],
          ["origin", "http://evil.example"],
        ] as const)
          equal(brief(yield* ask(get("/oidc/logout", session, header))), "403")
        equal(brief(yield* ask(get("/oidc/x", session))), "forward /x")
        const out = yield* ask(get("/oidc/logout?post_logout_redirect_uri=http://evil.example", session))
        const query = locationOf(out).searchParams
        equal(locationOf(out).origin + locationOf(out).pathname, settings.endSessionUrl)
        equal(query.get("post_logout_redirect_uri"), "http://gateway.example/oidc")
        equal(query.get("id_token_hint"), "login")
        match(cookiesOf(out).join("\n"), /^portolan_session=; Path=\/; Max-Age=0;/)
        equal(brief(yield* ask(get("/oidc/x", session))), "redirect")
      }),
    ),
  )

  for (const [name, request, expected] of [
    ["a script", get("/oidc/x", ["sec-fetch-mode", "cors"]), "401"],
    ["a JSON client", get("/oidc/x", ["accept", "application/json"]), "401"],
    ["a browser that also takes JSON", get("/oidc/x", ["accept", "text/html,application/json"]), "redirect"],
    ["a form that is posted", { ...get("/oidc/x"), method: "POST" }, "redirect"],
  ] as const)
    effectTest(`${name} without session: ${expected}`, () =>
      withRealm((ask) => Effect.map(ask(request), (verdict) => equal(brief(verdict), expected))),
    )

  for (const wanted of ["/oidc/evil.example", "/oidc/a?next=//evil.example", "/oidc/%2e.evil.example"])
    effectTest(`after a login for ${wanted} the browser stays here`, () =>
      withRealm((ask, realm) =>
        Effect.gen(function* () {
          const { state, login } = yield* begun(ask, realm, {}, wanted)
          const back = yield* ask(get(`/oidc/cb?code=c&state=${state}`, login))
          ok(back.kind === "redirect")
          match(back.location, /^\/oidc\//)
        }),
      ),
    )
})
