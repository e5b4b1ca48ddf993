// Answers as the bytes of HTTP/1.1.
import { deepEqual, equal, throws } from "node:assert/strict"
import { Buffer } from "node:buffer"
import { describe, test } from "node:test"
import fc from "fast-check"
import { type Answer, type AnsweredRequest, type Framed, frame } from "../../../adapters/driving/http_server/answer.ts"
import type { HeaderLine } from "../../../adapters/driving/http_server/header_lines.ts"

const DATE = "Sat, 21 Nov 2026 10:00:00 GMT"
const GET: AnsweredRequest = { method: "GET", minor: 1, keepAlive: true }
const HEAD: AnsweredRequest = { ...GET, method: "HEAD" }
const OLD: AnsweredRequest = { ...GET, minor: 0 }

const answer = (body: Answer["body"], status = 200, ...headers: ReadonlyArray<HeaderLine>): Answer => ({
  status,
  headers,
  body,
})

/** A body that says whether it was given up. */
const streamBody = () => {
  const seen = { cancelled: false }
  const body = new ReadableStream<Uint8Array>(
    {
      cancel: () => {
        seen.cancelled = true
      },
    },
    { highWaterMark: 0 },
  )
  return { body, seen }
}

/** The bytes, a character each. A text must be ASCII: a socket would make UTF-8 of it. */
const sent = ({ pieces }: Framed): string =>
  pieces
    .map((piece) => {
      if (typeof piece !== "string") return Buffer.from(piece).toString("latin1")
      equal(Buffer.byteLength(piece), piece.length)
      return piece
    })
    .join("")

const lines = (...text: ReadonlyArray<string>): string => text.join("\r\n")

describe("an answer whose body is whole", () => {
  for (const [what, given, asked, expected] of [
    ["a text", answer("ab"), GET, lines("HTTP/1.1 200 OK", `date: ${DATE}`, "content-length: 2", "", "ab")],
    ["an empty text", answer(""), GET, lines("HTTP/1.1 200 OK", `date: ${DATE}`, "content-length: 0", "", "")],
    ["none", answer(null), GET, lines("HTTP/1.1 200 OK", `date: ${DATE}`, "content-length: 0", "", "")],
    [
      "bytes",
      answer(new Uint8Array([0, 255, 13])),
      GET,
      lines("HTTP/1.1 200 OK", `date: ${DATE}`, "content-length: 3", "", "\0\xff\r"),
    ],
    [
      "a text beyond ASCII: UTF-8, counted in bytes",
      answer("é€😀"),
      GET,
      lines("HTTP/1.1 200 OK", `date: ${DATE}`, "content-length: 9", "", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"),
    ],
    [
      "headers in order, repeated ones too",
      answer("a", 201, ["set-cookie", "b"], ["location", "/c"], ["set-cookie", "d"]),
      GET,
      lines(
        "HTTP/1.1 201 Created",
        "set-cookie: b",
        "location: /c",
        "set-cookie: d",
        `date: ${DATE}`,
        "content-length: 1",
        "",
        "a",
      ),
    ],
    [
      "a date of its own",
      answer("a", 200, ["date", "then"]),
      GET,
      lines("HTTP/1.1 200 OK", "date: then", "content-length: 1", "", "a"),
    ],
    [
      "a header value beyond ASCII: Latin-1",
      answer("é", 200, ["x", "\xe9\xff\t"]),
      GET,
      lines("HTTP/1.1 200 OK", "x: \xe9\xff\t", `date: ${DATE}`, "content-length: 2", "", "\xc3\xa9"),
    ],
    [
      "a header value beyond ASCII, the body ASCII",
      answer("e", 200, ["x", "\xe9"]),
      GET,
      lines("HTTP/1.1 200 OK", "x: \xe9", `date: ${DATE}`, "content-length: 1", "", "e"),
    ],
    [
      "a header value beyond ASCII, the body bytes",
      answer(new Uint8Array([1]), 200, ["x", "\x80"]),
      GET,
      lines("HTTP/1.1 200 OK", "x: \x80", `date: ${DATE}`, "content-length: 1", "", "\x01"),
    ],
    [
      "a framing of its own: replaced by the true one",
      answer("abc", 200, ["content-length", "5"], ["transfer-encoding", "chunked"]),
      GET,
      lines("HTTP/1.1 200 OK", `date: ${DATE}`, "content-length: 3", "", "abc"),
    ],
    [
      "connection: close of the answer",
      answer("a", 200, ["connection", "Close"]),
      GET,
      lines("HTTP/1.1 200 OK", `date: ${DATE}`, "connection: close", "content-length: 1", "", "a"),
    ],
    [
      "connection: keep-alive of the answer, which is not the answer's to say",
      answer("a", 200, ["connection", "keep-alive"]),
      { ...GET, keepAlive: false },
      lines("HTTP/1.1 200 OK", `date: ${DATE}`, "connection: close", "content-length: 1", "", "a"),
    ],
    [
      "to a client that closes",
      answer("a"),
      { ...GET, keepAlive: false },
      lines("HTTP/1.1 200 OK", `date: ${DATE}`, "connection: close", "content-length: 1", "", "a"),
    ],
    [
      "HTTP/1.0 that stays",
      answer("a"),
      OLD,
      lines("HTTP/1.1 200 OK", `date: ${DATE}`, "connection: keep-alive", "content-length: 1", "", "a"),
    ],
    [
      "HTTP/1.0 that closes",
      answer("a"),
      { ...OLD, keepAlive: false },
      lines("HTTP/1.1 200 OK", `date: ${DATE}`, "connection: close", "content-length: 1", "", "a"),
    ],
  ] as const)
    test(what, () => {
      const framed = frame(given, asked, DATE)
      equal(sent(framed), expected)
      equal(framed.stream, undefined)
      equal(framed.keepAlive, !expected.includes("connection: close"))
    })

  for (const [status, line] of [
    [200, "HTTP/1.1 200 OK"],
    [404, "HTTP/1.1 404 Not Found"],
    [422, "HTTP/1.1 422 Unprocessable Entity"],
    [503, "HTTP/1.1 503 Service Unavailable"],
    // The blank before the reason stays (RFC 9112 section 4).
    [299, "HTTP/1.1 299 "],
    [999, "HTTP/1.1 999 "],
  ] as const)
    test(`status ${status}`, () => {
      for (const _ of ["first", "again"]) equal(sent(frame(answer("a", status), GET, DATE)).split("\r\n")[0], line)
    })

  test("ASCII leaves as one text", () => {
    const { pieces } = frame(answer("ab"), GET, DATE)
    deepEqual(
      pieces.map((piece) => typeof piece),
      ["string"],
    )
  })
})

describe("an answer without a body", () => {
  const bodies = (): ReadonlyArray<readonly [what: string, body: Answer["body"]]> => [
    ["none", null],
    ["a text", "abc"],
    ["bytes", new Uint8Array(3)],
    ["a stream", streamBody().body],
  ]

  for (const status of [204, 304])
    for (const asked of [GET, HEAD, OLD])
      for (const [what, body] of bodies())
        test(`${status} to ${asked.method} of HTTP/1.${asked.minor} has none, given ${what}`, () => {
          const framed = frame(
            answer(body, status, ["etag", "a"]),
            { ...asked, keepAlive: asked.minor > 0 || body === null },
            DATE,
          )
          const [head = "", ...rest] = sent(framed).split("\r\n\r\n")
          deepEqual([rest, framed.stream], [[""], undefined])
          equal(head.startsWith(`HTTP/1.1 ${status} `) && head.includes("\r\netag: a"), true)
          equal(/content-length|transfer-encoding/.test(head), false)
        })

  for (const [what, given, length] of [
    ["a text: its length in bytes", answer("é"), "2"],
    ["bytes: their length", answer(new Uint8Array(5)), "5"],
    ["none: no length", answer(null), undefined],
    ["a stream: no length", answer(streamBody().body), undefined],
    ["a stream of declared length: that", answer(streamBody().body, 200, ["content-length", "7"]), "7"],
    ["none, with a declared length: that", answer(null, 200, ["content-length", "7"]), "7"],
  ] as const)
    test(`HEAD, given ${what}`, () => {
      const framed = frame(given, HEAD, DATE)
      const [head = "", ...rest] = sent(framed).split("\r\n\r\n")
      deepEqual([rest, framed.stream, framed.keepAlive], [[""], undefined, true])
      equal(/content-length: (.*)/.exec(head)?.[1], length)
      equal(head.includes("transfer-encoding"), false)
    })

  for (const [what, status, asked] of [
    ["204", 204, GET],
    ["304", 304, GET],
    ["HEAD", 200, HEAD],
  ] as const)
    test(`${what}: a stream nobody is sent is given up`, () => {
      const { body, seen } = streamBody()
      frame(answer(body, status), asked, DATE)
      equal(seen.cancelled, true)
    })
})

describe("an answer whose body follows", () => {
  for (const [what, asked, headers, framing, line] of [
    ["in chunks", GET, [], "chunked", "transfer-encoding: chunked"],
    ["of declared length", GET, [["content-length", "5"]], { length: 5 }, "content-length: 5"],
    ["of declared length zero", GET, [["content-length", "0"]], { length: 0 }, "content-length: 0"],
    ["of declared length to HTTP/1.0", OLD, [["content-length", "5"]], { length: 5 }, "content-length: 5"],
    ["up to the end of the connection in HTTP/1.0", OLD, [], "close", undefined],
    [
      "in chunks though it says so itself",
      GET,
      [["transfer-encoding", "gzip"]],
      "chunked",
      "transfer-encoding: chunked",
    ],
  ] as const)
    test(what, () => {
      const { body, seen } = streamBody()
      const framed = frame(answer(body, 200, ...headers), asked, DATE)
      const keepAlive = framing !== "close"
      const connection = keepAlive ? (asked.minor === 0 ? ["connection: keep-alive"] : []) : ["connection: close"]
      const expected = [
        "HTTP/1.1 200 OK",
        `date: ${DATE}`,
        ...connection,
        ...(line === undefined ? [] : [line]),
        "",
        "",
      ]
      equal(sent(framed), lines(...expected))
      deepEqual([framed.stream?.framing, framed.keepAlive], [framing, keepAlive])
      equal(framed.stream?.body, body)
      equal(seen.cancelled, false)
    })
})

describe("a header value that would be more than one line", () => {
  for (const [what, value] of [
    ["CR LF", "a\r\nb: c"],
    ["CR", "a\rb"],
    ["LF", "a\nb"],
    ["NUL", "a\0b"],
    ["at its start", "\na"],
    ["at its end", "a\n"],
    ["LF beside other characters", "\xe9\n"],
    ["a character whose low byte is CR", "a\u010db"],
    ["a character whose low byte is LF", "a\u010ab"],
    ["a character whose low byte is NUL", "a\u0100b"],
    ["half of a pair whose low byte is LF", "a\ud80ab"],
  ] as const)
    for (const name of ["x", "date"])
      test(`${what}, in ${name}: thrown`, () => {
        throws(() => frame(answer("a", 200, [name, value]), GET, DATE))
      })

  test("no value at all makes another line of the head", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 6 }), (value) => {
        let head: string
        try {
          head = sent(frame(answer("", 200, ["x", value]), GET, DATE))
        } catch {
          return
        }
        equal(head.split(/[\r\n\0]+/).length, 5)
        equal(head.startsWith("HTTP/1.1 200 OK\r\nx: "), true)
      }),
      { numRuns: 2000 },
    )
  })
})
