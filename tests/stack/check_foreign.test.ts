// The check against gateways of others and against our own under other paths: planted holes come first, a right one has none.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import type { Server } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { CheckResult } from "../../stack/check/run_check.ts"
import { ENDPOINTS, issuerOf, REALM } from "../../stack/realm.ts"
import { COUNT_WORD, echoServer } from "../../stack/upstream/echo_server.ts"
import { NGINX, OAUTH2_PROXY, realSuite } from "../support/real_servers.ts"
import { stackCheck } from "./check_command.ts"
import { type ForeignGateway, startNginx, startOauth2Proxy } from "./foreign_gateways.ts"
import { serveOn, startLocalGateway } from "./local_gateway.ts"
import { type RunningStack, STACK_TEST_MS, startStack } from "./running_stack.ts"

const folder = mkdtempSync(join(tmpdir(), "portolan-foreign-"))
let stack: RunningStack
let upstream: Server
let upstreamUrl: string
let issuer: string
let secretsFile: string

const file = (name: string, value: unknown): string => {
  const path = join(folder, name)
  writeFileSync(path, JSON.stringify(value), { mode: 0o600 })
  return path
}

beforeAll(async () => {
  stack = await startStack()
  const { urls, secrets } = stack.state
  upstream = echoServer(COUNT_WORD)
  upstreamUrl = await serveOn(upstream)
  issuer = issuerOf(urls.idp, REALM.name)
  secretsFile = file("secrets.json", {
    webClient: REALM.webClient,
    webSecret: secrets.webClient,
    userName: REALM.user.name,
    userPassword: secrets.userPassword,
    serviceClient: REALM.serviceClient,
    serviceSecret: secrets.serviceClient,
    signingKey: secrets.signingKey,
  })
}, STACK_TEST_MS)

afterAll(async () => {
  upstream.closeAllConnections()
  upstream.close()
  await stack.stop()
  rmSync(folder, { recursive: true, force: true })
}, STACK_TEST_MS)

/** Checks a gateway with everything that is known of the realm. */
const checked = async (url: string, routes: Readonly<Record<string, string>>) => {
  const known = ["--idp-url", stack.state.urls.idp, "--secrets", secretsFile, "--upstream", upstreamUrl]
  const words = ["--proxy-url", url, "--routes", file(`${crypto.randomUUID()}.json`, routes), ...known, "--json"]
  const { code, out, err } = await stackCheck(words)
  if (err !== "") throw new Error(err)
  const result = JSON.parse(out) as CheckResult
  const named = (severity: string) => result.rows.filter((row) => row.severity === severity).map(({ name }) => name)
  return { code, result, holes: named("hole"), leaks: named("leak") }
}

describe("our own gateway under other paths", () => {
  test(
    "has no hole, no leak, and no wrong answer",
    async () => {
      const gateway = await startLocalGateway({
        settings: {
          routes: [
            { prefix: "/shop", policy: "path-allow" },
            { prefix: "/orders", policy: "realm-jwt" },
            { prefix: "/site", policy: "oidc-browser" },
            { prefix: "/profile", policy: "oidc-id-token" },
            { prefix: "/partners", policy: "oidc-access-token" },
          ],
          allowedPaths: ["/list/all"],
          realm: REALM.name,
          issuer,
          clientId: REALM.webClient,
          accessAudience: REALM.accessAudience,
          jwtRoles: [],
          authorizationUrl: `${issuer}${ENDPOINTS.authorization}`,
          endSessionUrl: `${issuer}${ENDPOINTS.endSession}`,
        },
        realmUrl: issuer,
        webSecret: stack.state.secrets.webClient,
        upstream: upstreamUrl,
      })
      const { code, result, holes, leaks } = await checked(gateway.url, {
        open: "/shop/list/all",
        secret: "/shop/admin/users",
        jwt: "/orders/7",
        oidc: "/site/home",
        api: "/profile/me",
        "api-access": "/partners/9",
      })
      await gateway.stop()
      expect({ holes, leaks, code }).toEqual({ holes: [], leaks: [], code: 0 })
      expect(result.severities).toEqual({ hole: 0, leak: 0, "wrong answer": 0, "stricter than ours": 0 })
      expect(result.asExpected).toBeGreaterThan(280)
      expect(result.target.upstream).toBe("its counter says what reached the upstream")
    },
    STACK_TEST_MS,
  )
})

realSuite(NGINX, "the check before nginx with a checker that looks only at exp and iss", (program) => {
  let nginx: ForeignGateway

  beforeAll(async () => {
    nginx = await startNginx(program, upstreamUrl, issuer)
  }, STACK_TEST_MS)

  afterAll(() => nginx.stop())

  test(
    "the planted holes come first",
    async () => {
      const { code, result, holes, leaks } = await checked(nginx.url, {
        open: "/shop/list",
        secret: "/shop/admin",
        jwt: "/shop/orders",
      })
      expect(code).toBe(1)
      const first = result.rows.slice(0, holes.length).map(({ severity }) => severity)
      expect(first).toEqual(holes.map(() => "hole"))
      const on = (name: string) => `${name} on /shop/orders`
      const forged = [
        "alg none",
        "alg None with a capital",
        "signature removed",
        "wrong key, same kid",
        "kid that climbs",
        "refresh token shape",
        "tampered payload",
        "ID token with another signature",
        "HS256 with the public key",
        "own key in jwk header",
        "own keys in jku header",
        "own chain in x5u header",
      ].map(on)
      expect(holes.slice(0, forged.length)).toEqual(forged)
      for (const name of ["ID token", "ID token of another client", "logout token", "critical extension"])
        expect(holes).toContain(on(name))
      // The open location ends in the middle of a name, and does not know path parameters.
      expect(holes).toContain("/shop/listx")
      expect(holes).toContain("/shop/list/..;/admin")
      // What the checker does look at.
      for (const name of ["expired an hour ago", "no exp", "issuer and slash", "access token of another realm"])
        expect(holes).not.toContain(on(name))
      expect(leaks).toContain("identity headers of the client on /shop/list")
    },
    STACK_TEST_MS,
  )
})

realSuite(OAUTH2_PROXY, "the check before oauth2-proxy", (program) => {
  let proxy: ForeignGateway

  beforeAll(async () => {
    proxy = await startOauth2Proxy(program, upstreamUrl, stack.state)
  }, STACK_TEST_MS)

  afterAll(() => proxy.stop())

  test(
    "no forged token passes; the pattern without an end and the headers it hands on are found",
    async () => {
      const { code, result, holes, leaks } = await checked(proxy.url, {
        open: "/shop/list",
        secret: "/shop/admin",
        api: "/shop/orders",
        oidc: "/shop/cart",
        "session-cookie": "_oauth2_proxy",
      })
      const ofReason = (reason: string) =>
        result.rows.filter((row) => row.severity === "hole" && row.reason === reason).map(({ name }) => name)
      expect(code).toBe(1)
      for (const reason of ["unsigned", "forged", "confused-algorithm", "key-from-token", "no-credential"])
        expect([reason, ofReason(reason)]).toEqual([reason, []])
      expect(holes).toContain("/shop/listx")
      expect(leaks).toContain("identity headers of the client on /shop/list")
      expect(leaks).toContain('the upstream sets the cookie "_oauth2_proxy=x"')
    },
    STACK_TEST_MS,
  )
})
