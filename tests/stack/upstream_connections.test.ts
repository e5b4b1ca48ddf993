// The connections to the upstream: which are kept, what goes over a kept one, and what is asked again.
import { afterEach, describe, expect, test } from "bun:test"
import { probePort } from "../../stack/loopback.ts"
import { answering, closeAll, eventually, GET, gatewayBefore, ok, type Peer, rawUpstream, request } from "./raw_peer.ts"

afterEach(closeAll)

const POST = `${request("POST", "Content-Length: 5")}hello`

const start = async (script: (peer: Peer, at: number) => unknown) => {
  const upstream = await rawUpstream(script)
  return { upstream, ...(await gatewayBefore(upstream)) }
}

/** Methods of the requests on each connection. */
const methodsOn = (connections: ReadonlyArray<Peer>): ReadonlyArray<string> =>
  connections.map((peer) =>
    peer
      .messages()
      .map(({ start: line }) => line.split(" ")[0])
      .join(" "),
  )

describe("a connection is kept after", () => {
  test.each([
    ["an answer with a length", GET, ok("hello")],
    ["a chunked answer", GET, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"],
    ["204", GET, "HTTP/1.1 204 No Content\r\n\r\n"],
    ["304 with a length", GET, "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n"],
    ["an error", GET, "HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\nno"],
    ["POST", POST, ok("hello")],
    ["HTTP/1.0 that keeps it", GET, "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok"],
  ])("%s", async (_name, first, answer) => {
    const { ask, upstream } = await start(answering(answer))
    await ask(first)
    for (let time = 0; time < 5; time++) await ask(GET)
    expect([upstream.connections.length, upstream.requests().length]).toEqual([1, 6])
  })

  test("HEAD", async () => {
    const { client, upstream } = await start(answering("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"))
    const peer = await client()
    await peer.send(request("HEAD"), request("HEAD"), request("HEAD"))
    await peer.message(2, 3)
    expect(upstream.connections).toHaveLength(1)
  })
})

test("requests at the same time have a connection each, and those are kept", async () => {
  const { ask, upstream } = await start(async (peer) => {
    await eventually(() => upstream.connections.length === 8)
    await answering(ok("hello"))(peer)
  })
  await Promise.all(Array.from({ length: 8 }, () => ask(GET)))
  for (let time = 0; time < 5; time++) await ask(GET)
  expect([upstream.connections.length, upstream.requests().length]).toEqual([8, 13])
})

describe("a connection is not kept after", () => {
  test.each([
    ["Connection: close", ok("hello", "Connection: close")],
    ["close among others, in capitals", ok("hello", "Connection: x-a, CLOSE")],
    ["HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello"],
    ["HTTP/1.0, chunks of which it knows nothing", "HTTP/1.0 200 OK\r\n\r\n5\r\nhello\r\n0\r\n\r\n"],
  ])("%s", async (_name, answer) => {
    const { ask, upstream } = await start(async (peer) => {
      await peer.message(0)
      await peer.send(answer)
      // Only the last goes on until the end of the connection.
      if (!answer.includes("Content-Length")) peer.socket.end()
      await peer.message(1)
      await peer.send(ok("kept"))
    })
    const body = answer.split("\r\n\r\n").slice(1).join("\r\n\r\n")
    for (let time = 0; time < 3; time++) {
      const { status, body: given } = await ask(GET)
      expect([status, given.toString()]).toEqual([200, body])
    }
    expect(methodsOn(upstream.connections)).toEqual(["GET", "GET", "GET"])
    for (const peer of upstream.connections) await peer.untilClosed()
  })

  test.each([
    ["with a length", "Content-Length: 1000000", "a".repeat(100_000)],
    ["chunked", "Transfer-Encoding: chunked", `186a0\r\n${"a".repeat(100_000)}\r\n`],
  ])("an answer that came before the end of the request's body, %s", async (_name, line, begin) => {
    const { ask, client, upstream } = await start(async (peer, at) => {
      if (at > 0) return answering(ok("right"))(peer)
      await eventually(() => peer.bytes > 64 * 1024)
      await peer.send("HTTP/1.1 413 Too Large\r\nContent-Length: 5\r\n\r\nearly")
    })
    const peer = await client()
    await peer.send(request("POST", line), begin)
    const answer = await peer.answer()
    expect([answer.status, answer.complete, answer.body.toString()]).toEqual([413, true, "early"])
    // Asked while the body could still be on its way.
    expect((await ask(GET)).body.toString()).toBe("right")
    await upstream.connections[0]?.untilClosed()
    expect(upstream.connections.map((each) => each.messages().map(({ complete }) => complete))).toEqual([
      [false],
      [true],
    ])
  })
})

describe("a connection that the upstream ends while nobody uses it", () => {
  test.each([
    ["ended", (peer: Peer) => peer.socket.end()],
    ["reset", (peer: Peer) => peer.socket.resetAndDestroy()],
  ])("%s: the next GET is answered all the same", async (_name, end) => {
    const { ask, upstream } = await start(answering(ok("hello")))
    for (let time = 0; time < 3; time++) {
      expect((await ask(GET)).status).toBe(200)
      const peer = await upstream.connection(time)
      end(peer)
      await peer.untilClosed()
    }
    expect((await ask(GET)).status).toBe(200)
    expect(methodsOn(upstream.connections)).toEqual(["GET", "GET", "GET", "GET"])
  })

  test("at the very moment: neither GET nor POST fails", async () => {
    const { ask, client, upstream } = await start(answering(ok("hello")))
    for (const bytes of [GET, POST]) {
      await ask(GET)
      const peer = await client()
      // Without a turn between them: the gateway may hear of either first.
      for (const { socket } of upstream.connections) socket.end()
      await peer.send(bytes)
      expect((await peer.answer()).status).toBe(200)
    }
  })
})

describe("an upstream that closes without a byte of an answer", () => {
  /** Answers once on its first connection; then reads a request and closes, on as many connections as said. */
  const closing = (times: number) => async (peer: Peer, at: number) => {
    if (at === 0) {
      await peer.message(0)
      await peer.send(ok("first"))
      await peer.message(1)
      peer.socket.end()
    } else if (at <= times) {
      await peer.message(0)
      peer.socket.end()
    } else await answering(ok("again"))(peer)
  }

  test.each(["GET", "OPTIONS"])("%s over a kept connection is asked once more, over a new one", async (method) => {
    const { ask, upstream } = await start(closing(0))
    expect((await ask(GET)).body.toString()).toBe("first")
    expect((await ask(request(method))).body.toString()).toBe("again")
    expect(methodsOn(upstream.connections)).toEqual([`GET ${method}`, method])
  })

  test.each(["POST", "PATCH"])("%s never goes over a kept connection", async (method) => {
    const { ask, upstream } = await start(answering(ok("hello")))
    for (let time = 0; time < 3; time++) {
      expect((await ask(GET)).status).toBe(200)
      expect((await ask(request(method))).status).toBe(200)
    }
    for (const methods of methodsOn(upstream.connections)) expect(methods).not.toContain(` ${method}`)
    expect(upstream.requests()).toHaveLength(6)
  })

  test("a body that streams never goes over a kept connection: it could not be sent again", async () => {
    const { ask, upstream } = await start(answering(ok("hello")))
    await ask(GET)
    const body = "a".repeat(100_000)
    expect((await ask(request("PUT", `Content-Length: ${body.length}`), body)).status).toBe(200)
    expect(methodsOn(upstream.connections)).toEqual(["GET", "PUT"])
  })

  test.each([
    ["GET", GET, ["GET GET", "GET"]],
    ["POST", POST, ["GET", "POST"]],
  ])("every time: 502, %s", async (_method, bytes, seen) => {
    const { ask, upstream } = await start(closing(100))
    await ask(GET)
    expect((await ask(bytes)).status).toBe(502)
    expect(methodsOn(upstream.connections)).toEqual(seen)
  })

  test.each([
    ["GET", GET],
    ["POST", POST],
  ])("over a new connection: 502, %s is not asked again", async (method, bytes) => {
    const { ask, upstream } = await start(async (peer) => {
      await peer.message(0)
      peer.socket.end()
    })
    expect((await ask(bytes)).status).toBe(502)
    expect(methodsOn(upstream.connections)).toEqual([method])
  })

  test("before it reads: 502", async () => {
    const { ask, upstream } = await start((peer) => peer.socket.resetAndDestroy())
    expect([(await ask(GET)).status, (await ask(POST)).status]).toEqual([502, 502])
    expect(upstream.connections).toHaveLength(2)
  })

  test("with a byte of one, over a kept connection: it has begun to answer, and is not asked again", async () => {
    const { ask, upstream } = await start(async (peer) => {
      await peer.message(0)
      await peer.send(ok("first"))
      await peer.message(1)
      await peer.send("H")
      peer.socket.end()
    })
    await ask(GET)
    expect((await ask(GET)).status).toBe(502)
    expect(methodsOn(upstream.connections)).toEqual(["GET GET"])
  })
})

test("nobody listens: 502, until somebody does", async () => {
  const port = await probePort(0)
  const { ask } = await gatewayBefore({ url: `http://127.0.0.1:${port}` })
  for (const bytes of [GET, POST]) {
    const answer = await ask(bytes)
    expect([answer.status, answer.body.toString()]).toEqual([502, '{"message":"upstream failed"}'])
  }
  await rawUpstream(answering(ok("hello")), port)
  expect((await ask(GET)).body.toString()).toBe("hello")
})
