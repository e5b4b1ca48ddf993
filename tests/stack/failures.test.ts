// What the gateway does when what is around it misbehaves: specification 17.
import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test"
import { createServer, type RequestListener, type Server } from "node:http"
import { sendRaw } from "../../stack/check/raw_http.ts"
import { jwkOf, KEYS, signToken } from "../support/tokens.ts"
import { ISSUER, serveOn, startLocalGateway } from "./local_gateway.ts"

const closers: Array<() => unknown> = []
// Milliseconds, for a machine under heavy load.
setDefaultTimeout(60_000)
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

const stoppable = (server: Server): Server => {
  closers.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return server
}

/** A realm whose key endpoint does what the test says, and counts. */
const realmServer = async (listener: RequestListener) => {
  const asked = { times: 0 }
  const url = await serveOn(
    stoppable(
      createServer((request, response) => {
        asked.times++
        listener(request, response)
      }),
    ),
  )
  return { url, asked }
}

const keySet = (...kids: ReadonlyArray<"realm" | "other">): string =>
  JSON.stringify({ keys: kids.map((kid) => jwkOf(KEYS[kid]().publicKey, { kid, use: "sig", alg: "RS256" })) })

const token = (kid: "realm" | "other", more: Record<string, unknown> = {}, header: Record<string, unknown> = {}) => {
  const now = Math.floor(Date.now() / 1000)
  return signToken(
    { alg: "RS256", typ: "JWT", kid, ...header },
    { iss: ISSUER, aud: "account", typ: "Bearer", sub: "alice", iat: now, exp: now + 300, ...more },
    KEYS[kid]().privateKey,
  )
}

const startWith = async (realmUrl: string | undefined, upstream?: Server) => {
  const gateway = await startLocalGateway({
    ...(realmUrl === undefined ? {} : { realmUrl }),
    ...(upstream === undefined ? {} : { upstream }),
  })
  closers.push(gateway.stop)
  const ask = async (path: string, bearer?: string) =>
    (
      await fetch(gateway.url + path, {
        redirect: "manual",
        headers: bearer === undefined ? {} : { authorization: `Bearer ${bearer}` },
      })
    ).status
  return { ...gateway, ask }
}

describe("an identity provider that", () => {
  const closed = "http://127.0.0.1:1/realms/demo"
  const cases: ReadonlyArray<readonly [name: string, listener: RequestListener | undefined]> = [
    ["is down", undefined],
    ["answers 500", (_request, response) => response.writeHead(500).end()],
    ["answers HTML", (_request, response) => response.end("<html></html>")],
    [
      "redirects to another host",
      (_request, response) => response.writeHead(302, { location: "http://evil.example/keys" }).end(),
    ],
    ["publishes no key", (_request, response) => response.end('{"keys":[]}')],
    ["breaks off", (_request, response) => response.destroy()],
  ]
  for (const [name, listener] of cases)
    test(`${name}: 503, and the upstream is not asked`, async () => {
      const url = listener === undefined ? closed : (await realmServer(listener)).url
      const gateway = await startWith(url)
      for (const path of ["/jwt/x", "/api/x", "/api-access/x"])
        expect([path, await gateway.ask(path, token("realm"))]).toEqual([path, 503])
      expect(await gateway.ask("/oidc/x")).toBe(503)
      expect(await gateway.hits()).toBe(0)
      // What needs no key goes on.
      expect(await gateway.ask("/jwt/x")).toBe(401)
      expect(await gateway.ask("/open/allowed")).toBe(200)
    })
})

test("ten made-up key ids cause one fetch at most", async () => {
  const realm = await realmServer((_request, response) => response.end(keySet("realm")))
  const gateway = await startWith(realm.url)
  expect(await gateway.ask("/jwt/x", token("realm"))).toBe(200)
  const before = realm.asked.times
  for (let number = 0; number < 10; number++)
    expect(await gateway.ask("/jwt/x", token("realm", {}, { kid: `made-up-${number}` }))).toBe(401)
  expect(realm.asked.times - before).toBeLessThanOrEqual(1)
  expect(await gateway.hits()).toBe(1)
})

test("a key that is new is fetched once, and one that is gone opens nothing from then on", async () => {
  let published = keySet("realm")
  const realm = await realmServer((_request, response) => response.end(published))
  const gateway = await startWith(realm.url)
  const old = token("realm")
  expect(await gateway.ask("/jwt/x", old)).toBe(200)
  published = keySet("other")
  expect(await gateway.ask("/jwt/x", token("other"))).toBe(200)
  expect(await gateway.ask("/jwt/x", old)).toBe(401)
})

describe("an upstream that", () => {
  test("redirects: the client gets the redirect as it is", async () => {
    const gateway = await startWith(
      undefined,
      createServer((_request, response) => response.writeHead(302, { location: "http://elsewhere.example/a" }).end()),
    )
    const answer = await fetch(`${gateway.url}/open/allowed`, { redirect: "manual" })
    expect([answer.status, answer.headers.get("location")]).toEqual([302, "http://elsewhere.example/a"])
  })

  test("sets cookies: all pass but those named like the gateway's own", async () => {
    const cookies = ["a=1", "portolan_session=stolen; Path=/", "b=2", "portolan_login=x"]
    const gateway = await startWith(
      undefined,
      createServer((_request, response) => response.setHeader("set-cookie", cookies).end()),
    )
    expect((await fetch(`${gateway.url}/open/allowed`)).headers.getSetCookie()).toEqual(["a=1", "b=2"])
  })

  test("compresses: the bytes pass untouched, and it is asked for nothing the client cannot read", async () => {
    const bytes = Bun.gzipSync(Buffer.from("hello"))
    let offered: string | undefined
    const gateway = await startWith(
      undefined,
      createServer((request, response) => {
        offered = request.headers["accept-encoding"]
        response.writeHead(200, { "content-encoding": "gzip" }).end(bytes)
      }),
    )
    const answer = await sendRaw(gateway.url, "GET /open/allowed HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    expect([offered, /content-encoding: gzip/i.test(answer.head)]).toEqual([undefined, true])
    expect(await (await fetch(`${gateway.url}/open/allowed`)).text()).toBe("hello")
  })

  test("streams: the first part arrives before the last is sent", async () => {
    let finish = () => {}
    const gateway = await startWith(
      undefined,
      createServer((_request, response) => {
        response.writeHead(200)
        response.write("first")
        finish = () => response.end("last")
      }),
    )
    const reader = (await fetch(`${gateway.url}/open/allowed`)).body?.getReader()
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe("first")
    finish()
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe("last")
  })
})

test("a body that breaks at once never reaches the upstream", async () => {
  const gateway = await startWith(undefined)
  const head = "POST /open/allowed HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
  const answer = await sendRaw(gateway.url, `${head}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n`)
  expect(answer.statuses).toBe("400")
  expect(await gateway.hits()).toBe(0)
})
