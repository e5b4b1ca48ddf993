// Bodies of requests: handed over whole or as a stream, asked for only when read, and never taken for whole when they broke.
import { deepEqual, equal } from "node:assert/strict"
import { describe, test } from "node:test"
import type { ArrivedRequest } from "../../../adapters/driving/http_server/arrived_request.ts"
import {
  answersLater,
  echoBody,
  FakeClient,
  get,
  IDLE_MS,
  post,
  readBody,
  requestOf,
  settled,
  text,
} from "./fake_client.ts"

const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n"

describe("a body", () => {
  test("that came along with the head is handed over whole", () => {
    const bodies: Array<ArrivedRequest["body"]> = []
    const client = new FakeClient(({ body }) => {
      bodies.push(body)
      return text("")
    })
    client.send(
      post("/", "ab\xff") + requestOf("POST /", ["Transfer-Encoding: chunked"], "1\r\na\r\n2\r\nbc\r\n0\r\n\r\n"),
    )
    client.send(post("/", "") + get("/"))
    deepEqual(bodies.slice(0, 2), [new Uint8Array([97, 98, 255]), new Uint8Array([97, 98, 99])])
    deepEqual(bodies.slice(2), [null, null])
  })

  test("that follows is a stream of what came and what comes", async () => {
    const client = new FakeClient(echoBody)
    const request = post("/", "abcdef")
    client.send(request.slice(0, -4))
    await settled()
    for (const character of "cdef") {
      client.send(character)
      await settled()
    }
    deepEqual(client.answers, ["200 abcdef"])
  })

  test("nobody reads yet keeps its sender waiting once enough has come", async () => {
    const { handle, answer } = answersLater()
    const client = new FakeClient((request) => handle(request).then(() => echoBody(request)))
    const length = 300_000
    client.send(requestOf("POST /", [`Content-Length: ${length}`], ""))
    for (let sent = 0; sent < length; sent += 10_000) client.send("a".repeat(10_000))
    equal(client.paused, true)
    await answer("/")
    for (let turn = 0; turn < 10; turn++) await settled()
    equal(client.responses[0]?.body.length, length)
    client.send(get("/2"))
    await answer("/2")
    deepEqual([client.asked, client.paused], [["/", "/2"], false])
  })

  for (const [what, framing, rest] of [
    ["a length", "Content-Length: 6", "ef"],
    ["chunks", "Transfer-Encoding: chunked", "2\r\nef\r\n0\r\n\r\n"],
  ] as const)
    test(`with ${what}, answered before it is read, is dropped, and the next request served`, async () => {
      let unread: ReadableStream<Uint8Array> | undefined
      const client = new FakeClient(({ target, body }) => {
        if (body instanceof ReadableStream) unread = body
        return text(target)
      })
      client.send(requestOf("POST /1", [framing], framing.startsWith("C") ? "abcd" : "4\r\nabcd\r\n"))
      deepEqual([client.answers, client.ended], [["200 /1"], false])
      client.send(rest.slice(0, 1))
      deepEqual(client.asked, ["/1"])
      client.send(rest.slice(1) + get("/2"))
      deepEqual([client.asked, client.answers, client.ended], [["/1", "/2"], ["200 /1", "200 /2"], false])
      equal(unread instanceof ReadableStream, true)
    })

  test("that kept its sender waiting is let go when its request is answered without it", async () => {
    const { handle, answer } = answersLater()
    const client = new FakeClient(handle)
    client.send(requestOf("POST /1", ["Content-Length: 100000"], "a".repeat(90_000)))
    equal(client.paused, true)
    client.send("a".repeat(10_000))
    client.send(get("/2"))
    await answer("/1")
    await answer("/2")
    deepEqual([client.answers, client.paused], [["200 /1", "200 /2"], false])
  })

  test("whose reader gave up is dropped before the answer", async () => {
    const { handle, answer } = answersLater()
    const client = new FakeClient((request) => {
      if (request.body instanceof ReadableStream) void request.body.cancel()
      return handle(request)
    })
    client.send(requestOf("POST /1", ["Content-Length: 200000"], "a".repeat(90_000)))
    await settled()
    equal(client.paused, false)
    client.send("a".repeat(110_000) + get("/2"))
    await answer("/1")
    await answer("/2")
    deepEqual(client.answers, ["200 /1", "200 /2"])
  })

  test("that is read on after the answer never looks whole though a part of it was dropped", async () => {
    const read: Array<string> = []
    const client = new FakeClient((request) => {
      void readBody(request).then(
        (body) => read.push(body),
        () => read.push("broken"),
      )
      return text("early")
    })
    client.send(requestOf("POST /", ["Content-Length: 6"], "ab"))
    client.send("cd")
    client.send("ef")
    await settled()
    equal(["abcdef", "broken"].includes(read[0] ?? ""), true, `read as a whole body: '${read[0]}'`)
  })

  test("of a request that is the last is not waited for", () => {
    const client = new FakeClient(() => text("no", 413))
    client.send(requestOf("POST /", ["Content-Length: 6", "Connection: close"], "ab"))
    deepEqual([client.answers, client.ended], [["413 no"], true])
    client.send(`cdef${get("/2")}`)
    deepEqual(client.asked, ["/"])
  })
})

describe("a body that does not come whole", () => {
  for (const [what, request, happens] of [
    [
      "the client closes its half",
      post("/", "abcdef").slice(0, -2),
      (client: FakeClient) => client.connection.peerEnded(),
    ],
    [
      "its chunks are malformed",
      requestOf("POST /", ["Transfer-Encoding: chunked"], "4\r\nabcd\r\n"),
      (client: FakeClient) => client.send(`x\r\n${get("/2")}`),
    ],
    [
      "its trailers are too large",
      requestOf("POST /", ["Transfer-Encoding: chunked"], "4\r\nabcd\r\n"),
      (client: FakeClient) => client.send(`0\r\nA: ${"b".repeat(20_000)}\r\n\r\n`),
    ],
    ["it stalls", post("/", "abcdef").slice(0, -2), (client: FakeClient) => client.pass(IDLE_MS)],
  ] as const) {
    test(`${what}: the reader is told, its request answered, and no other`, async () => {
      const client = new FakeClient(echoBody)
      client.send(request)
      await settled()
      happens(client)
      await settled()
      deepEqual(client.answers, ["500 failed: The body ended before it was complete"])
      deepEqual([client.responses[0]?.close, client.ended, client.asked], [true, true, ["/"]])
    })

    test(`${what}, and the handler does not care: its answer is sent, and is the last`, async () => {
      const { handle, answer } = answersLater()
      const client = new FakeClient(handle)
      client.send(request)
      happens(client)
      client.send(get("/3"))
      await answer("/")
      deepEqual(
        [client.answers, client.responses[0]?.close, client.ended, client.asked],
        [["200 /"], true, true, ["/"]],
      )
    })

    test(`${what} after the answer: the end`, () => {
      const client = new FakeClient(() => text("early"))
      client.send(request)
      equal(client.ended, false)
      happens(client)
      if (what === "it stalls") client.pass(5000)
      deepEqual([client.answers, client.ended], [["200 early"], true])
    })
  }

  test("the client goes: the reader is told", async () => {
    let failure: unknown
    const client = new FakeClient(async (request) => {
      failure = await readBody(request).catch((error: unknown) => error)
      return text("")
    })
    client.send(post("/", "abc").slice(0, -1))
    await settled()
    client.connection.closed()
    await settled()
    equal((failure as Error).message, "The body ended before it was complete")
    deepEqual(client.writes, [])
  })
})

describe("Expect: 100-continue (RFC 9110 section 10.1.1)", () => {
  const expecting = (line: string, length = 3) => requestOf(line, [`Content-Length: ${length}`, "Expect: 100-Continue"])

  test("is told to go on when the body is read, once", async () => {
    const { handle, answer } = answersLater()
    const client = new FakeClient((request) => handle(request).then(() => echoBody(request)))
    client.send(expecting("POST /"))
    await settled()
    equal(client.received, "")
    await answer("/")
    equal(client.received, CONTINUE)
    client.send("ab")
    await settled()
    client.send("c")
    await settled()
    deepEqual(client.answers, ["100 ", "200 abc"])
    equal(client.responses[1]?.close, false)
    client.send(get("/2"))
    await answer("/2")
    deepEqual(client.answers, ["100 ", "200 abc", "200 "])
  })

  test("is not told to go on when nobody reads the body; the connection closes", async () => {
    for (const later of [false, true]) {
      const client = new FakeClient(() => (later ? Promise.resolve(text("no", 413)) : text("no", 413)))
      client.send(expecting("POST /"))
      await settled()
      client.send(`abc${get("/2")}`)
      deepEqual([client.answers, client.responses[0]?.close], [["413 no"], true])
      deepEqual([client.asked, client.ended], [["/"], true])
    }
  })

  for (const [what, request] of [
    ["the body is there already", post("/", "abc", "Expect: 100-continue")],
    ["a part of it is there", `${post("/", "abc", "Expect: 100-continue").slice(0, -1)}`],
    ["there is no body", get("/", "Expect: 100-continue")],
    ["something else is expected", requestOf("POST /", ["Content-Length: 3", "Expect: nothing"])],
    [
      "it is HTTP/1.0, which has no such answer",
      "POST / HTTP/1.0\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n",
    ],
  ] as const)
    test(`says nothing when ${what}`, async () => {
      const client = new FakeClient(echoBody)
      client.send(request)
      await settled()
      client.send("abc".slice(request.endsWith("ab") ? 2 : 0))
      await settled()
      equal(client.responses[0]?.status, 200)
    })

  test("is never told to go on in the middle of an answer (RFC 9110 section 15.2)", async () => {
    const client = new FakeClient(({ body }) => ({
      status: 200,
      headers: [],
      body: body instanceof ReadableStream ? body : null,
    }))
    client.send(expecting("POST /"))
    await settled()
    client.send("abc")
    await settled()
    const at = client.received.indexOf("HTTP/1.1 200 ")
    equal(at >= 0, true)
    equal(client.received.indexOf(CONTINUE, at), -1, client.received)
  })

  test("is not answered for a request that was refused", () => {
    const client = new FakeClient(echoBody)
    client.send(expecting("POST /").replace("Host: a", "Host: a b"))
    deepEqual(client.answers, ["400 refused: invalid-host"])
  })

  test("whatever comes unasked, its bytes are the body's, never a request's", async () => {
    const client = new FakeClient(() => text("no", 413))
    const hidden = get("/hidden")
    client.send(expecting("POST /", hidden.length))
    client.send(hidden)
    await settled()
    deepEqual(client.asked, ["/"])
  })
})
