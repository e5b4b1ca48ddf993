import type { Header } from "../../domain/gateway/verdict.ts"
import type { Echo } from "../upstream/echo_server.ts"
import { type CheckCase, leak, wrong } from "./check_case.ts"
import type { CheckedGateway } from "./checked_gateway.ts"
import { type GoodRequest, goodRequests } from "./good_requests.ts"

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

const headers = (names: ReadonlyArray<string>, value: string): ReadonlyArray<Header> =>
  names.map((name) => [name, value])

type Received = NonNullable<CheckCase["received"]>

const hidden =
  (text: string): Received =>
  (echo) => {
    const line = echo.headers.find(([name, value]) => value.includes(text) || name === "x-injected")
    return line === undefined ? undefined : leak(`the upstream received ${line[0]}: ${line[1].slice(0, 60)}`)
  }

const valuesOf = (echo: Echo, name: string): string =>
  echo.headers
    .filter(([each]) => each === name)
    .map(([, value]) => value)
    .join("; ")

const arrives =
  (name: string, ...parts: ReadonlyArray<string>): Received =>
  (echo) => {
    const missing = parts.find((part) => !valuesOf(echo, name).includes(part))
    return missing === undefined ? undefined : wrong(`the upstream received ${name} without "${missing}"`)
  }

const passing = ({ target, credential, base }: GoodRequest) =>
  ({ group: "identity", target, credential, base, expect: ["200"], needsEcho: true }) as const

/** Headers of who asks and from where: only the gateway may say that (cases 25 to 28, 30). */
const spoofingCases = (good: GoodRequest): ReadonlyArray<CheckCase> => [
  {
    ...passing(good),
    name: `identity headers of the client on ${good.label}`,
    reason: "identity-header",
    headers: headers(IDENTITY_NAMES, SPOOFED),
    received: hidden(SPOOFED),
  },
  {
    ...passing(good),
    name: `arrival headers of the client on ${good.label}`,
    reason: "arrival-header",
    headers: [...headers(ARRIVAL_NAMES, EVIL), ["Forwarded", `host=${EVIL}`]],
    received: hidden(EVIL),
  },
  {
    ...passing(good),
    name: `connection headers of the client on ${good.label}`,
    reason: "hop-header",
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
    ...passing(good),
    name: `method override on ${good.label}`,
    reason: "method",
    headers: [["X-HTTP-Method-Override", "DELETE"]],
    received: ({ method }) => (method === "GET" ? undefined : leak(`the upstream received ${method}`)),
  },
]

/** Lines that must arrive as they were sent, and one that must not. One route is enough: forwarding is the same on all. */
const forwardingCases = (good: GoodRequest): ReadonlyArray<CheckCase> => [
  {
    ...passing(good),
    name: `the client's Host as X-Forwarded-Host on ${good.label}`,
    reason: "arrival-header",
    headers: [["Host", EVIL]],
    // A gateway that serves several sites knows none of this name.
    expect: ["200", "400", "403", "404", "421"],
    received: (echo) =>
      /^(x-forwarded-host|x-forwarded-server|forwarded)$/.test(
        echo.headers.find(([name, value]) => name !== "host" && value.includes(EVIL))?.[0] ?? "",
      )
        ? leak(`the upstream is told that the request was for ${EVIL}`)
        : undefined,
  },
  {
    ...passing(good),
    name: `two Cookie lines on ${good.label}`,
    reason: "repeated-line",
    headers: [
      ["Cookie", "check-a=1"],
      ["Cookie", "check-b=2"],
    ],
    received: arrives("cookie", "check-a=1", "check-b=2"),
  },
  {
    ...passing(good),
    name: `two Accept lines on ${good.label}`,
    reason: "repeated-line",
    headers: [
      ["Accept", "text/check-a"],
      ["Accept", "text/check-b"],
    ],
    received: arrives("accept", "text/check-a", "text/check-b"),
  },
  {
    ...passing(good),
    name: `a Latin-1 header on ${good.label}`,
    reason: "bytes",
    headers: [["X-Name", "Jos\u00e9"]],
    expect: ["200", "400"],
    received: arrives("x-name", "Jos\u00e9"),
  },
]

/** Name of the cookie as a browser understands a `Set-Cookie` line (RFC 6265 section 5.2; nameless ones come back bare). */
const cookieNameIn = (line: string): string => {
  const [pair = ""] = line.split(";")
  const [name = "", value = ""] = [pair.split("=")[0], pair.slice(pair.indexOf("=") + 1)]
  return name.trim() || (value.split("=")[0] ?? "").trim()
}

/** Spellings in which an upstream might set the gateway's session cookie; our echo upstream sets what it is asked for. */
const cookieCases = (good: GoodRequest, session: string): ReadonlyArray<CheckCase> =>
  [`${session}=x`, `${session} =x`, ` ${session}=x`, `=${session}=x`].map((written) => ({
    ...passing(good),
    name: `the upstream sets the cookie "${written}"`,
    reason: "session-cookie",
    target: `${good.target}?set-cookie=${encodeURIComponent(written)}`,
    answered: (head) => {
      const lines = head.split("\r\n").flatMap((line) => /^set-cookie:(.*)$/i.exec(line)?.[1] ?? [])
      return lines.some((line) => cookieNameIn(line) === session)
        ? leak("the answer sets the gateway's session cookie")
        : undefined
    },
  }))

const lineBreaks = (good: GoodRequest): CheckCase => ({
  ...passing(good),
  name: `claims that break lines on ${good.label}`,
  reason: "injection",
  credential: "claims that break lines",
  received: hidden("x-injected: 1"),
})

/** Where a bearer token may stand: in its header, once (case 23). `$token` becomes the route's good token. */
const placeCases = ({ label, target, credential, base }: GoodRequest): ReadonlyArray<CheckCase> => {
  const one = (name: string, more: Partial<CheckCase>): CheckCase => ({
    group: "tokens",
    name: `${name} on ${label}`,
    reason: "token-place",
    cell: { credential: name, route: label },
    target,
    credential,
    base,
    expect: ["401"],
    ...more,
  })
  const written = (value: string): Partial<CheckCase> => ({ headers: [["Authorization", value]] })
  return [
    one("scheme in lower case", { ...written("bearer $token"), expect: ["200"], reason: "scheme" }),
    one("scheme in upper case", { ...written("BEARER $token"), expect: ["200"], reason: "scheme" }),
    one("Basic and Bearer in one header", { ...written("Basic x, Bearer $token"), reason: "two-credentials" }),
    one("scheme Foobearer", written("Foobearer $token")),
    one("token without scheme", written("$token")),
    one("two Authorization headers", {
      headers: [
        ["Authorization", "Bearer $token"],
        ["Authorization", "Bearer $token"],
      ],
      expect: ["400"],
      reason: "two-credentials",
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
      reason: "hop-header",
    }),
  ]
}

/** Which headers reach the upstream, and where a token counts. */
export const headerCases = (gateway: CheckedGateway): ReadonlyArray<CheckCase> => {
  const good = goodRequests(gateway)
  const withToken = good.filter(({ hasToken }) => hasToken)
  const { sessionCookie } = gateway
  return [
    ...good.flatMap(spoofingCases),
    ...good.slice(0, 1).flatMap(forwardingCases),
    ...(sessionCookie === undefined ? [] : good.slice(0, 1).flatMap((each) => cookieCases(each, sessionCookie))),
    ...withToken.map(lineBreaks),
    ...withToken.flatMap(placeCases),
  ]
}
