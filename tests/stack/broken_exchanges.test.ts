// Exchanges that break: what is half never looks whole, what is asked again, and who waits for whom no longer.
import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test"
import { probePort } from "../../stack/loopback.ts"
import {
  answering,
  CHUNKED,
  chunk,
  closeAll,
  eventually,
  GET,
  gatewayBefore,
  ok,
  type Peer,
  rawUpstream,
  request,
} from "./raw_peer.ts"

// Milliseconds, for a machine under heavy load.
setDefaultTimeout(60_000)
afterEach(closeAll)

const POST = `${request("POST", "Content-Length: 5")}hello`
const LONG = "a".repeat(150_000)
const IN_CHUNKS = `HTTP/1.1 200 OK\r\n${CHUNKED}\r\n\r\n`

const ENDINGS: ReadonlyArray<readonly [string, (peer: Peer) => unknown]> = [
  ["ended", (peer) => peer.socket.end()],
  ["reset", (peer) => peer.socket.resetAndDestroy()],
]

/** Methods of the requests on each connection. */
const methodsOn = (connections: ReadonlyArray<Peer>): ReadonlyArray<string> =>
  connections.map((peer) =>
    peer
      .messages()
      .map(({ start }) => start.split(" ")[0])
      .join(" "),
  )

describe.each(ENDINGS)("an answer that is %s before its end never looks whole:", (_ending, end) => {
  const WITH_LENGTH = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"
  const cases: ReadonlyArray<readonly [name: string, head: string, pieces: ReadonlyArray<string>]> = [
    ["no byte of its length", WITH_LENGTH, []],
    ["fewer bytes than its length", WITH_LENGTH, ["hel", "lo wo", "r"]],
    ["before the first chunk", IN_CHUNKS, []],
    ["within a chunk", IN_CHUNKS, ["5\r\nhel"]],
    ["between chunks", IN_CHUNKS, [chunk("hello")]],
    ["within a size", IN_CHUNKS, [`${chunk("hello")}1`]],
    ["a size that is none", IN_CHUNKS, [chunk("hello"), "xyz\r\nhello\r\n0\r\n\r\n"]],
    ["a size beyond every number", IN_CHUNKS, [chunk("hello"), "fffffffffffffffff\r\nhello\r\n0\r\n\r\n"]],
    ["a chunk longer than its size", IN_CHUNKS, ["5\r\nhello, world\r\n", "0\r\n\r\n"]],
    ["trailers over 16 KiB", IN_CHUNKS, [chunk("hello"), `0\r\nX-A: ${"a".repeat(17_000)}\r\n\r\n`]],
  ]
  test.each(cases)("%s", async (_name, head, pieces) => {
    for (const atOnce of [false, true]) {
      const { client, upstream } = await gatewayBefore(async (peer) => {
        await peer.message(0)
        if (!atOnce) {
          await peer.send(head)
          // The client has the head before anything goes wrong.
          await eventually(() => asking.bytes > 0)
        }
        await peer.send(...(atOnce ? [head + pieces.join("")] : pieces))
        end(peer)
      })
      const asking = await client()
      await asking.send(GET)
      const { status, complete } = await asking.message(0)
      expect(atOnce ? ["502 true", "200 false"] : ["200 false"]).toContain(`${status} ${complete}`)
      if (status === 200) await asking.untilClosed()
      expect(upstream.requests()).toHaveLength(1)
    }
  })
})

test("an answer that breaks off is reset, which tells a client of HTTP/1.0 as well", async () => {
  const { client } = await gatewayBefore(async (peer) => {
    await peer.message(0)
    await peer.send(IN_CHUNKS, chunk("hello"))
    await eventually(() => asking.bytes > 0)
    peer.socket.end()
  })
  const asking = await client()
  await asking.send("GET /open/allowed HTTP/1.0\r\n\r\n")
  await asking.untilClosed()
  expect(asking.reset).toBe(true)
})

test.each(["HTTP/1.1 2", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", "HTTP/1.1 100 Continue\r\n\r\n"])(
  "a head that breaks off is 502: %j",
  async (bytes) => {
    const { ask, upstream } = await gatewayBefore(async (peer) => {
      await peer.message(0)
      await peer.send(bytes)
      peer.socket.end()
    })
    expect([(await ask(GET)).status, upstream.requests().length]).toEqual([502, 1])
  },
)

describe.each([...ENDINGS, ["malformed", (peer: Peer) => peer.socket.write("\r\nxyz\r\n0\r\n\r\n")] as const])(
  "a request whose body is %s is never whole at the upstream:",
  (ending, end) => {
    test.each([
      ["a length", "Content-Length: 200000", LONG],
      ["a short length", "Content-Length: 10", "hello"],
      ["chunks", CHUNKED, chunk(LONG)],
      ["short chunks", CHUNKED, chunk("hello")],
      // Within a chunk nothing is malformed.
      ...(ending === "malformed" ? [] : [["within a chunk", CHUNKED, "a\r\nhello"] as const]),
    ])("%s", async (_name, line, body) => {
      const { client, upstream } = await gatewayBefore(answering(ok("done")))
      const asking = await client()
      // With a length, what is malformed is the next request: the body is short of it.
      await asking.send(request("POST", line), body)
      const asked = await upstream.first()
      if (ending === "malformed" && line !== CHUNKED) asking.socket.destroy()
      else end(asking)
      await asked.untilClosed()
      await asking.untilClosed()
      expect(upstream.requests().filter(({ complete }) => complete)).toEqual([])
      expect(asking.messages().filter(({ status }) => status < 300)).toEqual([])
    })
  },
)

test.each<readonly [name: string, method: string, first: string, body: string]>([
  ["a second answer", "GET", ok("mine") + ok("forged"), "mine"],
  ["a byte", "GET", `${ok("mine")}x`, "mine"],
  ["a second answer after chunks", "GET", `${IN_CHUNKS}${chunk("mine")}0\r\n\r\n${ok("forged")}`, "mine"],
  ["a body of 204", "GET", `HTTP/1.1 204 No Content\r\nContent-Length: 6\r\n\r\nforged`, ""],
  ["a body of 304", "GET", `HTTP/1.1 304 Not Modified\r\nContent-Length: 6\r\n\r\nforged`, ""],
  ["a body of HEAD", "HEAD", `HTTP/1.1 200 OK\r\nContent-Length: 44\r\n\r\n${ok("forged")}`, ""],
])("bytes after a whole answer are nobody's: %s", async (_name, method, first, body) => {
  const { client, upstream } = await gatewayBefore((peer, at) =>
    answering(...(at === 0 ? [first, ok("forged")] : [ok("right")]))(peer),
  )
  const asking = await client()
  const heads = method === "HEAD" ? 1 : 0
  await asking.send(request(method))
  expect((await asking.message(0, heads)).body).toBe(body)
  await asking.send(GET)
  expect((await asking.message(1, heads)).body).toBe("right")
  expect([asking.messages(heads).length, upstream.connections[0]?.closed]).toEqual([2, true])
})

describe("a client that goes away ends the upstream's work:", () => {
  test.each([
    ["before the answer", GET, []],
    ["while its body is on the way", request("POST", "Content-Length: 200000") + LONG, []],
    ["in the middle of an answer", GET, [IN_CHUNKS, chunk("hello")]],
    ["in the middle of an answer it does not read", GET, [IN_CHUNKS, chunk("a".repeat(32 * 1024 * 1024))]],
  ])("%s", async (_name, bytes, answer) => {
    const { client, upstream } = await gatewayBefore(async (peer) => {
      await eventually(() => peer.bytes > 0)
      await peer.send(...answer)
    })
    const asking = await client()
    await asking.send(bytes)
    if (answer.length > 0) await eventually(() => asking.bytes > 0)
    if (answer.join("").length > 1024) asking.socket.pause()
    const asked = await upstream.first()
    await eventually(() => asked.bytes > 0)
    expect(asked.closed).toBe(false)
    asking.socket.resetAndDestroy()
    await asked.untilClosed()
  })
})

describe("a connection to the upstream", () => {
  test("is kept after an answer, and not when it or HTTP/1.0 says so", async () => {
    for (const [answer, connections] of [
      [ok("hello"), 1],
      ["HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", 1],
      [ok("hello", "Connection: x-a, CLOSE"), 3],
      [ok("hello").replace("1.1", "1.0"), 3],
    ] as const) {
      const { ask, upstream } = await gatewayBefore(answering(answer))
      for (let time = 0; time < 3; time++) await ask(GET)
      expect([answer, upstream.connections.length, upstream.requests().length]).toEqual([answer, connections, 3])
    }
  })

  test("is not kept after an answer that came before the end of the request's body", async () => {
    const { ask, client, upstream } = await gatewayBefore(async (peer, at) => {
      if (at > 0) return answering(ok("right"))(peer)
      await eventually(() => peer.bytes > 64 * 1024)
      await peer.send("HTTP/1.1 413 Too Large\r\nContent-Length: 5\r\n\r\nearly")
    })
    const asking = await client()
    await asking.send(request("POST", "Content-Length: 1000000"), LONG)
    const answer = await asking.message(0)
    expect([answer.status, answer.complete, answer.body]).toEqual([413, true, "early"])
    expect((await ask(GET)).body).toBe("right")
    await upstream.connections[0]?.untilClosed()
  })

  test.each(ENDINGS)(
    "that is %s while nobody uses it: the next request is answered all the same",
    async (_name, end) => {
      const { ask, upstream } = await gatewayBefore(answering(ok("hello")))
      for (const bytes of [GET, GET, POST]) {
        expect((await ask(bytes)).status).toBe(200)
        for (const peer of upstream.connections) end(peer)
      }
      expect(methodsOn(upstream.connections)).toEqual(["GET", "GET", "POST"])
    },
  )

  test.each(["POST", "PATCH"])(
    "that is kept never carries %s, nor any body: that must not be sent twice",
    async (method) => {
      const { ask, upstream } = await gatewayBefore(answering(ok("hello")))
      for (const bytes of [GET, request(method), GET, `${request("PUT", "Content-Length: 5")}hello`, GET])
        await ask(bytes)
      expect(methodsOn(upstream.connections).toSorted()).toEqual(["GET GET GET", method, "PUT"].toSorted())
    },
  )
})

describe("an upstream that closes without a byte of an answer", () => {
  /** Answers once; then reads a request, says this much, and closes, on as many connections as said. */
  const closing =
    (times: number, say = "") =>
    async (peer: Peer, at: number) => {
      if (at === 0) {
        await peer.message(0)
        await peer.send(ok("first"))
      }
      if (at > times) return answering(ok("again"))(peer)
      await peer.message(at === 0 ? 1 : 0)
      await peer.send(say)
      peer.socket.end()
    }
  test.each([
    ["over a kept connection: GET is sent once more, over a new one", 0, "", GET, 200, ["GET GET", "GET"]],
    ["twice: 502", 9, "", GET, 502, ["GET GET", "GET"]],
    ["POST is not sent again", 9, "", POST, 502, ["GET", "POST"]],
    ["but with a byte of one: it has begun, and is not asked again", 0, "H", GET, 502, ["GET GET"]],
  ])("%s", async (_name, times, say, bytes, status, seen) => {
    const { ask, upstream } = await gatewayBefore(closing(times, say))
    expect((await ask(GET)).body).toBe("first")
    expect((await ask(bytes)).status).toBe(status)
    expect(methodsOn(upstream.connections)).toEqual(seen)
  })

  test("over a new connection: 502, and nothing is sent again", async () => {
    const { ask, upstream } = await gatewayBefore(async (peer) => {
      await peer.message(0)
      peer.socket.end()
    })
    expect([(await ask(GET)).status, (await ask(POST)).status]).toEqual([502, 502])
    expect(methodsOn(upstream.connections)).toEqual(["GET", "POST"])
  })
})

test("nobody listens: 502, until somebody does", async () => {
  const port = (await probePort(0)) ?? 0
  const { ask } = await gatewayBefore(`http://127.0.0.1:${port}`)
  for (const bytes of [GET, POST]) {
    const { status, body } = await ask(bytes)
    expect([status, body]).toEqual([502, '{"message":"upstream failed"}'])
  }
  await rawUpstream(answering(ok("hello")), port)
  expect((await ask(GET)).body).toBe("hello")
})

test("an upstream that begins no answer in time: 504, asked once, also over a kept connection", async () => {
  const { ask, upstream } = await gatewayBefore(async (peer, at) => {
    await peer.message(0)
    if (at === 0) await peer.send(ok("first"))
  }, 200)
  await ask(GET)
  for (const bytes of [GET, POST]) {
    const { status, body } = await ask(bytes)
    expect([status, body]).toEqual([504, '{"message":"upstream timed out"}'])
  }
  expect(methodsOn(upstream.connections)).toEqual(["GET GET", "POST"])
})

test("a head that comes too slowly is 408; a connection that says nothing for too long is closed", async () => {
  const { client, server, upstream } = await gatewayBefore(() => {})
  expect([server.headersTimeout, server.timeout]).toEqual([10_000, 60_000])
  server.headersTimeout = 300
  // Longer than heads are looked at, which is once in a second.
  server.setTimeout(2_500)
  const [slow, silent] = [await client(), await client()]
  await slow.send("GET /open/allowed HTTP/1.1\r\n")
  const drip = setInterval(() => slow.closed || slow.socket.write("X: 1\r\n"), 50)
  await silent.send(request("POST", "Content-Length: 10"), "begun")
  await Promise.all([slow.untilClosed(), silent.untilClosed()])
  clearInterval(drip)
  expect([slow.messages()[0]?.status, silent.messages().length]).toEqual([408, 0])
  expect(upstream.requests().filter(({ complete }) => complete)).toEqual([])
})
