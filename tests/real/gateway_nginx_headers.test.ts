// What the upstream and the client get through real nginx with the generated Lua and the plugin server, beside what they get
// through the embedded gateway: the same.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import fc from "fast-check"
import type { Header } from "../../domain/gateway/verdict.ts"
import { sendRaw } from "../../stack/check/raw_http.ts"
import { tokenSourceOf, userTokens } from "../../stack/token.ts"
import type { Echo } from "../../stack/upstream/echo_server.ts"
import { startLocalGateway } from "../stack/local_gateway.ts"
import { answering, closeAll, ok, rawUpstream } from "../stack/raw_peer.ts"
import { STACK_TEST_MS, upstreamHits } from "../stack/running_stack.ts"
import { COMES_BACK_AS_ANOTHER, COMES_BACK_AS_OURS } from "../support/cookie_spellings.ts"
import { type NginxGateway, type NginxStack, requestBytes, startNginxStack } from "../support/nginx_stack.ts"
import { NGINX, realSuite } from "../support/real_servers.ts"

const RUNS = 500

/** Names with a meaning to the gateway, and some without. */
const NAMES = [
  "Forwarded",
  "X-Forwarded-For",
  "X-Forwarded-Host",
  "X-Forwarded-Proto",
  "X-Forwarded-Port",
  "X-Forwarded-Path",
  "X-Forwarded-Prefix",
  "X-Forwarded-Server",
  "X-Forwarded-Ssl",
  "X-Forwarded-Scheme",
  "X-Forwarded-Foo",
  "X-Real-IP",
  "x_forwarded_for",
  "x_real_ip",
  "X_Forwarded-Host",
  "X-Portolan-Control",
  "X-Portolan-Foo",
  "X-Userinfo",
  "x_userinfo",
  "X-Id-Token",
  "X-Access-Token",
  "X-Consumer-Username",
  "X-Consumer-Anything",
  "X_Authenticated-Groups",
  "X-Credential-Identifier",
  "Proxy",
  "Proxy-Authorization",
  "proxy_authorization",
  "Proxy-Connection",
  "Keep-Alive",
  "TE",
  "Trailer",
  "HTTP2-Settings",
  "Upgrade",
  "Accept",
  "Accept-Language",
  "Cache-Control",
  "User-Agent",
  "Referer",
  "X-Hop",
  "X-Custom",
  "x_custom",
]

const names = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...NAMES) },
  fc.stringMatching(/^[a-zA-Z][a-zA-Z0-9-]{2,12}$/),
)
/** Visible Latin-1, with blanks inside. */
const values = fc.stringMatching(/^[!-~\u00a1-\u00ff](?:[ -~\u00a0-\u00ff]{0,20}[!-~\u00a1-\u00ff])?$/)
const cookies = fc
  .array(
    fc.constantFrom(
      "a=b",
      "c=d e",
      "portolan_session=x",
      "portolan_login = y",
      "portolan_session2=z",
      "caf\u00e9=\u00ff",
      "=n",
    ),
    { minLength: 1, maxLength: 3 },
  )
  .map((pairs): Header => ["Cookie", pairs.join("; ")])
const connections = fc
  .array(fc.constantFrom("X-Hop", "x-custom", "Accept", "keep-alive", "Cookie"), { maxLength: 2 })
  .map((listed): Header => ["Connection", ["close", ...listed].join(", ")])
/** What neither gateway may be told in a header of a request without a body. */
const FRAMING = /^(host|connection|content-length|transfer-encoding|expect|authorization|cookie|range)$/i
const headerLists = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.tuple(names, values).filter(([name]) => !FRAMING.test(name)) },
    { weight: 1, arbitrary: cookies },
  ),
  { maxLength: 12 },
)
const targets = fc.constantFrom(
  ["/open/allowed", "none"],
  ["/open/allowed?x=1&y=%20", "none"],
  ["/open/%61llowed", "none"],
  ["/open/secret", "none"],
  ["/open/allowed/../secret", "none"],
  ["/api/x", "id"],
  ["/api-access/x", "access"],
  ["/api-access/x", "none"],
  ["/nothing", "none"],
) as fc.Arbitrary<readonly [target: string, credential: "none" | "id" | "access"]>

/** Headers by name, lines of one name joined as a gateway may join them (RFC 9110 section 5.3), without each gateway's own word. */
const headersOf = ({ headers }: Echo): Readonly<Record<string, string>> => {
  const joined: Record<string, string> = {}
  for (const [name, value] of headers) {
    if (name === "connection" || (name === "via" && value === "1.1 portolan")) continue
    joined[name] = name in joined ? `${joined[name]}${name === "cookie" ? "; " : ", "}${value}` : value
  }
  return joined
}

realSuite(NGINX, "headers through the generated Lua in real nginx", (server) => {
  let started: NginxStack
  let nginx: NginxGateway
  let embedded: string
  let bearer: Readonly<Record<"none" | "id" | "access", ReadonlyArray<string>>>
  beforeAll(async () => {
    started = await startNginxStack(server, "headers")
    nginx = await started.gatewayWith()
    started.startPlugin()
    await nginx.until("/", "404")
    embedded = started.stack.state.urls.proxy
    const { access = "", id = "" } = await userTokens(tokenSourceOf(started.stack.state))
    bearer = { none: [], id: [`Authorization: Bearer ${id}`], access: [`Authorization: Bearer ${access}`] }
  }, STACK_TEST_MS)
  afterAll(async () => {
    await closeAll()
    await started.stop()
  }, STACK_TEST_MS)

  const received = async (...lines: ReadonlyArray<string>): Promise<Echo> =>
    JSON.parse((await nginx.ask("/open/allowed", ...lines)).body)

  test(
    `${RUNS} generated requests: the same answer, and the same headers at the upstream`,
    async () => {
      let reached = 0
      await fc.assert(
        fc.asyncProperty(targets, headerLists, connections, async ([target, credential], headers, connection) => {
          const lines = [connection, ...headers].map(([name, value]) => `${name}: ${value}`).concat(bearer[credential])
          const bytes = [`GET ${target} HTTP/1.1`, "Host: gateway.example", ...lines, "", ""].join("\r\n")
          const [own, other] = await Promise.all([sendRaw(embedded, bytes), sendRaw(nginx.url, bytes)])
          expect(other.statuses).toBe(own.statuses)
          if (own.statuses !== "200") return expect(JSON.parse(other.body)).toEqual(JSON.parse(own.body))
          reached++
          const [ownEcho, otherEcho] = [JSON.parse(own.body) as Echo, JSON.parse(other.body) as Echo]
          expect([otherEcho.path, headersOf(otherEcho)]).toEqual([ownEcho.path, headersOf(ownEcho)])
        }),
        { numRuns: RUNS },
      )
      expect(reached).toBeGreaterThan(RUNS / 4)
    },
    STACK_TEST_MS * 4,
  )

  test("repeated lines arrive as one, and all lines of cookies", async () => {
    const echo = await received(
      "Accept: a",
      "accept: b",
      "ACCEPT: c",
      "Cookie: a=b; portolan_session=x",
      "Cookie: c=d",
      "Cookie: portolan_login=y",
    )
    const lines = echo.headers.filter(([name]) => name === "accept" || name === "cookie")
    expect(lines.toSorted()).toEqual([
      ["accept", "a, b, c"],
      ["cookie", "a=b; c=d"],
    ])
  })

  test("bytes of headers are handed on as they are, both ways", async () => {
    const bytes = Array.from({ length: 0x100 - 0xa0 }, (_, at) => String.fromCharCode(0xa0 + at)).join("")
    const { headers } = await received(`X-Name: a${bytes}z`, "Cookie: a=\xe9; portolan_session=\xe9")
    expect(headers.find(([name]) => name === "x-name")).toEqual(["x-name", `a${bytes}z`])
    expect(headers.find(([name]) => name === "cookie")).toEqual(["cookie", "a=\xe9"])
    const { url } = await rawUpstream(answering(ok("", `X-Name: a${bytes}z`, "Connection: close")))
    const { ask } = await started.gatewayWith({ upstreamUrl: url })
    expect((await ask("/open/allowed")).head).toContain(`\r\nX-Name: a${bytes}z\r\n`)
  })

  test("an upstream sets no cookie of the gateway, however it is spelled, and every other", async () => {
    const lines = [...COMES_BACK_AS_OURS, ...COMES_BACK_AS_ANOTHER].map((value) => `Set-Cookie: ${value}`)
    const { url } = await rawUpstream(answering(ok("", ...lines, "Connection: close")))
    const local = await startLocalGateway({ upstream: url })
    const gateways = [local.url, (await started.gatewayWith({ upstreamUrl: url })).url]
    for (const gateway of gateways) {
      const { head } = await sendRaw(gateway, requestBytes("/open/allowed"))
      expect([...head.matchAll(/^set-cookie: *(.*)$/gim)].map(([, value]) => value)).toEqual([...COMES_BACK_AS_ANOTHER])
    }
    await local.stop()
  })

  test("the gateway's own cookies are set", async () => {
    expect((await nginx.ask("/oidc/x")).head).toMatch(/^set-cookie: portolan_login=/im)
  })

  describe("refused, and the upstream is not asked", () => {
    const second = "GET /open/allowed HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
    for (const [name, bytes, statuses] of [
      [
        "a length and chunks together, as nginx from 1.21 on sees them",
        `POST /open/allowed HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${second}`,
        "400",
      ],
      [
        "a length and chunks together, as nginx before 1.21 hands them on, and what follows is not read as a request",
        `POST /open/allowed?played=both_lengths HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n${second}`,
        "400",
      ],
      [
        "two credentials",
        `GET /open/allowed HTTP/1.1\r\nHost: h\r\nAuthorization: a b\r\nAuthorization: c d\r\nConnection: close\r\n\r\n`,
        "400",
      ],
      ["two hosts", "GET /open/allowed HTTP/1.1\r\nHost: h\r\nHost: i\r\nConnection: close\r\n\r\n", "400"],
      [
        "1,000 header lines",
        `GET /open/allowed HTTP/1.1\r\nHost: h\r\nConnection: close\r\n${"X-A: 1\r\n".repeat(998)}\r\n`,
        "431",
      ],
      ["a target that is not ASCII", "GET /open/caf\xe9 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "400"],
    ] as const)
      test(name, async () => {
        const before = await upstreamHits(started.stack.state)
        expect((await sendRaw(nginx.url, bytes)).statuses).toBe(statuses)
        expect(await upstreamHits(started.stack.state)).toBe(before)
      })

    test("999 header lines are judged", async () => {
      expect((await nginx.ask("/open/allowed", ...Array<string>(997).fill("X-A: 1"))).statuses).toBe("200")
    })
  })
})
