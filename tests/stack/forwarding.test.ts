// Requests and answers that pass through the gateway, byte by byte: heads and framing (RFC 9112 section 6).
import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test"
import { randomBytes } from "node:crypto"
import { createServer } from "node:http"
import { serveOn } from "./local_gateway.ts"
import { answering, CHUNKED, chunk, closeAll, GET, gatewayBefore, type Message, ok, request } from "./raw_peer.ts"

// Milliseconds, for a machine under heavy load.
setDefaultTimeout(60_000)
afterEach(closeAll)

const OK = "HTTP/1.1 200 OK\r\n"
const ANSWER_IN_CHUNKS = `${OK}${CHUNKED}\r\n\r\n`
const LATIN = `a${String.fromCharCode(...Array.from({ length: 128 }, (_, at) => 128 + at))}z`
const LONG = randomBytes(150_000).toString("latin1")

const cut = (text: string, size: number): ReadonlyArray<string> =>
  Array.from({ length: Math.ceil(text.length / size) }, (_, at) => text.slice(at * size, (at + 1) * size))

const framingOf = ({ values }: Message): string =>
  ["content-length", "transfer-encoding"].flatMap((name) => values(name).map((value) => `${name}: ${value}`)).join()

describe("the upstream sees one request, its body framed by", () => {
  const post = (...lines: ReadonlyArray<string>) => request("POST", ...lines)
  const five = `${post("Content-Length: 5")}hello`
  test.each<readonly [framing: string, name: string, pieces: ReadonlyArray<string>, body: string]>([
    ["", "GET", [GET], ""],
    ["", "GET byte by byte", [...GET], ""],
    ["", "OPTIONS", [request("OPTIONS")], ""],
    ["", "DELETE", [request("DELETE")], ""],
    ["content-length: 0", "POST without a body", [post()], ""],
    ["content-length: 0", "PUT without a body", [request("PUT")], ""],
    ["content-length: 5", "POST byte by byte", [...five], "hello"],
    ["content-length: 5", "GET with a body", [five.replace("POST", "GET")], "hello"],
    ["content-length: 150000", "a long body", [post("Content-Length: 150000"), ...cut(LONG, 9_973)], LONG],
    [
      "content-length: 5",
      "a length named as the connection's",
      [five.replace("Host: h", "$&\r\nConnection: content-length")],
      "hello",
    ],
    [
      "content-length: 5",
      "the same with GET",
      [five.replace("POST", "GET").replace("Host: h", "$&\r\nConnection: content-length")],
      "hello",
    ],
    ["transfer-encoding: chunked", "short chunks", [`${post(CHUNKED)}2;a=b\r\nhi\r\n0\r\nX-Late: 1\r\n\r\n`], "hi"],
    [
      "transfer-encoding: chunked",
      "long chunks, cut anywhere",
      [post(CHUNKED), ...cut(`${cut(LONG, 7_001).map(chunk).join("")}0\r\n\r\n`, 10_007)],
      LONG,
    ],
  ])("%j: %s", async (framing, _name, pieces, body) => {
    const { ask, upstream } = await gatewayBefore(answering(ok("done")))
    expect((await ask(...pieces)).body).toBe("done")
    const [seen, ...more] = upstream.requests()
    expect([seen?.complete, framingOf(seen as Message), more]).toEqual([true, framing, []])
    expect([seen?.body === body, seen?.values("x-late")]).toEqual([true, []])
  })

  test("its own length: bodies and requests in one piece are told apart", async () => {
    const { client, upstream } = await gatewayBefore(answering(ok("done")))
    const smuggled = "GET /secret HTTP/1.1\r\nHost: h\r\n\r\n"
    const peer = await client()
    await peer.send(`${post(`Content-Length: ${smuggled.length}`)}${smuggled}${post(CHUNKED)}0\r\n\r\n${GET}`)
    expect((await peer.message(2)).status).toBe(200)
    const bodies = upstream.requests().map(({ start, body }) => `${start.split(" ")[0]} ${body}`)
    expect(bodies.toSorted()).toEqual(["GET ", "POST ", `POST ${smuggled}`])
  })
})

test.each([
  ["allowed, then secret", GET + GET.replace("allowed", "secret"), ["200 403", "200"]],
  ["secret, then allowed", GET.replace("allowed", "secret") + GET, ["403 200", "403"]],
])(
  "two requests in one piece (%s) are judged one by one, and the secret is never reached",
  async (_name, both, right) => {
    const { client, upstream } = await gatewayBefore(answering(ok("done")))
    const peer = await client()
    await peer.send(both, GET.replace("/open/allowed", "/nothing").replace("Host: h", "Host: h\r\nConnection: close"))
    await peer.untilClosed()
    expect(right).toContain(
      peer
        .messages()
        .slice(0, 2)
        .map(({ status }) => status)
        .join(" ")
        .replace(" 404", ""),
    )
    expect(upstream.requests().every(({ start }) => start === "GET /allowed HTTP/1.1")).toBe(true)
  },
)

test.each([
  ["no host", "GET / HTTP/1.1", "400"],
  ["length and chunks", `POST / HTTP/1.1|Host: h|Content-Length: 5|${CHUNKED}`, "400"],
  ["two lengths", "POST / HTTP/1.1|Host: h|Content-Length: 5|Content-Length: 6", "400"],
  ["a list of lengths", "POST / HTTP/1.1|Host: h|Content-Length: 5, 5", "400"],
  ["a length with a sign", "POST / HTTP/1.1|Host: h|Content-Length: +5", "400"],
  ["an unknown coding", "POST / HTTP/1.1|Host: h|Transfer-Encoding: xchunked", "400"],
  ["chunks twice", `POST / HTTP/1.1|Host: h|${CHUNKED}|${CHUNKED}`, "400"],
  ["a folded line", "GET / HTTP/1.1|Host: h|X: a| b", "400"],
  ["a blank before the colon", "GET / HTTP/1.1|Host: h|X : a", "400"],
  ["a NUL", "GET / HTTP/1.1|Host: h|X: a\0b", "400"],
  ["line ends without CR", "GET / HTTP/1.1\nHost: h\n", "400"],
  ["a blank in the target", "GET /a b HTTP/1.1|Host: h", "400"],
  ["another version", "GET / HTTP/2.0|Host: h", "400"],
  ["an unknown method", "FOO / HTTP/1.1|Host: h", "400"],
  ["a tunnel", "CONNECT a:80 HTTP/1.1|Host: h", "closed"],
  ["a head over 16 KiB", `GET / HTTP/1.1|Host: h|X: ${"a".repeat(17_000)}`, "431"],
])("hostile framing never reaches the upstream: %s", async (_name, lines, right) => {
  const { client, upstream } = await gatewayBefore(answering(ok("done")))
  const peer = await client()
  const head = lines.replace(" / ", " /open/allowed ").replaceAll("|", "\r\n")
  await peer.send(`${head}\r\n\r\n0\r\n\r\n${GET.replace("Host: h", "Host: h\r\nConnection: close")}`)
  await peer.untilClosed()
  // What is no request ends the connection: nothing after it is read as one.
  expect(upstream.connections).toHaveLength(0)
  expect(new Set(peer.messages().map(({ status }) => status))).toEqual(
    new Set(right === "closed" ? [] : [Number(right)]),
  )
})

describe("Expect: 100-continue", () => {
  test("a body that is wanted is asked for, and the expectation ends at the gateway", async () => {
    const { client, upstream } = await gatewayBefore(answering(ok("done")))
    const peer = await client()
    await peer.send(request("POST", "Expect: 100-continue", CHUNKED))
    expect((await peer.message(0)).start).toBe("HTTP/1.1 100 Continue")
    await peer.send(`${chunk("hello")}0\r\n\r\n`)
    expect((await peer.message(1)).status).toBe(200)
    expect(upstream.requests().map(({ body, values }) => [body, values("expect")])).toEqual([["hello", []]])
  })

  test("a body that nobody wants is not", async () => {
    const { ask, upstream } = await gatewayBefore(answering(ok("done")))
    const refused = request("POST", "Expect: 100-continue", "Content-Length: 5").replace("allowed", "secret")
    expect([(await ask(refused)).status, upstream.connections]).toEqual([403, []])
  })
})

test("20 MB pass unharmed in both directions at once", async () => {
  const body = randomBytes(20 * 1024 * 1024)
  const echo = createServer((incoming, outgoing) => void incoming.pipe(outgoing))
  const { server } = await gatewayBefore(await serveOn(echo))
  const { port } = server.address() as { port: number }
  for (const sent of [body, new Blob([body]).stream()]) {
    const answer = await fetch(`http://127.0.0.1:${port}/open/allowed`, { method: "PUT", body: sent })
    expect(Bun.hash(await answer.arrayBuffer())).toBe(Bun.hash(body))
  }
  echo.closeAllConnections()
  echo.close()
})

describe("a whole answer arrives whole:", () => {
  test.each<readonly [name: string, pieces: ReadonlyArray<string>, body: string]>([
    ["with a length, byte by byte", [...ok("hello")], "hello"],
    ["with a length of 0", [ok("")], ""],
    ["without a reason", ["HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok"], "ok"],
    [
      "chunked, byte by byte",
      [...`${ANSWER_IN_CHUNKS}5\r\nhello\r\n00A\r\n, my world\r\n0\r\n\r\n`],
      "hello, my world",
    ],
    ["chunked, without a body", [`${ANSWER_IN_CHUNKS}0\r\n\r\n`], ""],
    ["chunked, with extensions", [`${ANSWER_IN_CHUNKS}2;a\r\nhe\r\n3;b="c; d"\r\nllo\r\n0;last=1\r\n\r\n`], "hello"],
    ["chunked, with trailers", [`${ANSWER_IN_CHUNKS}2\r\nok\r\n`, "0\r\nX-Late: 1\r\nSet-Cookie: a=1\r\n\r\n"], "ok"],
    ["after 100 and 103", ["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Early\r\nX-Late: 1\r\n\r\n", ok("hi")], "hi"],
    ["after many 103 in one piece", ["HTTP/1.1 103 Early\r\nX-Late: 1\r\n\r\n".repeat(20) + ok("hi")], "hi"],
  ])("%s", async (_name, pieces, body) => {
    const { ask, upstream } = await gatewayBefore(answering(pieces))
    for (let time = 0; time < 2; time++) {
      const answer = await ask(GET)
      expect([answer.status, answer.complete, answer.body]).toEqual([200, true, body])
      expect([...answer.values("x-late"), ...answer.values("set-cookie")]).toEqual([])
    }
    // A kept connection owes nothing to the exchange before.
    expect(upstream.connections).toHaveLength(1)
  })

  test.each([`${OK}\r\n`, `${OK}Connection: close\r\n\r\n`, "HTTP/1.0 200 OK\r\n\r\n"])(
    "until the end of the connection: %j",
    async (head) => {
      const { ask } = await gatewayBefore(async (peer) => {
        await peer.message(0)
        await peer.send(`${head}hel`, "lo")
        peer.socket.end()
      })
      const answer = await ask(GET)
      expect([answer.status, answer.complete, answer.body]).toEqual([200, true, "hello"])
    },
  )

  test("to a client of HTTP/1.0, which knows no chunks", async () => {
    const { ask } = await gatewayBefore(answering([ANSWER_IN_CHUNKS, "2\r\nhe\r\n", "3\r\nllo\r\n0\r\n\r\n"]))
    const answer = await ask("GET /open/allowed HTTP/1.0\r\n\r\n")
    expect([framingOf(answer), answer.complete, answer.body]).toEqual(["", true, "hello"])
  })
})

test.each([
  ["GET", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", 204, ""],
  ["GET", 'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n', 304, ""],
  ["GET", 'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\nContent-Length: 1000\r\n\r\n', 304, "content-length: 1000"],
  ["HEAD", `${OK}Content-Length: 1000\r\n\r\n`, 200, "content-length: 1000"],
  ["HEAD", "HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\n", 404, "content-length: 3"],
])("an answer without a body: %s, %j", async (method, first, status, framing) => {
  const { client } = await gatewayBefore((peer, at) => answering(...(at === 0 ? [first] : []), ok("next"))(peer))
  const heads = method === "HEAD" ? 1 : 0
  const peer = await client()
  // Bytes of a body that may not be there would be taken for the second answer.
  await peer.send(request(method))
  const answer = await peer.message(0, heads)
  await peer.send(GET)
  expect([answer.status, framingOf(answer), (await peer.message(1, heads)).body]).toEqual([status, framing, "next"])
})

describe("headers", () => {
  test("values beyond ASCII pass byte for byte, repeated lines stay apart and in order, both ways", async () => {
    const cookies = ["a=1; Path=/", "b=2; Expires=Thu, 01 Jan 2026 00:00:00 GMT", "a=3"]
    const lines = [`X-Latin: ${LATIN}`, "X-A: 1", "X-A: 2"]
    const { ask, upstream } = await gatewayBefore(
      answering(ok("hi", ...lines, ...cookies.map((each) => `Set-Cookie: ${each}`))),
    )
    const answer = await ask(request("GET", ...lines))
    for (const seen of [answer, upstream.requests()[0]])
      expect([seen?.values("x-latin"), seen?.values("x-a")]).toEqual([[LATIN], ["1", "2"]])
    expect(answer.values("set-cookie")).toEqual(cookies)
  })

  test("what belongs to the upstream's connection stays there (RFC 9110 section 7.6.1); the gateway's own is added", async () => {
    const hop = ["Connection: X-Internal , keep-alive", "Connection: x-other", "X-Internal: 1", "X-Other: 1"]
    const more = ["Keep-Alive: timeout=5", "Proxy-Connection: keep-alive", "TE: trailers", "Trailer: X", "Upgrade: x"]
    const { ask } = await gatewayBefore(answering(ok("hello", ...hop, ...more, "X-Kept: 1")))
    const { names, values } = await ask(GET)
    expect(names.toSorted()).toEqual(["connection", "content-length", "date", "keep-alive", "via", "x-kept"])
    expect([values("keep-alive"), values("via")]).toEqual([["timeout=60"], ["1.1 portolan"]])
  })

  test("an answer that names its own length as the connection's keeps its body's end", async () => {
    const { ask } = await gatewayBefore(answering(ok("hello", "Connection: content-length, date")))
    const answer = await ask(GET)
    expect([answer.complete, framingOf(answer) === "", answer.body]).toEqual([true, false, "hello"])
  })

  test("a date of the upstream is kept", async () => {
    const date = "Thu, 01 Jan 2026 00:00:00 GMT"
    const { ask } = await gatewayBefore(answering(ok("hello", `Date: ${date}`)))
    expect((await ask(GET)).values("date")).toEqual([date])
  })
})

test.each<readonly [name: string, bytes: string]>([
  ["garbage", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"],
  ["text", "hello, world\r\n\r\n"],
  ["a request", GET],
  ["another version", "HTTP/3.7 200 OK\r\nContent-Length: 0\r\n\r\n"],
  ["a status of two digits", "HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n"],
  ["a status of four digits", "HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n"],
  ["a status below 100", "HTTP/1.1 099 OK\r\nContent-Length: 0\r\n\r\n"],
  ["another protocol nobody asked for", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"],
  ["another protocol, by the connection too", "HTTP/1.1 101 So\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"],
  ["two lengths", `${OK}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!`],
  ["two lengths in a line", `${OK}Content-Length: 5, 6\r\n\r\nhello!`],
  ["a negative length", `${OK}Content-Length: -1\r\n\r\n`],
  ["a length in hexadecimal", `${OK}Content-Length: 0x5\r\n\r\nhello`],
  ["a length beyond every number", `${OK}Content-Length: 99999999999999999999999\r\n\r\nhello`],
  ["length and chunks", `${OK}Content-Length: 5\r\n${CHUNKED}\r\n\r\n5\r\nhello\r\n0\r\n\r\n`],
  ["chunks and length", `${OK}${CHUNKED}\r\nContent-Length: 5\r\n\r\n5\r\nhello\r\n0\r\n\r\n`],
  ["a coding nobody asked for", `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
  ["chunks twice", `${OK}${CHUNKED}\r\n${CHUNKED}\r\n\r\n0\r\n\r\n`],
  ["chunks not last", `${OK}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`],
  ["chunks in HTTP/1.0", `HTTP/1.0 200 OK\r\n${CHUNKED}\r\n\r\n0\r\n\r\n`],
  ["a blank before the colon", `${OK}Content-Length : 5\r\n\r\nhello`],
  ["a line without a colon", `${OK}Content-Length 5\r\n\r\nhello`],
  ["a NUL in a value", `${OK}X-A: a\0b\r\nContent-Length: 0\r\n\r\n`],
  ["a bare CR in a value", `${OK}X-A: a\rb\r\nContent-Length: 0\r\n\r\n`],
  ["headers over 16 KiB", `${OK}${"X-A: aaaaaaaaaaaaaaaaaaaa\r\n".repeat(800)}Content-Length: 0\r\n\r\n`],
])("what is no answer is 502, and nobody is asked again: %s", async (_name, bytes) => {
  const { ask, upstream } = await gatewayBefore(answering(bytes))
  const answer = await ask(GET)
  expect([answer.status, answer.complete, answer.body]).toEqual([502, true, '{"message":"upstream failed"}'])
  expect(upstream.requests()).toHaveLength(1)
  await upstream.connections[0]?.untilClosed()
})
