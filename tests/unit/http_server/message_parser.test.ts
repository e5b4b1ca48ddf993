// Requests as bytes: what is read, and what two readers could read differently and is therefore refused.
import { deepEqual, equal } from "node:assert/strict"
import { Buffer } from "node:buffer"
import { describe, test } from "node:test"
import { HEAD_BYTES_MAX, MessageParser } from "../../../adapters/driving/http_server/message_parser.ts"
import { chunkOf, headOf, parseText } from "./parsed_messages.ts"

const POST = "POST / HTTP/1.1"
const GET = "GET / HTTP/1.1"
const CHUNKED = "Transfer-Encoding: chunked"
const NEXT = headOf("GET /next HTTP/1.1")

describe("a body is delimited in one way only (RFC 9112 section 6)", () => {
  for (const [what, text, body] of [
    ["none", headOf(POST), ""],
    ["a length", `${headOf(POST, "Content-Length: 3")}abc`, "abc"],
    ["a length of zero", headOf(POST, "Content-Length: 0"), ""],
    ["a length with blanks around it", `${headOf(POST, "Content-Length:  \t 3  ")}abc`, "abc"],
    ["chunks", `${headOf(POST, CHUNKED)}${chunkOf("abc")}${chunkOf("d")}0\r\n\r\n`, "abcd"],
    ["no chunk", `${headOf(POST, CHUNKED)}0\r\n\r\n`, ""],
    ["chunks in other letters", `${headOf(POST, "tRANSFER-eNCODING: CHUNKED")}${chunkOf("abc")}0\r\n\r\n`, "abc"],
    ["a chunk size with zeros", `${headOf(POST, CHUNKED)}0003\r\nabc\r\n000\r\n\r\n`, "abc"],
    ["a chunk size in capital letters", `${headOf(POST, CHUNKED)}A\r\n0123456789\r\n0\r\n\r\n`, "0123456789"],
    ["chunk extensions", `${headOf(POST, CHUNKED)}${chunkOf("a", ";b")}${chunkOf("c", ';d="e;f"')}0;g=h\r\n\r\n`, "ac"],
    ["trailers", `${headOf(POST, CHUNKED)}${chunkOf("a")}0\r\nB: c\r\nD: e\r\n\r\n`, "a"],
    ["a length in HTTP/1.0", `${headOf("POST / HTTP/1.0", "Content-Length: 3", "Connection: keep-alive")}abc`, "abc"],
    ["a body of a GET", `${headOf(GET, "Content-Length: 3")}abc`, "abc"],
  ] as const)
    test(`${what}: read, and the next request too`, () => {
      const { messages, end } = parseText(text + NEXT)
      deepEqual([end, messages.map(({ complete }) => complete)], ["more", [true, true]])
      deepEqual([messages[0]?.body, messages[1]?.target], [body, "/next"])
    })

  for (const [what, ...lines] of [
    ["a length, then chunks", "Content-Length: 5", CHUNKED],
    ["chunks, then a length", CHUNKED, "Content-Length: 5"],
    ["two lengths", "Content-Length: 5", "Content-Length: 6"],
    ["two equal lengths", "Content-Length: 5", "Content-Length: 5"],
    ["two lengths in one line", "Content-Length: 5, 5"],
    ["xchunked", "Transfer-Encoding: xchunked"],
    ["chunkedx", "Transfer-Encoding: chunkedx"],
    ["chunked, identity", "Transfer-Encoding: chunked, identity"],
    ["identity", "Transfer-Encoding: identity"],
    ["gzip, chunked", "Transfer-Encoding: gzip, chunked"],
    ["gzip", "Transfer-Encoding: gzip"],
    ["gzip, then chunked", "Transfer-Encoding: gzip", CHUNKED],
    ["chunked, then gzip", CHUNKED, "Transfer-Encoding: gzip"],
    ["chunked twice", CHUNKED, CHUNKED],
    ["chunked, chunked", "Transfer-Encoding: chunked, chunked"],
    ["chunked with a parameter", "Transfer-Encoding: chunked;q=1"],
    ["a quoted coding", 'Transfer-Encoding: "chunked"'],
    ["an empty coding", "Transfer-Encoding:"],
    ["a vertical tab before the coding", "Transfer-Encoding: \x0bchunked"],
    ["a negative length", "Content-Length: -5"],
    ["a length with a plus", "Content-Length: +5"],
    ["a length in hexadecimal", "Content-Length: 0x5"],
    ["a length in words", "Content-Length: five"],
    ["a length with a fraction", "Content-Length: 5.0"],
    ["a length with a blank in it", "Content-Length: 5 5"],
    ["a length beyond 64 bits", "Content-Length: 99999999999999999999"],
    ["an empty length", "Content-Length:"],
    ["a blank before the colon of a length", "Content-Length : 5"],
    ["a folded coding", "Transfer-Encoding:", " chunked"],
  ] as const)
    test(`${what}: refused before anybody is asked`, () => {
      deepEqual(parseText(`${headOf(POST, ...lines)}0\r\n\r\n${NEXT}`), { messages: [], end: "malformed", headers: [] })
    })

  for (const version of ["HTTP/1.0", "HTTP/0.9"])
    test(`chunks in ${version}, which has none: refused`, () => {
      const { messages, end } = parseText(`${headOf(`POST / ${version}`, CHUNKED)}0\r\n\r\n`)
      deepEqual([messages, end], [[], "malformed"])
    })

  for (const [what, rest, body] of [
    ["no digits", "zz\r\n", ""],
    ["a sign", "-1\r\n", ""],
    ["a plus", "+1\r\na\r\n", ""],
    ["0x", "0x1\r\na\r\n", ""],
    ["a blank after it", "1 \r\na\r\n", ""],
    ["a blank before it", " 1\r\na\r\n", ""],
    ["nothing", "\r\n", ""],
    ["more than 64 bits", "10000000000000000\r\n", ""],
    ["a bare LF after it", "1\na\r\n0\r\n\r\n", ""],
    ["a bare CR after it", "1\ra\r\n0\r\n\r\n", ""],
    ["an extension with a bare LF", "1;a\nb\r\na\r\n0\r\n\r\n", ""],
    ["an extension with a bare CR", "1;a\rb\r\na\r\n0\r\n\r\n", ""],
    ["a chunk that is longer", "1\r\nab\r\n0\r\n\r\n", "a"],
    ["a chunk that ends in a bare LF", "1\r\na\n0\r\n\r\n", "a"],
    ["a folded trailer", "0\r\nA: b\r\n c\r\n\r\n", ""],
    ["a trailer that is no header", "0\r\nA\r\n\r\n", ""],
    ["a length among the trailers", "0\r\nContent-Length: 3\r\n\r\n", ""],
  ] as const)
    test(`chunk size: ${what}: refused`, () => {
      const { messages, end } = parseText(`${headOf(POST, CHUNKED)}${rest}${NEXT}`)
      deepEqual(
        [end, messages.map((message) => [message.target, message.body, message.complete])],
        ["malformed", [["/", body, false]]],
      )
    })
})

describe("a request line and header lines", () => {
  for (const [what, text] of [
    ["a folded value", headOf(GET, "A: b", " c")],
    ["a value folded with a tab", headOf(GET, "A: b", "\tc")],
    ["a blank before the first name", headOf(GET, " A: b")],
    ["a bare LF after the request line", `${GET}\nA: b\r\n\r\n`],
    ["a bare LF after a value", `${GET}\r\nA: b\nC: d\r\n\r\n`],
    ["a bare LF at the end of the head", `${GET}\r\nA: b\r\n\n`],
    ["LF only", `${GET}\nA: b\n\n`],
    ["a bare CR after the request line", `${GET}\rA: b\r\n\r\n`],
    ["a CR in a value", headOf(GET, "A: b\rc")],
    ["a NUL in a value", headOf(GET, "A: b\0c")],
    ["a control character in a value", headOf(GET, "A: b\x01c")],
    ["DEL in a value", headOf(GET, "A: b\x7fc")],
    ["a blank before the colon", headOf(GET, "A : b")],
    ["a tab before the colon", headOf(GET, "A\t: b")],
    ["a blank in a name", headOf(GET, "A b: c")],
    ["no name", headOf(GET, ": b")],
    ["no colon", headOf(GET, "A")],
    ["a NUL in a name", headOf(GET, "A\0: b")],
    ["a name beyond ASCII", headOf(GET, "A\xe9: b")],
    ["a name with a separator", headOf(GET, "A(b): c")],
    ["an unknown method", headOf("FOO / HTTP/1.1")],
    ["a method in small letters", headOf("get / HTTP/1.1")],
    ["a method that goes on", headOf("GETS / HTTP/1.1")],
    ["a target with high bytes", headOf("GET /\xe9\xff HTTP/1.1")],
    ["a target with a blank", headOf("GET /a b HTTP/1.1")],
    ["a target with a NUL", headOf("GET /\0 HTTP/1.1")],
    ["a target with a control character", headOf("GET /\x01 HTTP/1.1")],
    ["a target that is no path", headOf("GET a HTTP/1.1")],
    ["no target", headOf("GET HTTP/1.1")],
    ["HTTP/1.2", headOf("GET / HTTP/1.2")],
    ["HTTP/1.10", headOf("GET / HTTP/1.10")],
    ["HTTP/2.0", headOf("GET / HTTP/2.0")],
    ["HTTP/0.9", headOf("GET / HTTP/0.9")],
    ["HTTP/3.0", headOf("GET / HTTP/3.0")],
    ["http/1.1", headOf("GET / http/1.1")],
    ["no version", "GET /\r\n\r\n"],
    ["another protocol", headOf("GET / FTP/1.1")],
    ["the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["a TLS hello", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"],
  ] as const)
    test(`${what}: refused`, () => {
      const { messages, end } = parseText(text)
      deepEqual([messages, end], [[], "malformed"])
    })

  // What llhttp reads beside HTTP is no more than HTTP/1.0 to it: nothing follows, and nothing is delimited by chunks.
  for (const line of ["GET / RTSP/1.0", "DESCRIBE / RTSP/1.0", "SOURCE / ICE/1.0"])
    test(`${line}: read as the last request, without chunks`, () => {
      const { messages, end } = parseText(headOf(line) + NEXT)
      deepEqual([messages.map(({ minor, keepAlive }) => [minor, keepAlive]), end], [[[0, false]], "malformed"])
      deepEqual(parseText(`${headOf(line, CHUNKED)}0\r\n\r\n`).messages, [])
    })

  for (const [target, line] of [
    ["/", GET],
    ["/a?b=c&d=%zz", "GET /a?b=c&d=%zz HTTP/1.1"],
    ["//a//../b", "GET //a//../b HTTP/1.1"],
    ["http://a:1/b?c", "GET http://a:1/b?c HTTP/1.1"],
    ["*", "OPTIONS * HTTP/1.1"],
    ["/|\\^`{}\"<>'[]", "GET /|\\^`{}\"<>'[] HTTP/1.1"],
  ] as const)
    test(`target ${target}: as sent`, () => {
      equal(parseText(headOf(line)).messages[0]?.target, target)
    })

  for (const method of ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "M-SEARCH", "QUERY"])
    test(`method ${method}: as sent`, () => {
      equal(parseText(headOf(`${method} / HTTP/1.1`)).messages[0]?.method, method)
    })

  test("blank lines before a request are skipped (RFC 9112 section 2.2)", () => {
    const { messages } = parseText(`\r\n\r\n${NEXT}\r\n${NEXT}`)
    deepEqual(
      messages.map(({ target }) => target),
      ["/next", "/next"],
    )
  })

  test("names are lower-cased, values trimmed, both kept in order, repeated and empty ones too", () => {
    const lines = ["Accept:", "B-c_D: ", "E:\t f \t ", "e: g  h", "E:", "!#$%&'*+-.^_`|~9: \xe9\xff\x80", "Z:"]
    const expected = [
      ["accept", ""],
      ["b-c_d", ""],
      ["e", "f"],
      ["e", "g  h"],
      ["e", ""],
      ["!#$%&'*+-.^_`|~9", "\xe9\xff\x80"],
      ["z", ""],
    ]
    const { messages, headers } = parseText(headOf(GET, ...lines))
    deepEqual(messages[0]?.headers, expected)
    deepEqual([headers[0]?.get("e"), headers[0]?.get("f")], ["f, g  h, ", null])
  })
})

describe("what follows on the connection", () => {
  for (const [what, keepAlive, text] of [
    ["HTTP/1.1", true, headOf(GET)],
    ["HTTP/1.1 that closes", false, headOf(GET, "Connection: close")],
    ["HTTP/1.1 that closes among others", false, headOf(GET, "Connection: te, Close")],
    ["HTTP/1.0", false, headOf("GET / HTTP/1.0")],
    ["HTTP/1.0 that stays", true, headOf("GET / HTTP/1.0", "Connection: Keep-Alive")],
    ["CONNECT", false, headOf("CONNECT a:1 HTTP/1.1")],
    ["CONNECT that stays", false, headOf("CONNECT a:1 HTTP/1.1", "Connection: keep-alive")],
  ] as const)
    test(`${what}: ${keepAlive ? "another" : "no other"} request`, () => {
      equal(parseText(text).messages[0]?.keepAlive, keepAlive)
    })

  for (const [what, text, body] of [
    ["no body", headOf(GET, "Connection: upgrade", "Upgrade: websocket"), ""],
    ["a length", `${headOf(POST, "Connection: upgrade", "Upgrade: h2c", "Content-Length: 3")}abc`, "abc"],
    ["chunks", `${headOf(POST, "Connection: upgrade", "Upgrade: h2c", CHUNKED)}${chunkOf("abc")}0\r\n\r\n`, "abc"],
  ] as const)
    test(`an upgrade is ignored and the next request read, in one piece or two: ${what}`, () => {
      for (const pieces of [[text + NEXT], [text, NEXT]]) {
        const { messages } = parseText(...pieces)
        deepEqual(
          messages.map((message) => [message.target, message.body, message.complete, message.keepAlive]),
          [
            ["/", body, true, true],
            ["/next", "", true, true],
          ],
        )
      }
    })

  test("knows from the first byte to the last that a message has begun", () => {
    const parser = new MessageParser({ request: () => {}, body: () => {} })
    const begun = [parser.begun]
    for (const text of ["\r\n", "G", "ET / HTTP/1.1\r\nContent-Length: 2\r\n\r\n", "a", "b", "\r\n", "G"]) {
      parser.parse(Buffer.from(text))
      begun.push(parser.begun)
    }
    deepEqual(begun, [false, false, true, true, true, false, false, true])
    parser.free()
  })
})

describe(`a head over ${HEAD_BYTES_MAX} bytes`, () => {
  const long = "a".repeat(HEAD_BYTES_MAX)
  for (const [what, text] of [
    ["in the target", headOf(`GET /${long} HTTP/1.1`)],
    ["in one name", headOf(GET, `${long}: b`)],
    ["in one value", headOf(GET, `B: ${long}`)],
    ["in many lines", headOf(GET, ...Array.from({ length: HEAD_BYTES_MAX / 8 }, (_, at) => `a${at}: b`))],
    ["in many empty lines", headOf(GET, ...Array.from({ length: HEAD_BYTES_MAX / 4 }, () => "a:"))],
    ["in target and value together", headOf(`GET /${long.slice(8000)} HTTP/1.1`, `B: ${long.slice(8000)}`)],
    ["that has not ended yet", `${GET}\r\nB: ${long}`],
  ] as const)
    test(`${what}: refused as too large`, () => {
      const { messages, end } = parseText(text)
      deepEqual([messages, end], [[], "head-too-large"])
    })

  for (const lines of [[`B: ${long}`], Array.from({ length: HEAD_BYTES_MAX / 8 }, (_, at) => `a${at}: b`)])
    test(`trailers in ${lines.length} lines: refused as too large`, () => {
      const { messages, end } = parseText(`${headOf(POST, CHUNKED)}0\r\n${lines.join("\r\n")}\r\n\r\n`)
      deepEqual([messages.map(({ complete }) => complete), end], [[false], "head-too-large"])
    })

  test("a chunk extension without an end, of which nobody keeps a byte, is refused too (RFC 9112 section 7.1.1)", () => {
    const endless = Array.from({ length: 16 }, () => "a".repeat(HEAD_BYTES_MAX / 2))
    const { messages, end } = parseText(headOf(POST, CHUNKED), "1;", ...endless)
    deepEqual([messages.map(({ complete }) => complete), end === "more"], [[false], false])
  })

  test("every head has the whole bound for itself, and so have its trailers", () => {
    const most = "a".repeat(HEAD_BYTES_MAX - 100)
    const one = `${headOf(POST, CHUNKED, `B: ${most}`)}0\r\nC: ${most}\r\n\r\n`
    const { messages, end } = parseText(one + one + one)
    deepEqual([messages.map(({ complete }) => complete), end], [[true, true, true], "more"])
  })

  test("the same head, and the same trailers, are not too large for arriving byte by byte", () => {
    const lines = Array.from({ length: 10 }, (_, at) => `${"a".repeat(1000)}${at}: b`)
    const message = `${headOf(POST, CHUNKED, ...lines)}0\r\n${lines.join("\r\n")}\r\n\r\n`
    const { messages, end } = parseText(...message)
    deepEqual([messages.map(({ complete }) => complete), end], [[true], "more"])
  })
})

describe("responses", () => {
  const OK = "HTTP/1.1 200 OK"
  const responses = (text: string, isHead = false) => {
    const seen: Array<string> = []
    const parser = new MessageParser({
      response: ({ status, minor, keepAlive, headers }) => {
        seen.push(`${status} 1.${minor} ${keepAlive} ${headers.get("a")}`)
        return isHead ? "no body" : "body"
      },
      body: (bytes) => seen.push(Buffer.from(bytes).toString("latin1")),
    })
    let rest = Buffer.from(text, "latin1")
    while (rest.length > 0) {
      const parsed = parser.parse(rest)
      seen.push(parsed.kind)
      if (parsed.kind !== "complete") break
      rest = Buffer.from(parsed.rest)
    }
    const whole = [...seen, ...(seen.at(-1) === "more" ? [parser.finish()] : [])]
    parser.free()
    return whole
  }

  for (const [what, text, expected] of [
    ["a length", `${headOf(OK, "A: b", "Content-Length: 2")}cd`, ["200 1.1 true b", "cd", "complete"]],
    ["chunks", `${headOf(OK, CHUNKED)}${chunkOf("a")}0\r\n\r\n`, ["200 1.1 true null", "a", "complete"]],
    ["204", headOf("HTTP/1.1 204 No Content"), ["204 1.1 true null", "complete"]],
    ["304", headOf("HTTP/1.1 304 Not Modified", "Content-Length: 2"), ["304 1.1 true null", "complete"]],
    [
      "100, then 200",
      headOf("HTTP/1.1 100 Continue") + headOf(OK, "Content-Length: 0"),
      ["100 1.1 true null", "complete", "200 1.1 true null", "complete"],
    ],
    ["the end of the connection", `${headOf(OK)}ab`, ["200 1.1 false null", "ab", "more", true]],
    [
      "HTTP/1.0, the end of the connection",
      `${headOf("HTTP/1.0 200 OK")}ab`,
      ["200 1.0 false null", "ab", "more", true],
    ],
    ["a length that was not reached", `${headOf(OK, "Content-Length: 3")}a`, ["200 1.1 true null", "a", "more", false]],
    ["chunks without an end", `${headOf(OK, CHUNKED)}${chunkOf("a")}`, ["200 1.1 true null", "a", "more", false]],
    ["a length and chunks", `${headOf(OK, CHUNKED, "Content-Length: 3")}0\r\n\r\n`, ["refused"]],
    ["two lengths", `${headOf(OK, "Content-Length: 1", "Content-Length: 2")}ab`, ["refused"]],
    ["another coding", `${headOf(OK, "Transfer-Encoding: gzip")}ab`, ["refused"]],
    ["a request", headOf(GET), ["refused"]],
    ["a folded value", headOf(OK, "A: b", " c"), ["refused"]],
  ] as const)
    test(`delimited by ${what}`, () => {
      deepEqual(responses(text), expected)
    })

  for (const line of ["Content-Length: 2", CHUNKED])
    test(`to HEAD, with ${line}: no body`, () => {
      deepEqual(responses(headOf(OK, line) + headOf(OK, line), true), [
        "200 1.1 true null",
        "complete",
        "200 1.1 true null",
        "complete",
      ])
    })
})
