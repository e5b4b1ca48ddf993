// How the upstream's answer comes to the client: heads and framing (RFC 9112 section 6), byte by byte where it matters.
import { afterEach, describe, expect, test } from "bun:test"
import { valuesOf } from "./http_messages.ts"
import { answering, closeAll, GET, gatewayBefore, ok, rawUpstream, request } from "./raw_peer.ts"

afterEach(closeAll)

const CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

/** The gateway before an upstream that answers this to every request. */
const answeredWith = async (...pieces: ReadonlyArray<string | Uint8Array>) => {
  const upstream = await rawUpstream(answering(pieces))
  return { upstream, ...(await gatewayBefore(upstream)) }
}

const inBytes = (text: string): ReadonlyArray<string> => [...text]

describe("a whole answer arrives whole:", () => {
  const cases: ReadonlyArray<readonly [name: string, pieces: ReadonlyArray<string>, body: string]> = [
    ["with a length", [ok("hello")], "hello"],
    ["with a length of 0", [ok("")], ""],
    ["with a length, the body apart", ["HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "hello"], "hello"],
    ["with a length, byte by byte", inBytes(ok("hello")), "hello"],
    ["without a reason", ["HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok"], "ok"],
    ["chunked", [`${CHUNKED}5\r\nhello\r\n0\r\n\r\n`], "hello"],
    ["chunked, without a body", [`${CHUNKED}0\r\n\r\n`], ""],
    ["chunked, byte by byte", inBytes(`${CHUNKED}5\r\nhello\r\n00A\r\n, my world\r\n0\r\n\r\n`), "hello, my world"],
    [
      "chunked, cut within sizes, line ends and data",
      [`${CHUNKED}0000`, "5", "\r", "\nhel", "lo\r", "\n", "1", "0\r\n0123456789abcde", "f\r\n", "0\r", "\n\r", "\n"],
      "hello0123456789abcdef",
    ],
    [
      "chunked, with extensions",
      [`${CHUNKED}2;a\r\nhe\r\n3;name=value;other="quoted; still"\r\nllo\r\n0;last=1\r\n\r\n`],
      "hello",
    ],
    ["chunked, the coding in capitals", [`${CHUNKED.replace("chunked", "Chunked")}2\r\nok\r\n0\r\n\r\n`], "ok"],
  ]
  test.each(cases)("%s", async (_name, pieces, body) => {
    const { ask, upstream } = await answeredWith(...pieces)
    for (let time = 0; time < 2; time++) {
      const answer = await ask(GET)
      expect([answer.status, answer.complete, answer.body.toString()]).toEqual([200, true, body])
    }
    expect(upstream.connections).toHaveLength(1)
  })

  test("trailers end a body and become no headers", async () => {
    const trailers = "X-Late: 1\r\nSet-Cookie: late=1\r\n"
    const { ask } = await answeredWith(`${CHUNKED}5\r\nhello\r\n`, `0\r\n${trailers}\r\n`)
    const answer = await ask(GET)
    expect([answer.complete, answer.body.toString()]).toEqual([true, "hello"])
    expect([...valuesOf(answer, "x-late"), ...valuesOf(answer, "set-cookie")]).toEqual([])
  })

  test.each([
    ["HTTP/1.1 200 OK\r\n\r\n", ["hel", "lo"]],
    ["HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", []],
    ["HTTP/1.0 200 OK\r\n\r\nhel", ["lo"]],
  ])("delimited by the end of the connection: %j, %j", async (head, pieces) => {
    const upstream = await rawUpstream(async (peer) => {
      await peer.message(0)
      await peer.send(head, ...pieces)
      peer.socket.end()
    })
    const { ask } = await gatewayBefore(upstream)
    for (let time = 0; time < 2; time++) {
      const answer = await ask(GET)
      expect([answer.status, answer.complete]).toEqual([200, true])
      expect(answer.body.toString()).toBe(head.split("\r\n\r\n")[1] + pieces.join(""))
    }
    expect(upstream.connections).toHaveLength(2)
  })

  test("to a client of HTTP/1.0, which knows no chunks", async () => {
    const { ask } = await answeredWith(CHUNKED, "2\r\nhe\r\n", "3\r\nllo\r\n0\r\n\r\n")
    const answer = await ask("GET /open/allowed HTTP/1.0\r\n\r\n")
    expect([answer.framing, answer.complete, answer.body.toString()]).toEqual(["until close", true, "hello"])
  })
})

describe("an answer without a body:", () => {
  /** Asks twice over one connection: bytes of a body that may not be there would be taken for the second answer. */
  const twice = async (method: string, first: string) => {
    const upstream = await rawUpstream((peer, at) => answering(...(at === 0 ? [first] : []), ok("next"))(peer))
    const { client } = await gatewayBefore(upstream)
    const peer = await client()
    await peer.send(request(method), GET)
    const heads = method === "HEAD" ? 1 : 0
    return { upstream, answers: [await peer.message(0, heads), await peer.message(1, heads)] }
  }

  test.each([
    ["GET", "HTTP/1.1 204 No Content\r\n\r\n", 204],
    ["DELETE", "HTTP/1.1 204 No Content\r\nX-A: 1\r\n\r\n", 204],
    ["GET", 'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n', 304],
    ["GET", 'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\nContent-Length: 1000\r\n\r\n', 304],
    ["HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", 200],
    ["HEAD", "HTTP/1.1 200 OK\r\n\r\n", 200],
    ["HEAD", CHUNKED, 200],
    ["HEAD", "HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\n", 404],
  ])("%s, %j", async (method, first, status) => {
    const { answers, upstream } = await twice(method, first)
    expect(answers.map((answer) => [answer.status, answer.complete])).toEqual([
      [status, true],
      [200, true],
    ])
    expect(answers[1]?.body.toString()).toBe("next")
    expect(upstream.requests()).toHaveLength(2)
  })

  test("HEAD: the length that GET would have is kept", async () => {
    const { client } = await answeredWith("HTTP/1.1 200 OK\r\nContent-Length: 1234567\r\n\r\n")
    const peer = await client()
    await peer.send(request("HEAD"))
    expect(valuesOf(await peer.answer(1), "content-length")).toEqual(["1234567"])
  })

  test("204: neither length nor coding is said (RFC 9110 section 8.6, RFC 9112 section 6.1)", async () => {
    const { ask } = await answeredWith("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n")
    const answer = await ask(GET)
    expect([answer.status, ...valuesOf(answer, "content-length"), ...valuesOf(answer, "transfer-encoding")]).toEqual([
      204,
    ])
  })
})

test.each([
  ["100", ["HTTP/1.1 100 Continue\r\n\r\n"]],
  ["103", ["HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"]],
  ["both", ["HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"]],
  ["many", Array.from({ length: 20 }, (_, at) => `HTTP/1.1 103 Early Hints\r\nLink: <${at}>\r\n\r\n`)],
])("interim answers are not the answer: %s, together and apart", async (_name, interim) => {
  for (const pieces of [[...interim, ok("final")], [interim.join("") + ok("final")]]) {
    const { ask, upstream } = await answeredWith(...pieces)
    for (let time = 0; time < 2; time++) {
      const answer = await ask(GET)
      expect([answer.status, answer.body.toString(), valuesOf(answer, "link")]).toEqual([200, "final", []])
    }
    expect(upstream.connections).toHaveLength(1)
  }
})

describe("headers of an answer:", () => {
  test("values beyond ASCII pass byte for byte", async () => {
    const every = String.fromCharCode(...Array.from({ length: 128 }, (_, at) => 128 + at))
    const utf8 = Buffer.from("Grüße, 世界").toString("latin1")
    const { ask } = await answeredWith(ok("hello", `X-Latin: a${every}z`, `X-Utf8: ${utf8}`))
    const answer = await ask(GET)
    expect(valuesOf(answer, "x-latin")).toEqual([`a${every}z`])
    expect(valuesOf(answer, "x-utf8")).toEqual([utf8])
    expect(answer.body.toString()).toBe("hello")
  })

  test("repeated lines stay apart and in order", async () => {
    const cookies = ["a=1; Path=/", "b=2; Expires=Thu, 01 Jan 2026 00:00:00 GMT", "a=3"]
    const { ask } = await answeredWith(ok("", ...cookies.map((cookie) => `Set-Cookie: ${cookie}`), "X-A: 1", "X-A: 2"))
    const answer = await ask(GET)
    expect(valuesOf(answer, "set-cookie")).toEqual(cookies)
    expect(valuesOf(answer, "x-a")).toEqual(["1", "2"])
  })

  test("what belongs to the upstream's connection stays there (RFC 9110 section 7.6.1)", async () => {
    const { ask } = await answeredWith(
      ok(
        "hello",
        "Connection: X-Internal , keep-alive",
        "Connection: x-other",
        "X-Internal: 1",
        "X-Other: 1",
        "Keep-Alive: timeout=5",
        "Proxy-Connection: keep-alive",
        "TE: trailers",
        "Trailer: X-Late",
        "Upgrade: websocket",
        "X-Kept: 1",
      ),
    )
    const answer = await ask(GET)
    const names = answer.lines.map(([name]) => name)
    expect(names.toSorted()).toEqual(["content-length", "date", "via", "x-kept"])
    expect(answer.body.toString()).toBe("hello")
  })

  test("an answer that names its own length as the connection's keeps its body's end", async () => {
    const { ask } = await answeredWith(ok("hello", "Connection: content-length, date"))
    const answer = await ask(GET)
    expect([answer.complete, answer.framing === "none", answer.body.toString()]).toEqual([true, false, "hello"])
  })

  test("the date is the upstream's, or the gateway's when it said none; the length is said once", async () => {
    const date = "Thu, 01 Jan 2026 00:00:00 GMT"
    const { ask } = await answeredWith(ok("hello", `Date: ${date}`))
    const dated = await ask(GET)
    expect([valuesOf(dated, "date"), valuesOf(dated, "content-length")]).toEqual([[date], ["5"]])
    const undated = await (await answeredWith(ok("hello"))).ask(GET)
    expect(valuesOf(undated, "date")).toHaveLength(1)
    expect(Date.now() - Date.parse(valuesOf(undated, "date")[0] ?? "")).toBeLessThan(60_000)
  })

  test("a folded line cannot become a line of its own", async () => {
    const { ask } = await answeredWith(ok("hello", "X-Folded: a\r\n Set-Cookie: planted=1"))
    const answer = await ask(GET)
    expect(valuesOf(answer, "set-cookie")).toEqual([])
    expect([200, 502]).toContain(answer.status)
  })
})

describe("what is no answer is 502:", () => {
  const OK = "HTTP/1.1 200 OK\r\n"
  const cases: ReadonlyArray<readonly [name: string, bytes: string]> = [
    ["garbage", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"],
    ["text", "hello, world\r\n\r\n"],
    ["a request", GET],
    ["another protocol", "FTP/1.1 200 OK\r\n\r\n"],
    ["another version", "HTTP/3.7 200 OK\r\nContent-Length: 0\r\n\r\n"],
    ["a status of two digits", "HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n"],
    ["a status of four digits", "HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n"],
    ["a status below 100", "HTTP/1.1 099 OK\r\nContent-Length: 0\r\n\r\n"],
    ["a change of protocol nobody asked for", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"],
    ["a status of letters", "HTTP/1.1 abc OK\r\nContent-Length: 0\r\n\r\n"],
    ["no status", "HTTP/1.1 \r\nContent-Length: 0\r\n\r\n"],
    ["two lengths", `${OK}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!`],
    ["two lengths in a line", `${OK}Content-Length: 5, 6\r\n\r\nhello!`],
    ["a negative length", `${OK}Content-Length: -1\r\n\r\n`],
    ["a length with a sign", `${OK}Content-Length: +5\r\n\r\nhello`],
    ["a length in hexadecimal", `${OK}Content-Length: 0x5\r\n\r\nhello`],
    ["a length beyond every number", `${OK}Content-Length: 99999999999999999999999\r\n\r\nhello`],
    ["length and chunks", `${OK}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`],
    ["chunks and length", `${OK}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n5\r\nhello\r\n0\r\n\r\n`],
    ["a coding nobody asked for", `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    ["chunks twice", `${OK}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ["chunks not last", `${OK}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`],
    ["chunks in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
    ["a blank before the colon", `${OK}Content-Length : 5\r\n\r\nhello`],
    ["a line without a colon", `${OK}Content-Length 5\r\n\r\nhello`],
    ["a NUL in a value", `${OK}X-A: a\0b\r\nContent-Length: 0\r\n\r\n`],
    ["a bare CR in a value", `${OK}X-A: a\rb\r\nContent-Length: 0\r\n\r\n`],
    ["a first chunk that has no size", `${CHUNKED}zz\r\nhello\r\n0\r\n\r\n`],
    ["a header over 16 KiB", `${OK}X-A: ${"a".repeat(17_000)}\r\nContent-Length: 0\r\n\r\n`],
    ["headers over 16 KiB", `${OK}${"X-A: aaaaaaaaaaaaaaaaaaaa\r\n".repeat(800)}Content-Length: 0\r\n\r\n`],
  ]
  test.each(cases)("%s", async (_name, bytes) => {
    const { ask, upstream } = await answeredWith(bytes)
    const answer = await ask(GET)
    expect([answer.status, answer.complete]).toEqual([502, true])
    expect(answer.body.toString()).toBe('{"message":"upstream failed"}')
    // Nobody is asked again, and such a connection is not kept.
    expect(upstream.requests()).toHaveLength(1)
    await upstream.connections[0]?.untilClosed()
  })

  test.each([
    ["in the status line", "HTTP/1.1 2"],
    ["in a header", "HTTP/1.1 200 OK\r\nContent-Le"],
    ["before the empty line", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"],
    ["after an interim answer", "HTTP/1.1 100 Continue\r\n\r\n"],
  ])("a head that breaks off %s", async (_name, bytes) => {
    const upstream = await rawUpstream(async (peer) => {
      await peer.message(0)
      await peer.send(bytes)
      peer.socket.end()
    })
    const answer = await (await gatewayBefore(upstream)).ask(GET)
    expect([answer.status, upstream.requests().length]).toEqual([502, 1])
  })
})
