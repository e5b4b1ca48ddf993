// How a client's request comes to the upstream: once, framed anew, its body never faster than the upstream takes it.
import { afterEach, describe, expect, test } from "bun:test"
import { randomBytes } from "node:crypto"
import { type Message, valuesOf } from "./http_messages.ts"
import { answering, closeAll, eventually, GET, gatewayBefore, ok, type Peer, rawUpstream, request } from "./raw_peer.ts"

afterEach(closeAll)

const MB = 1024 * 1024

/** What the systems' buffers of two connections may hold beside the gateway's own. */
const AHEAD_MAX = 40 * MB

const CHUNKED = "Transfer-Encoding: chunked"

/** How a request's body is delimited, as its headers say. */
const framingOf = (seen: Message): string =>
  seen.lines
    .filter(([name]) => name === "content-length" || name === "transfer-encoding")
    .map(([name, value]) => `${name}: ${value}`)
    .join(", ")

const start = async (script: (peer: Peer, at: number) => unknown = answering(ok("done"))) => {
  const upstream = await rawUpstream(script)
  return { upstream, ...(await gatewayBefore(upstream)) }
}

const cut = (text: string, size: number): ReadonlyArray<string> =>
  Array.from({ length: Math.ceil(text.length / size) }, (_, at) => text.slice(at * size, (at + 1) * size))

const chunk = (data: string): string => `${data.length.toString(16)}\r\n${data}\r\n`

const LONG = randomBytes(150_000).toString("latin1")
const LONG_CHUNKS = `${cut(LONG, 7_001).map(chunk).join("")}0\r\n\r\n`

describe("the upstream sees one request, framed by", () => {
  const cases: ReadonlyArray<
    readonly [framing: string, name: string, method: string, pieces: ReadonlyArray<string>, body: string]
  > = [
    ["", "GET without a body", "GET", [GET], ""],
    ["", "GET byte by byte", "GET", [...GET], ""],
    ["", "HEAD", "HEAD", [request("HEAD")], ""],
    ["", "OPTIONS", "OPTIONS", [request("OPTIONS")], ""],
    ["", "DELETE without a body", "DELETE", [request("DELETE")], ""],
    ["content-length: 0", "POST without a body", "POST", [request("POST")], ""],
    ["content-length: 0", "POST with a length of 0", "POST", [request("POST", "Content-Length: 0")], ""],
    ["content-length: 0", "PUT without a body", "PUT", [request("PUT")], ""],
    ["content-length: 5", "POST in one piece", "POST", [`${request("POST", "Content-Length: 5")}hello`], "hello"],
    ["content-length: 5", "GET with a body", "GET", [`${request("GET", "Content-Length: 5")}hello`], "hello"],
    ["content-length: 5", "DELETE with a body", "DELETE", [`${request("DELETE", "Content-Length: 5")}hello`], "hello"],
    ["content-length: 5", "POST byte by byte", "POST", [...`${request("POST", "Content-Length: 5")}hello`], "hello"],
    [
      "content-length: 150000",
      "a long body with a length, in pieces",
      "POST",
      [request("POST", "Content-Length: 150000"), ...cut(LONG, 9_973)],
      LONG,
    ],
    [
      "transfer-encoding: chunked",
      "a long chunked body, in pieces that cut its chunks",
      "POST",
      [request("POST", CHUNKED), ...cut(LONG_CHUNKS, 10_007)],
      LONG,
    ],
  ]
  test.each(cases)("%j: %s", async (framing, _name, method, pieces, body) => {
    const { client, upstream } = await start()
    const peer = await client()
    await peer.send(...pieces)
    const answer = await peer.answer(method === "HEAD" ? 1 : 0)
    expect([answer.status, answer.complete]).toEqual([200, true])
    const requests = upstream.requests()
    expect(requests.map((seen) => [seen.start, seen.complete, framingOf(seen)])).toEqual([
      [`${method} /allowed HTTP/1.1`, true, framing],
    ])
    expect(requests[0]?.body.toString("latin1") === body).toBe(true)
  })

  test.each([
    ["whole", [`${request("POST", CHUNKED)}5\r\nhello\r\n6\r\n, you!\r\n0\r\n\r\n`]],
    ["byte by byte", [...`${request("POST", CHUNKED)}5\r\nhello\r\n006;a=b\r\n, you!\r\n0\r\nX-Late: 1\r\n\r\n`]],
  ])("length or chunks: a short chunked body, %s", async (_name, pieces) => {
    const { ask, upstream } = await start()
    expect((await ask(...pieces)).status).toBe(200)
    const [seen, ...more] = upstream.requests()
    expect([seen?.complete, seen?.body.toString(), more]).toEqual([true, "hello, you!", []])
    expect(["content-length: 11", "transfer-encoding: chunked"]).toContain(framingOf(seen as Message))
    expect(valuesOf(seen as Message, "x-late")).toEqual([])
  })

  test("its own: bodies and requests in one piece are told apart", async () => {
    const { client, upstream } = await start()
    const posts = ["GET /secret HTTP/1.1\r\nHost: h\r\n\r\n", "", "0\r\n\r\n"]
    const first = `${request("POST", `Content-Length: ${posts[0]?.length}`)}${posts[0]}`
    const second = `${request("POST", CHUNKED)}0\r\n\r\n`
    const third = `${request("POST", CHUNKED)}${chunk(posts[2] ?? "")}0\r\n\r\n`
    const peer = await client()
    await peer.send(first + second + third + GET)
    expect((await peer.message(3)).status).toBe(200)
    const bodies = upstream.requests().map(({ start, body }) => [start.split(" ")[0], body.toString()])
    expect(bodies.toSorted()).toEqual([["GET", ""], ...posts.map((body) => ["POST", body])].toSorted())
  })
})

test("values beyond ASCII pass byte for byte", async () => {
  const every = String.fromCharCode(...Array.from({ length: 128 }, (_, at) => 128 + at))
  const { ask, upstream } = await start()
  expect((await ask(request("GET", `X-Latin: a${every}z`))).status).toBe(200)
  expect(upstream.requests().flatMap((seen) => valuesOf(seen, "x-latin"))).toEqual([`a${every}z`])
})

test.each([
  ["with a length", (body: Buffer) => [`Content-Length: ${body.length}`, body] as const],
  [
    "chunked",
    (body: Buffer) => [CHUNKED, Buffer.from(`${chunk(body.toString("latin1"))}0\r\n\r\n`, "latin1")] as const,
  ],
])("a slow upstream holds a client with 64 MB up: %s", async (_name, wrap) => {
  const body = randomBytes(64 * MB)
  const { client, upstream } = await start(async (peer) => {
    peer.socket.pause()
    await eventually(() => peer.bytes > body.length)
    await answering(ok("done"))(peer)
  })
  const [line, bytes] = wrap(body)
  const peer = await client()
  await peer.send(request("POST", line))
  void peer.stream(bytes)
  await eventually(() => peer.streamed > MB)
  await peer.untilStalled()
  expect(peer.streamed).toBeLessThan(AHEAD_MAX)
  ;(await upstream.connection(0)).socket.resume()
  expect((await peer.answer()).status).toBe(200)
  const [seen] = upstream.requests()
  expect([seen?.complete, Bun.hash(seen?.body ?? "")]).toEqual([true, Bun.hash(body)])
})

test("a body of 20 MB is unharmed", async () => {
  const body = randomBytes(20 * MB)
  const { client, upstream } = await start()
  const peer = await client()
  await peer.send(request("PUT", `Content-Length: ${body.length}`))
  void peer.stream(body)
  expect((await peer.answer()).status).toBe(200)
  expect(upstream.requests().map((seen) => Bun.hash(seen.body))).toEqual([Bun.hash(body)])
})

describe("a request whose body breaks off is never whole at the upstream:", () => {
  const cases: ReadonlyArray<readonly [name: string, line: string, body: string]> = [
    ["a short one with a length", "Content-Length: 10", "hello"],
    ["a short chunked one", CHUNKED, chunk("hello")],
    ["a short one within a chunk", CHUNKED, "a\r\nhello"],
    ["a long one with a length", "Content-Length: 200000", LONG],
    ["a long chunked one", CHUNKED, cut(LONG, 7_001).map(chunk).join("")],
    ["a long one within a chunk", CHUNKED, `30000\r\n${LONG}`],
  ]
  const endings: ReadonlyArray<readonly [string, (peer: Peer) => unknown]> = [
    ["ended", (peer) => peer.socket.end()],
    ["reset", (peer) => peer.socket.resetAndDestroy()],
    ["malformed", (peer) => peer.socket.write("\r\nxyz\r\n0\r\n\r\n")],
  ]
  // Within a chunk nothing is malformed.
  for (const [ending, end] of endings)
    test.each(cases.filter(([, , body]) => ending !== "malformed" || body.endsWith("\r\n")))(
      `%s, ${ending}`,
      async (_name, line, body) => {
        const { client, upstream } = await start()
        const peer = await client()
        await peer.send(request("POST", line), body)
        if (body.length > 100_000) await eventually(() => (upstream.connections[0]?.bytes ?? 0) > 64 * 1024)
        end(peer)
        if (body.length > 100_000) await upstream.connections[0]?.untilClosed()
        await peer.untilClosed()
        expect(upstream.requests().filter(({ complete }) => complete)).toEqual([])
        expect(peer.messages().filter(({ status }) => status < 300)).toEqual([])
      },
    )
})

describe("Expect: 100-continue", () => {
  test.each([
    ["short", "Content-Length: 5", "hello"],
    ["chunked", CHUNKED, `${chunk("hello")}0\r\n\r\n`],
    ["long", "Content-Length: 150000", LONG],
  ])("a %s body is asked for, and the expectation ends at the gateway", async (_name, line, body) => {
    const { client, upstream } = await start()
    const peer = await client()
    await peer.send(request("POST", "Expect: 100-continue", line))
    expect((await peer.message(0)).start).toBe("HTTP/1.1 100 Continue")
    await peer.send(body)
    expect([(await peer.answer()).status, peer.messages().length]).toEqual([200, 2])
    const [seen, ...more] = upstream.requests()
    expect([seen?.complete, more, valuesOf(seen as Message, "expect")]).toEqual([true, [], []])
    expect(seen?.body.toString("latin1") === (body === LONG ? LONG : "hello")).toBe(true)
  })

  test("a body that nobody wants is not asked for", async () => {
    const { client, upstream } = await start()
    const peer = await client()
    const refused = request("POST", "Expect: 100-continue", "Content-Length: 5").replace("allowed", "secret")
    await peer.send(refused)
    expect((await peer.message(0)).status).toBe(403)
    expect(upstream.connections).toEqual([])
  })
})

describe("a client that goes away", () => {
  test("before the answer: the upstream need not go on", async () => {
    const { client, upstream } = await start(() => {})
    const peer = await client()
    await peer.send(GET)
    const asked = await upstream.connection(0)
    await asked.message(0)
    peer.socket.resetAndDestroy()
    await asked.untilClosed()
  })

  test("while its body is on the way: the upstream need not wait", async () => {
    const { client, upstream } = await start(() => {})
    const peer = await client()
    await peer.send(request("POST", "Content-Length: 200000"), LONG)
    const asked = await upstream.connection(0)
    peer.socket.resetAndDestroy()
    await asked.untilClosed()
    expect(asked.messages().map(({ complete }) => complete)).toEqual([false])
  })

  test.each([
    ["waits for more", 0],
    ["takes no more", 32],
  ])("in the middle of an answer, while it %s: the upstream need not go on", async (_name, chunks) => {
    const { client, upstream } = await start(async (peer) => {
      await peer.message(0)
      await peer.send(`HTTP/1.1 200 OK\r\n${CHUNKED}\r\n\r\n`, chunk("hello"))
      await eventually(() => reading.received.includes("hello"))
      reading.socket.pause()
      await peer.stream(Buffer.from(chunk("a".repeat(MB)).repeat(chunks)))
    })
    const reading = await client()
    await reading.send(GET)
    const asked = await upstream.connection(0)
    await eventually(() => asked.streamed >= Math.min(chunks, 1) * MB && reading.received.includes("hello"))
    await asked.untilStalled()
    expect(asked.closed).toBe(false)
    reading.socket.resetAndDestroy()
    await asked.untilClosed()
  })

  test("after it ended its half only: it is answered", async () => {
    const { client } = await start(async (peer) => {
      await peer.message(0)
      await eventually(() => ended)
      await answering(ok("late"))(peer)
    })
    let ended = false
    const peer = await client()
    await peer.send(GET)
    peer.socket.end(() => {
      ended = true
    })
    const answer = await peer.answer()
    expect([answer.status, answer.body.toString()]).toEqual([200, "late"])
  })
})
