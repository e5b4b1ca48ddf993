// Bodies of the upstream's answers: large ones, slow readers, and what breaks off on the way (RFC 9112 section 8).
import { afterEach, describe, expect, test } from "bun:test"
import { randomBytes } from "node:crypto"
import { valuesOf } from "./http_messages.ts"
import { answering, closeAll, eventually, GET, gatewayBefore, ok, type Peer, rawUpstream, request } from "./raw_peer.ts"

afterEach(closeAll)

const MB = 1024 * 1024

/** What the systems' buffers of two connections may hold beside the gateway's own. */
const AHEAD_MAX = 40 * MB

const LAST = request("GET", "Connection: close")
const CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

/** A body in chunks of many sizes. */
const inChunks = (body: Buffer): Buffer => {
  const parts: Array<Buffer> = []
  for (let at = 0, size = 1; at < body.length; at += size, size = (size * 7) % 99_991) {
    const data = body.subarray(at, at + size)
    parts.push(Buffer.from(`${data.length.toString(16)}\r\n`), data, Buffer.from("\r\n"))
  }
  return Buffer.concat([...parts, Buffer.from("0\r\n\r\n")])
}

const FRAMINGS: ReadonlyArray<readonly [name: string, wrap: (body: Buffer) => readonly [string, Buffer]]> = [
  ["with a length", (body) => [`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`, body]],
  ["chunked", (body) => [CHUNKED, inChunks(body)]],
  ["until close", (body) => ["HTTP/1.1 200 OK\r\n\r\n", body]],
]

/** An upstream that answers with a body and then ends the connection. */
const bodyUpstream = (head: string, bytes: Buffer) =>
  rawUpstream(async (peer) => {
    await peer.message(0)
    await peer.send(head)
    await peer.stream(bytes)
    peer.socket.end()
  })

describe.each([1, 20])("a body of %d MB is unharmed:", (size) => {
  const body = randomBytes(size * MB + 1)
  const hash = Bun.hash(body)

  test.each(FRAMINGS)("%s", async (_name, wrap) => {
    const upstream = await bodyUpstream(...wrap(body))
    const client = await (await gatewayBefore(upstream)).client()
    await client.send(LAST)
    await client.untilClosed()
    const answer = await client.answer()
    expect([answer.complete, answer.body.length, Bun.hash(answer.body)]).toEqual([true, body.length, hash])
  })
})

test.each(FRAMINGS)("a client that reads nothing holds the upstream up: %s", async (_name, wrap) => {
  const body = randomBytes(64 * MB)
  const upstream = await bodyUpstream(...wrap(body))
  const client = await (await gatewayBefore(upstream)).client()
  client.socket.pause()
  await client.send(LAST)
  const peer = await upstream.connection(0)
  await eventually(() => peer.streamed > MB)
  await peer.untilStalled()
  expect(peer.streamed).toBeLessThan(AHEAD_MAX)
  // What was held up arrives as well.
  client.socket.resume()
  await client.untilClosed()
  const answer = await client.answer()
  expect([answer.complete, Bun.hash(answer.body)]).toEqual([true, Bun.hash(body)])
})

describe("an answer that breaks off never looks whole:", () => {
  const LENGTH = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"
  const cases: ReadonlyArray<readonly [name: string, head: string, pieces: ReadonlyArray<string>]> = [
    ["no byte of its length", LENGTH, []],
    ["fewer bytes than its length", LENGTH, ["hel", "lo wo", "r"]],
    ["within a chunk", CHUNKED, ["5\r\nhel"]],
    ["after a chunk's data", CHUNKED, ["5\r\nhello"]],
    ["between chunks", CHUNKED, ["5\r\nhello\r\n"]],
    ["within a size", CHUNKED, ["5\r\nhello\r\n1"]],
    ["before the first chunk", CHUNKED, []],
    ["a size that is none", CHUNKED, ["5\r\nhello\r\n", "xyz\r\nhello\r\n0\r\n\r\n"]],
    ["a negative size", CHUNKED, ["5\r\nhello\r\n", "-1\r\n\r\n0\r\n\r\n"]],
    ["a size beyond every number", CHUNKED, ["5\r\nhello\r\n", "fffffffffffffffff\r\nhello\r\n0\r\n\r\n"]],
    ["a chunk longer than its size", CHUNKED, ["5\r\nhello, world\r\n", "0\r\n\r\n"]],
    ["trailers over 16 KiB", CHUNKED, ["5\r\nhello\r\n", `0\r\nX-A: ${"a".repeat(17_000)}\r\n\r\n`]],
  ]
  const endings: ReadonlyArray<readonly [string, (peer: Peer) => unknown]> = [
    ["ended", (peer) => peer.socket.end()],
    ["reset", (peer) => peer.socket.resetAndDestroy()],
  ]
  for (const [ending, end] of endings)
    test.each(cases)(`%s, ${ending}`, async (_name, head, pieces) => {
      const upstream = await rawUpstream(async (peer) => {
        await peer.message(0)
        await peer.send(head)
        // The client has the head before anything goes wrong.
        await eventually(() => client.bytes > 0)
        await peer.send(...pieces)
        end(peer)
      })
      const client = await (await gatewayBefore(upstream)).client()
      await client.send(GET)
      const answer = await client.answer()
      expect([answer.status, answer.complete, client.closed]).toEqual([200, false, true])
      expect("hello, world").toStartWith(answer.body.toString().slice(0, 5))
      expect(upstream.requests()).toHaveLength(1)
    })

  test.each(cases)("%s, all at once", async (_name, head, pieces) => {
    const upstream = await rawUpstream(async (peer) => {
      await peer.message(0)
      await peer.send(head + pieces.join(""))
      peer.socket.end()
    })
    const client = await (await gatewayBefore(upstream)).client()
    await client.send(GET)
    const answer = await client.answer()
    expect([`502 true`, `200 false`]).toContain(`${answer.status} ${answer.complete}`)
    expect(upstream.requests()).toHaveLength(1)
  })

  test("to a client of HTTP/1.0, whose answer ends with the connection: it is reset, not ended", async () => {
    const upstream = await rawUpstream(async (peer) => {
      await peer.message(0)
      await peer.send(CHUNKED, "5\r\nhello\r\n")
      await eventually(() => client.bytes > 0)
      peer.socket.end()
    })
    const client = await (await gatewayBefore(upstream)).client()
    await client.send("GET /open/allowed HTTP/1.0\r\n\r\n")
    await client.untilClosed()
    expect(client.reset).toBe(true)
  })

  test("20 MB short of one byte", async () => {
    const body = randomBytes(20 * MB)
    const upstream = await bodyUpstream(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length + 1}\r\n\r\n`, body)
    const client = await (await gatewayBefore(upstream)).client()
    await client.send(GET)
    await client.untilClosed()
    const answer = await client.answer()
    expect(valuesOf(answer, "content-length")).toEqual([String(body.length + 1)])
    expect([answer.complete, answer.body.length <= body.length]).toEqual([false, true])
  })
})

describe("bytes after a whole answer are nobody's:", () => {
  const FORGED = ok("forged")
  const FIRST: ReadonlyArray<readonly [name: string, method: string, first: string, body: string]> = [
    ["a second answer", "GET", ok("mine") + FORGED, "mine"],
    ["a byte", "GET", `${ok("mine")}x`, "mine"],
    ["an empty line", "GET", `${ok("mine")}\r\n`, "mine"],
    ["a second answer after chunks", "GET", `${CHUNKED}4\r\nmine\r\n0\r\n\r\n${FORGED}`, "mine"],
    ["a body of 204", "GET", `HTTP/1.1 204 No Content\r\n\r\n${FORGED}`, ""],
    ["a body of 204 with a length", "GET", `HTTP/1.1 204 No Content\r\nContent-Length: 6\r\n\r\nforged`, ""],
    ["a body of 304", "GET", `HTTP/1.1 304 Not Modified\r\nContent-Length: 6\r\n\r\nforged`, ""],
    ["a body of HEAD", "HEAD", `HTTP/1.1 200 OK\r\nContent-Length: ${FORGED.length}\r\n\r\n${FORGED}`, ""],
  ]
  const upstreamSaying = (first: ReadonlyArray<string>) =>
    rawUpstream((peer, at) => (at === 0 ? answering(first, FORGED)(peer) : answering(ok("right"))(peer)))

  test.each(FIRST)("%s, with the answer", async (_name, method, first, body) => {
    const upstream = await upstreamSaying([first])
    const client = await (await gatewayBefore(upstream)).client()
    const heads = method === "HEAD" ? 1 : 0
    await client.send(request(method))
    expect((await client.message(0, heads)).body.toString()).toBe(body)
    await client.send(GET)
    expect((await client.message(1, heads)).body.toString()).toBe("right")
    expect([client.messages(heads).length, upstream.connections.length]).toEqual([2, 2])
    expect(upstream.connections[0]?.closed).toBe(true)
  })

  test("while the next exchange waits: it is not answered with them", async () => {
    const upstream = await upstreamSaying([ok("mine")])
    const { ask } = await gatewayBefore(upstream)
    expect((await ask(GET)).body.toString()).toBe("mine")
    const peer = await upstream.connection(0)
    await peer.send(FORGED)
    await peer.untilClosed()
    expect((await ask(GET)).body.toString()).toBe("right")
    expect(upstream.connections).toHaveLength(2)
  })

  test("of two clients, each gets its own", async () => {
    const upstream = await upstreamSaying([ok("mine") + FORGED])
    const { ask } = await gatewayBefore(upstream)
    const bodies = await Promise.all([ask(GET), ask(GET)])
    expect(bodies.map(({ body }) => body.toString()).toSorted()).toEqual(["mine", "right"])
    expect((await ask(GET)).body.toString()).toBe("right")
  })
})
