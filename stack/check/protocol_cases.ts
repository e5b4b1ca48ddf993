import type { Route, RoutePolicy } from "../../domain/gateway/route_profile.ts"
import type { Header } from "../../domain/gateway/verdict.ts"
import type { CheckCase } from "./check_case.ts"
import type { CredentialName } from "./credentials.ts"

const HOST = "Host: gateway.example\r\n"
const CLOSE = "Connection: close\r\n"
const EVIL = "evil.example"
const SPOOFED = "spoofed-by-client"

const IDENTITY_NAMES = [
  "X-Userinfo",
  "X-Id-Token",
  "X-Access-Token",
  "X-Consumer-Username",
  "X-Consumer-Id",
  "X-Consumer-Groups",
  "X-Credential-Identifier",
  "X-Authenticated-Groups",
  "X-Anonymous-Consumer",
  "x_userinfo",
  "X_Authenticated-Groups",
]

const ARRIVAL_NAMES = ["X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-For", "X-Forwarded-Prefix", "X-Real-IP"]

/** What lets a request through on a kind of route. */
const GOOD: Readonly<Record<RoutePolicy, readonly [path: string, credential: CredentialName] | undefined>> = {
  "path-allow": ["/allowed", "none"],
  "realm-jwt": ["/x", "access token"],
  "oidc-id-token": ["/x", "ID token"],
  "oidc-access-token": ["/x", "access token"],
  "oidc-browser": undefined,
}

const headers = (names: ReadonlyArray<string>, value: string): ReadonlyArray<Header> =>
  names.map((name) => [name, value])

const hidden =
  (text: string): NonNullable<CheckCase["received"]> =>
  (echo) => {
    const line = echo.headers.find(([name, value]) => value.includes(text) || name === "x-injected")
    return line === undefined ? undefined : `the upstream received ${line[0]}: ${line[1].slice(0, 60)}`
  }

const keepsHome: NonNullable<CheckCase["answered"]> = (head) =>
  head.includes(EVIL) ? "the answer repeats a host the client made up" : undefined

/** Headers of who asks and from where: only the gateway may say that (cases 25 to 28, 30). */
const headerCases = (routes: ReadonlyArray<Route>): ReadonlyArray<CheckCase> =>
  routes.flatMap(({ prefix, policy }): ReadonlyArray<CheckCase> => {
    const good = GOOD[policy]
    if (good === undefined) return []
    const [path, credential] = good
    const base = { group: "identity", target: `${prefix}${path}`, credential, expect: ["200"] } as const
    return [
      {
        ...base,
        name: `identity headers of the client on ${prefix}`,
        headers: headers(IDENTITY_NAMES, SPOOFED),
        received: hidden(SPOOFED),
      },
      {
        ...base,
        name: `arrival headers of the client on ${prefix}`,
        headers: [...headers(ARRIVAL_NAMES, EVIL), ["Forwarded", `host=${EVIL}`]],
        received: hidden(EVIL),
      },
      {
        ...base,
        name: `connection headers of the client on ${prefix}`,
        headers: [
          ["Keep-Alive", SPOOFED],
          ["TE", SPOOFED],
          ["Proxy-Authorization", SPOOFED],
          ["X-Hop", SPOOFED],
          ["Connection", "X-Hop, close"],
        ],
        received: hidden(SPOOFED),
      },
      {
        ...base,
        name: `method override on ${prefix}`,
        headers: [["X-HTTP-Method-Override", "DELETE"]],
        received: (echo) => (echo.method === "GET" ? undefined : `the upstream received ${echo.method}`),
      },
    ]
  })

const lineBreaks = (routes: ReadonlyArray<Route>): ReadonlyArray<CheckCase> =>
  (
    [
      ["/jwt", "access token whose claims break lines"],
      ["/api-access", "access token whose claims break lines"],
      ["/api", "ID token whose claims break lines"],
    ] as const
  )
    .filter(([prefix]) => routes.some((route) => route.prefix === prefix))
    .map(([prefix, credential]) => ({
      group: "identity",
      name: `${credential} on ${prefix}`,
      target: `${prefix}/x`,
      credential,
      expect: ["200"],
      received: hidden("x-injected: 1"),
    }))

/** Where a bearer token may stand: in its header, once (case 23). `$token` becomes the route's good token. */
const placeCases = (routes: ReadonlyArray<Route>): ReadonlyArray<CheckCase> =>
  routes.flatMap(({ prefix, policy }): ReadonlyArray<CheckCase> => {
    const good = GOOD[policy]
    if (good === undefined || policy === "path-allow") return []
    const target = `${prefix}/x`
    const one = (name: string, more: Partial<CheckCase>): CheckCase => ({
      group: "tokens",
      name: `${name} on ${prefix}`,
      target,
      credential: good[1],
      expect: ["401"],
      ...more,
    })
    const written = (value: string): Partial<CheckCase> => ({ headers: [["Authorization", value]] })
    return [
      one("scheme in lower case", { ...written("bearer $token"), expect: ["200"] }),
      one("scheme in upper case", { ...written("BEARER $token"), expect: ["200"] }),
      one("Basic and Bearer in one header", written("Basic x, Bearer $token")),
      one("scheme Foobearer", written("Foobearer $token")),
      one("token without scheme", written("$token")),
      one("two Authorization headers", {
        headers: [
          ["Authorization", "Bearer $token"],
          ["Authorization", "Bearer $token"],
        ],
        expect: ["400"],
      }),
      one("token in ?jwt=", { target: `${target}?jwt=$token`, headers: [] }),
      one("token in ?access_token=", { target: `${target}?access_token=$token`, headers: [] }),
      one("token in a cookie", { headers: [["Cookie", "jwt=$token; access_token=$token"]] }),
      one("Connection: Authorization", {
        headers: [
          ["Authorization", "Bearer $token"],
          ["Connection", "Authorization, close"],
        ],
        expect: ["200"],
      }),
    ]
  })

const ALLOWED = "/open/allowed"
const SECOND = `GET ${ALLOWED} HTTP/1.1\r\n${HOST}${CLOSE}\r\n`

/**
 * Right answers to a head that is too large. A server that refuses before it has read it all may close the connection on
 * what is still being sent, and the network may then drop the answer: `closed` is a refusal as well.
 */
const TOO_LARGE = ["431", "400", "413", "closed"]

/** Requests two servers could cut apart differently (cases 29, 31, 32, 48). */
const FRAMING: ReadonlyArray<readonly [name: string, expect: ReadonlyArray<string>, rest: string]> = [
  ["two Host headers", ["400"], `${HOST}Host: ${EVIL}\r\n${CLOSE}\r\n`],
  ["no Host header", ["400"], `${CLOSE}\r\n`],
  [
    "length and chunks together",
    ["400"],
    `${HOST}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SECOND}`,
  ],
  ["two lengths", ["400"], `${HOST}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd${SECOND}`],
  ["unknown transfer coding", ["400", "400 400"], `${HOST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${SECOND}`],
  ["chunked, identity", ["400"], `${HOST}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${SECOND}`],
  ["broken chunk size", ["400"], `${HOST}Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n${SECOND}`],
  ["folded header line", ["400"], `${HOST}X-A: b\r\n c\r\n${CLOSE}\r\n`],
  ["blank before the colon", ["400"], `${HOST}X-A : b\r\n${CLOSE}\r\n`],
  ["header of 1 MB", TOO_LARGE, `${HOST}X-A: ${"a".repeat(1_000_000)}\r\n${CLOSE}\r\n`],
  ["cookie of 1 MB", TOO_LARGE, `${HOST}Cookie: a=${"a".repeat(1_000_000)}\r\n${CLOSE}\r\n`],
  [
    "Upgrade: h2c",
    ["200"],
    `${HOST}Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n`,
  ],
]

const framingCases: ReadonlyArray<CheckCase> = [
  ...FRAMING.map(
    ([name, expect, rawRest]): CheckCase => ({
      group: "protocol",
      name,
      method: /length|chunk|coding/.test(name) ? "POST" : "GET",
      target: ALLOWED,
      rawRest,
      expect,
    }),
  ),
  {
    group: "protocol",
    name: "10,000 query parameters",
    target: `${ALLOWED}?${"a=1&".repeat(10_000)}`,
    expect: [...TOO_LARGE, "414"],
  },
  { group: "protocol", name: "CONNECT", method: "CONNECT", target: "upstream:80", expect: ["405", "400", "closed"] },
  { group: "protocol", name: "OPTIONS *", method: "OPTIONS", target: "*", expect: ["400", "404"] },
]

/** The browser's route, asked by something that is no browser (cases 28, 33, 36, 42). */
const loginCases: ReadonlyArray<CheckCase> = [
  {
    group: "login",
    name: "login from a host the client made up",
    target: "/oidc/x",
    headers: [
      ["X-Forwarded-Host", EVIL],
      ["X-Forwarded-Proto", "https"],
      ["Forwarded", `host=${EVIL}`],
    ],
    expect: ["302"],
    answered: keepsHome,
  },
  {
    group: "login",
    name: "login under a Host the client made up",
    target: "/oidc/x",
    headers: [["Host", EVIL]],
    expect: ["302", "421", "404"],
    answered: keepsHome,
  },
  {
    group: "login",
    name: "login with PKCE, state and nonce",
    target: "/oidc/x",
    expect: ["302"],
    answered: (head) => {
      const location = /^location: (\S+)/im.exec(head)?.[1] ?? ""
      const wanted = [/code_challenge_method=S256/, /code_challenge=[\w-]{43}/, /state=[\w-]{16,}/, /nonce=[\w-]{16,}/]
      const missing = wanted.find((pattern) => !pattern.test(location))
      return missing === undefined ? undefined : `the address does not match ${missing.source}`
    },
  },
  {
    group: "login",
    name: "cookie of a login is HttpOnly, SameSite, whole-site",
    target: "/oidc/x",
    expect: ["302"],
    answered: (head) => {
      const cookies = head.split("\r\n").filter((line) => /^set-cookie:/i.test(line))
      const weak = cookies.find((line) => !/HttpOnly/i.test(line) || !/SameSite=(Lax|Strict)/i.test(line))
      return weak === undefined ? undefined : "a cookie lacks HttpOnly or SameSite"
    },
  },
  {
    group: "login",
    name: "script without session",
    target: "/oidc/x",
    headers: [["Sec-Fetch-Mode", "cors"]],
    expect: ["401"],
  },
  {
    group: "login",
    name: "JSON client without session",
    target: "/oidc/x",
    headers: [["Accept", "application/json"]],
    expect: ["401"],
  },
  { group: "login", name: "callback without a login", target: "/oidc/cb?code=x&state=y", expect: ["400"] },
  { group: "login", name: "callback without anything", target: "/oidc/cb", expect: ["400"] },
  {
    group: "login",
    name: "refused login that was never begun",
    target: "/oidc/cb?error=access_denied&state=y",
    expect: ["400", "401", "403"],
  },
  {
    group: "login",
    name: "made-up session",
    target: "/oidc/x",
    headers: [["Cookie", "portolan_session=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"]],
    expect: ["302"],
  },
  {
    group: "login",
    name: "logout asked for by another site",
    target: "/oidc/logout",
    headers: [["Sec-Fetch-Site", "cross-site"]],
    expect: ["403"],
  },
]

/** Asked last: a server that closes may still be asking its upstream, and that hit must not be taken for another row's. */
const pipelined: CheckCase = {
  group: "protocol",
  name: "allowed and secret on one connection",
  target: ALLOWED,
  rawRest: `${HOST}\r\nGET /open/secret HTTP/1.1\r\n${HOST}${CLOSE}\r\n`,
  // A server may close a connection rather than pipeline (RFC 9112 section 9.3.2); it must not answer both alike.
  expect: ["200 403", "200", "closed"],
}

/** How the gateway reads and passes on HTTP itself. */
export const protocolCases = (routes: ReadonlyArray<Route>): ReadonlyArray<CheckCase> => [
  ...headerCases(routes),
  ...lineBreaks(routes),
  ...placeCases(routes),
  ...framingCases,
  ...loginCases,
  pipelined,
]
