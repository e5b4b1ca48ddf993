// Requests that are refused before anybody is asked, and answers that cannot be sent as they were given.
import { deepEqual, equal } from "node:assert/strict"
import { describe, test } from "node:test"
import type { Answer } from "../../../adapters/driving/http_server/answer.ts"
import { answersLater, echoTarget, FakeClient, get, post, requestOf, settled, text } from "./fake_client.ts"

describe("Host (RFC 9112 section 3.2)", () => {
  for (const host of [
    "Host: a",
    "Host:",
    "Host: a.example",
    "Host: a:80",
    "Host: a:",
    "Host: :80",
    "Host: 127.0.0.1:3000",
    "Host: [::1]",
    "Host: [::1]:80",
    "Host: [fe80::1.2.3.4]",
    "HOST:   A_b-c.~!$&'()*+,;=%20   ",
  ])
    test(`'${host}' is served`, () => {
      const client = new FakeClient(echoTarget)
      client.send(get("/1", host))
      deepEqual(client.answers, ["200 /1"])
    })

  for (const [what, ...headers] of [
    ["two", "Host: a", "Host: b"],
    ["two alike", "Host: a", "Host: a"],
    ["two, the second empty", "Host: a", "Host:"],
    ["two, both empty", "Host:", "Host:"],
    ["two apart", "Host: a", "X: y", "host: a"],
    ["a blank in it", "Host: a b"],
    ["a list", "Host: a, b"],
    ["a path in it", "Host: a/b"],
    ["a query in it", "Host: a?b"],
    ["a fragment in it", "Host: a#b"],
    ["user info in it", "Host: b@a"],
    ["a backslash in it", "Host: a\\b"],
    ["no number for a port", "Host: a:b"],
    ["two ports", "Host: a:1:2"],
    ["an address without brackets", "Host: ::1"],
    ["a bracket that stays open", "Host: [::1"],
    ["something in brackets that is no address", "Host: [a/b]"],
    ["characters beyond ASCII", "Host: \xe9"],
  ] as const)
    test(`${what}: refused, and the connection closes`, () => {
      const client = new FakeClient(echoTarget)
      client.send(get("/1", ...headers) + get("/2"))
      deepEqual([client.answers, client.responses[0]?.close], [["400 refused: invalid-host"], true])
      deepEqual([client.asked, client.ended], [[], true])
    })

  test("none: refused in HTTP/1.1 and served in HTTP/1.0", () => {
    const old = new FakeClient(echoTarget)
    old.send("GET / HTTP/1.0\r\n\r\n")
    deepEqual(old.answers, ["200 /"])
    const client = new FakeClient(echoTarget)
    client.send("GET / HTTP/1.1\r\n\r\n")
    deepEqual(client.answers, ["400 refused: invalid-host"])
  })

  test("two in HTTP/1.0: refused all the same", () => {
    const client = new FakeClient(echoTarget)
    client.send("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n")
    deepEqual(client.answers, ["400 refused: invalid-host"])
  })

  for (const lines of ["Connection: keep-alive\r\n", "Connection: keep-alive\r\nX: y\r\n"])
    test(`headers without one that HTTP/1.0 may send are refused when HTTP/1.1 repeats them: ${JSON.stringify(lines)}`, () => {
      const old = `GET /1 HTTP/1.0\r\n${lines}\r\n`
      const next = `GET /2 HTTP/1.1\r\n${lines}\r\n`
      for (const pieces of [[old, next], [old, old, next], [old + next], [get("/0"), old, next]]) {
        const client = new FakeClient(echoTarget)
        for (const piece of pieces) client.send(piece)
        deepEqual([client.asked.includes("/2"), client.answers.at(-1)], [false, "400 refused: invalid-host"])
      }
    })

  test("headers with one that HTTP/1.1 repeats are served again, also in HTTP/1.0", () => {
    const client = new FakeClient(echoTarget)
    const lines = "Host: a\r\nConnection: keep-alive\r\n\r\n"
    for (const [at, minor] of [1, 0, 1, 0].entries()) client.send(`GET /${at} HTTP/1.${minor}\r\n${lines}`)
    deepEqual(client.answers, ["200 /0", "200 /1", "200 /2", "200 /3"])
  })

  test("a host that changes for the worse is noticed though everything else is repeated", () => {
    const client = new FakeClient(echoTarget)
    client.send(get("/1", "Host: ab"))
    client.send(get("/2", "Host: ab"))
    client.send(get("/3", "Host: a/"))
    deepEqual(client.answers, ["200 /1", "200 /2", "400 refused: invalid-host"])
  })
})

describe("what is no request", () => {
  for (const [what, request, refusal] of [
    ["no HTTP at all", "\x16\x03\x01\x02\x00\x01", "malformed"],
    ["a malformed header", get("/", "A : b"), "malformed"],
    ["two framings", post("/", "abc", "Transfer-Encoding: chunked"), "malformed"],
    [
      "a chunk that is malformed from the start",
      requestOf("POST /", ["Transfer-Encoding: chunked"], "zz\r\n"),
      "malformed",
    ],
    ["a head over the bound", get("/", `A: ${"b".repeat(20_000)}`), "head-too-large"],
    ["a target over the bound", get(`/${"b".repeat(20_000)}`), "head-too-large"],
  ] as const)
    test(`${what}: answered, and the connection ends`, () => {
      const client = new FakeClient(echoTarget)
      client.send(get("/1") + request)
      client.send(get("/3"))
      deepEqual(client.answers, ["200 /1", `400 refused: ${refusal}`])
      deepEqual(
        client.responses.map(({ close }) => close),
        [false, true],
      )
      deepEqual([client.asked, client.ended, client.writes.length], [["/1"], true, 1])
    })

  test("is answered after the requests before it", async () => {
    const { handle, answer } = answersLater()
    const client = new FakeClient(handle)
    client.send(`${get("/1")}\0`)
    await settled()
    deepEqual([client.answers, client.ended], [[], false])
    await answer("/1")
    deepEqual([client.answers, client.ended], [["200 /1", "400 refused: malformed"], true])
  })

  test("of HEAD is answered without a body", () => {
    const client = new FakeClient(echoTarget)
    client.send(requestOf("HEAD /", ["Host: a b"]))
    const [head, ...rest] = client.received.split("\r\n\r\n")
    deepEqual([rest, head?.startsWith("HTTP/1.1 400")], [[""], true])
  })
})

describe("a handler that fails", () => {
  const broken: Answer = text("secret", 200, [["x", "a\r\nset-cookie: b"]])

  for (const [what, handle, answer] of [
    [
      "throws",
      () => {
        throw new Error("thrown")
      },
      "500 failed: thrown",
    ],
    ["rejects", () => Promise.reject(new Error("rejected")), "500 failed: rejected"],
    ["gives a header value of two lines", () => broken, "500 failed: The value of x breaks its line"],
    ["gives it later", async () => broken, "500 failed: The value of x breaks its line"],
  ] as const)
    test(`${what}: the client is told, and the next request served`, async () => {
      const client = new FakeClient((request) => (request.target === "/fails" ? handle() : echoTarget(request)))
      client.send(get("/1") + get("/fails") + get("/2"))
      await settled()
      deepEqual(client.answers, ["200 /1", answer, "200 /2"])
      equal(client.received.includes("set-cookie"), false)
      equal(client.ended, false)
    })

  test("after its client has gone: nobody is told", async () => {
    const { handle, fail } = answersLater()
    const client = new FakeClient(handle)
    client.send(get("/1"))
    client.connection.closed()
    await fail("/1", new Error("late"))
    deepEqual(client.writes, [])
  })

  test("with a body that follows, and headers that cannot be sent: the body is given up", async () => {
    let cancelled = false
    const body = new ReadableStream<Uint8Array>({
      cancel: () => {
        cancelled = true
      },
    })
    const client = new FakeClient(() => ({ ...broken, body }))
    client.send(get("/1"))
    await settled()
    deepEqual([client.answers, cancelled], [["500 failed: The value of x breaks its line"], true])
  })
})
