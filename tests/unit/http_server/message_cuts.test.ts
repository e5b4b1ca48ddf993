// However a connection's bytes are cut into pieces, they are the same messages; and headers that are given again are the
// very same bytes.
import { deepEqual, equal, notEqual } from "node:assert/strict"
import { Buffer } from "node:buffer"
import { describe, test } from "node:test"
import fc from "fast-check"
import { chunkOf, headOf, type Message, parsePieces, parseText } from "./parsed_messages.ts"

/** A message as bytes, and what it must be read as. */
interface Sample {
  readonly text: string
  readonly message: Message
}

const name = fc.stringMatching(/^[A-Za-z][A-Za-z0-9_-]{0,8}$/).map((text) => `X-${text}`)
const value = fc.stringMatching(/^(?:[!-~\x80-\xff](?:[ -~\t\x80-\xff]{0,12}[!-~\x80-\xff])?)?$/)
const blanks = fc.constantFrom("", " ", "\t", "  \t")
const line = fc.tuple(name, blanks, value, blanks).map(([field, before, text, after]) => ({
  raw: `${field}:${before}${text}${after}`,
  line: [field.toLowerCase(), text] as const,
}))
const bytes = fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array).toString("latin1"))

const body = fc.oneof(
  fc.constant({ line: undefined, raw: "", body: "" }),
  bytes.map((text) => ({ line: ["Content-Length", String(text.length)] as const, raw: text, body: text })),
  fc
    .tuple(
      fc.array(
        bytes.filter((text) => text !== ""),
        { maxLength: 4 },
      ),
      fc.constantFrom("", ";a", ';a="b"'),
      fc.array(line, { maxLength: 2 }),
    )
    .map(([chunks, extension, trailers]) => ({
      line: ["Transfer-Encoding", "chunked"] as const,
      raw: `${chunks.map((chunk) => chunkOf(chunk, extension)).join("")}0\r\n${trailers.map(({ raw }) => `${raw}\r\n`).join("")}\r\n`,
      body: chunks.join(""),
    })),
)

const sample: fc.Arbitrary<Sample> = fc
  .record({
    method: fc.constantFrom("GET", "POST", "PUT", "DELETE", "OPTIONS", "M-SEARCH"),
    target: fc.stringMatching(/^\/[!-"$-~]{0,20}$/),
    lines: fc.array(line, { maxLength: 5 }),
    body,
    upgrade: fc.boolean(),
    newline: fc.boolean(),
  })
  .map(({ method, target, lines, body, upgrade, newline }) => {
    const framing =
      body.line === undefined
        ? []
        : [{ raw: body.line.join(": "), line: [body.line[0].toLowerCase(), body.line[1]] as const }]
    const upgrades = upgrade
      ? [
          { raw: "Connection: upgrade", line: ["connection", "upgrade"] as const },
          { raw: "Upgrade: x", line: ["upgrade", "x"] as const },
        ]
      : []
    const all = [...lines, ...framing, ...upgrades]
    return {
      text: `${newline ? "\r\n" : ""}${headOf(`${method} ${target} HTTP/1.1`, ...all.map(({ raw }) => raw))}${body.raw}`,
      message: {
        method,
        target,
        minor: 1,
        keepAlive: true,
        headers: all.map(({ line: [field, text] }) => [field, text] as const),
        body: body.body,
        complete: true,
      },
    }
  })

/** Cuts a text where the numbers, as shares of its length, say. */
const cut = (text: string, shares: ReadonlyArray<number>): ReadonlyArray<Buffer> => {
  const ends = [...new Set(shares.map((share) => Math.floor(share * text.length)))].sort((a, b) => a - b)
  return [...ends, text.length].map((end, at) => Buffer.from(text.slice(at === 0 ? 0 : ends[at - 1], end), "latin1"))
}
const shares = fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { maxLength: 30 })

/** What no request can be, after which nothing more is read. */
const BROKEN = [
  headOf("GET / HTTP/1.1", "A : b"),
  headOf("GET / HTTP/1.1", "A: b", " c"),
  headOf("FOO / HTTP/1.1"),
  headOf("POST / HTTP/1.1", "Content-Length: 1", "Transfer-Encoding: chunked"),
  headOf("POST / HTTP/1.1", "Transfer-Encoding: gzip"),
  `${headOf("POST / HTTP/1.1", "Transfer-Encoding: chunked")}3\r\nabc\r\nx\r\n`,
  headOf("GET / HTTP/1.1", `A: ${"b".repeat(20_000)}`),
]

describe("cutting", () => {
  test("any pieces of several messages are the same messages", () => {
    fc.assert(
      fc.property(fc.array(sample, { minLength: 1, maxLength: 4 }), shares, (samples, where) => {
        const text = samples.map((each) => each.text).join("")
        const expected = samples.map(({ message }) => message)
        for (const pieces of [[Buffer.from(text, "latin1")], cut(text, where)]) {
          const { messages, end } = parsePieces(pieces)
          deepEqual([messages, end], [expected, "more"])
        }
      }),
      { numRuns: 300 },
    )
  })

  test("byte by byte they are the same messages", () => {
    fc.assert(
      fc.property(fc.array(sample, { minLength: 1, maxLength: 3 }), (samples) => {
        const { messages } = parseText(...samples.map(({ text }) => text).join(""))
        deepEqual(
          messages,
          samples.map(({ message }) => message),
        )
      }),
      { numRuns: 50 },
    )
  })

  test("after a refusal nothing is read, and what was read before it is the same", () => {
    fc.assert(
      fc.property(
        fc.array(sample, { maxLength: 3 }),
        fc.constantFrom(...BROKEN),
        sample,
        shares,
        (before, broken, after, where) => {
          const text = before.map((each) => each.text).join("") + broken + after.text
          const whole = parseText(text)
          notEqual(whole.end, "more")
          deepEqual(
            whole.messages.slice(0, before.length),
            before.map(({ message }) => message),
          )
          equal(
            whole.messages.slice(before.length).some(({ complete }) => complete),
            false,
          )
          const { messages, end } = parsePieces(cut(text, where))
          deepEqual([messages, end], [whole.messages, whole.end])
        },
      ),
      { numRuns: 300 },
    )
  })

  test("a body longer than the parser takes at a time arrives whole", () => {
    const long = Buffer.from(Array.from({ length: 200_003 }, (_, at) => at % 251)).toString("latin1")
    const text = [
      `${headOf("POST /1 HTTP/1.1", `Content-Length: ${long.length}`)}${long}`,
      `${headOf("POST /2 HTTP/1.1", "Transfer-Encoding: chunked")}${chunkOf(long)}${chunkOf(long)}0\r\nA: b\r\n\r\n`,
      headOf("GET /3 HTTP/1.1", "C: d"),
    ].join("")
    const { messages, end } = parseText(text)
    equal(end, "more")
    deepEqual(
      messages.map(({ target, body, complete }) => [target, body.length, complete]),
      [
        ["/1", long.length, true],
        ["/2", 2 * long.length, true],
        ["/3", 0, true],
      ],
    )
    equal(messages[0]?.body === long && messages[1]?.body === long + long, true)
    deepEqual(messages[2]?.headers, [["c", "d"]])
  })
})

describe("headers given again", () => {
  const GET = "GET / HTTP/1.1"
  const LINES = ["Host: a", "Accept: text/plain", "Cookie: b=c"]

  for (const [what, isSame, first, second] of [
    ["a repeated head", true, headOf(GET, ...LINES), headOf(GET, ...LINES)],
    ["another target", true, headOf(GET, ...LINES), headOf("GET /other HTTP/1.1", ...LINES)],
    ["another method", true, headOf(GET, ...LINES), headOf("DELETE / HTTP/1.1", ...LINES)],
    ["no headers at all", true, headOf(GET), headOf(GET)],
    ["an empty last value", true, headOf(GET, "A:"), headOf(GET, "A:")],
    [
      "a body",
      true,
      `${headOf("PUT / HTTP/1.1", "Content-Length: 1")}a`,
      `${headOf("PUT / HTTP/1.1", "Content-Length: 1")}b`,
    ],
    ["another value", false, headOf(GET, "Host: a"), headOf(GET, "Host: b")],
    ["another first value", false, headOf(GET, "A: a", "B: c"), headOf(GET, "A: b", "B: c")],
    ["another name", false, headOf(GET, "A: b"), headOf(GET, "C: b")],
    ["one line less", false, headOf(GET, "A: b", "C: d"), headOf(GET, "A: b")],
    ["one line more", false, headOf(GET, "A: b"), headOf(GET, "A: b", "C: d")],
    ["no headers, then some", false, headOf(GET), headOf(GET, "A: b")],
    ["some, then none", false, headOf(GET, "A: b"), headOf(GET)],
    ["other lines of the same length", false, headOf(GET, "A: b", "C: d"), headOf(GET, "A: b____C: d")],
  ] as const)
    test(`${what}: ${isSame ? "the same" : "another"} object, in one piece or two`, () => {
      for (const pieces of [[first + second], [first, second]]) {
        const { headers, messages } = parseText(...pieces)
        equal(headers.length, 2)
        equal(headers[0] === headers[1], isSame)
        deepEqual(messages[1]?.headers, parseText(second).messages[0]?.headers)
      }
    })

  test("are of the same bytes, whatever the version says of the connection", () => {
    const { headers, messages } = parseText(
      headOf(GET, ...LINES) +
        headOf("GET / HTTP/1.0", ...LINES, "Connection: keep-alive") +
        headOf(GET, ...LINES) +
        headOf("GET / HTTP/1.0", ...LINES),
    )
    deepEqual(
      messages.map(({ minor, keepAlive }) => [minor, keepAlive]),
      [
        [1, true],
        [0, true],
        [1, true],
        [0, false],
      ],
    )
    equal(headers[2], headers[3])
    notEqual(headers[1], headers[2])
  })

  test("a coding that HTTP/1.0 does not have is refused there though HTTP/1.1 had the same headers", () => {
    const lines = ["Transfer-Encoding: chunked", "Connection: keep-alive"]
    const { messages, end } = parseText(
      `${headOf("POST / HTTP/1.1", ...lines)}0\r\n\r\n`,
      `${headOf("POST / HTTP/1.0", ...lines)}0\r\n\r\n`,
    )
    deepEqual([messages.length, end], [1, "malformed"])
  })

  test("trailers are nobody's headers", () => {
    const chunked = `${headOf("POST / HTTP/1.1", "Transfer-Encoding: chunked")}0\r\nHost: trailer\r\n\r\n`
    const { messages } = parseText(chunked + chunked + headOf(GET, "Host: a") + chunked)
    deepEqual(
      messages.map(({ headers }) => headers),
      [
        [["transfer-encoding", "chunked"]],
        [["transfer-encoding", "chunked"]],
        [["host", "a"]],
        [["transfer-encoding", "chunked"]],
      ],
    )
  })

  test("one changed byte, anywhere in the lines, is never overlooked", () => {
    fc.assert(
      fc.property(
        fc.array(line, { minLength: 1, maxLength: 5 }),
        fc.nat(),
        fc.stringMatching(/^[A-Za-z0-9]$/),
        shares,
        fc.boolean(),
        (lines, position, byte, where, cutsFirst) => {
          const head = headOf(GET, ...lines.map(({ raw }) => raw))
          // The request line and the blank line at the end stay as they are, and so do colons and line ends.
          const from = GET.length + 2
          let at = from + (position % (head.length - from - 4))
          while (":\r\n".includes(head[at] ?? "")) at--
          const changed = head.slice(0, at) + byte + head.slice(at + 1)
          const expected = parseText(changed)
          const first = cutsFirst ? cut(head, where) : [Buffer.from(head, "latin1")]
          const { messages, headers, end } = parsePieces([
            ...first,
            Buffer.from(changed, "latin1"),
            Buffer.from(head, "latin1"),
          ])
          deepEqual([messages[0], messages[1], end], [parseText(head).messages[0], expected.messages[0], expected.end])
          if (end !== "more") return
          deepEqual(messages[2], messages[0])
          if (changed !== head) notEqual(headers[1], headers[0])
        },
      ),
      { numRuns: 500 },
    )
  })

  test("any sequence of repeated and changed heads, whole or cut, is read as if each came alone", () => {
    const heads = ["A: b", "A: c", "a: b", "A:  b", "A: b ", "A:", "B:", "A: b\r\nC:", "A: b\r\nC: d"].map((text) =>
      headOf(GET, text),
    )
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom(...heads), shares, fc.boolean()), { maxLength: 8 }), (sequence) => {
        const { messages } = parsePieces(
          sequence.flatMap(([head, where, whole]) => (whole ? [Buffer.from(head, "latin1")] : cut(head, where))),
        )
        deepEqual(
          messages,
          sequence.map(([head]) => parseText(head).messages[0]),
        )
      }),
      { numRuns: 300 },
    )
  })
})
