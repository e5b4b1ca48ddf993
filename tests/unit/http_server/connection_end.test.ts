// When a connection ends: told to stop, or out of time.
import { deepEqual, equal } from "node:assert/strict"
import { describe, test } from "node:test"
import {
  answersLater,
  echoBody,
  echoTarget,
  FakeClient,
  get,
  HEAD_MS,
  IDLE_MS,
  LINGER_MS,
  post,
  requestOf,
  settled,
  text,
} from "./fake_client.ts"

describe("a connection that is told to stop", () => {
  for (const [what, sent] of [
    ["was never used", ""],
    ["is idle", get("/1")],
    ["has had a blank line", `${get("/1")}\r\n`],
  ] as const)
    test(`${what}: ends at once`, () => {
      const client = new FakeClient(echoTarget)
      if (sent !== "") client.send(sent)
      client.connection.stop()
      equal(client.ended, true)
      client.send(get("/2"))
      equal(client.asked.includes("/2"), false)
    })

  test("is in the middle of a head: that request is answered, and is the last", () => {
    const client = new FakeClient(echoTarget)
    const request = get("/1")
    client.send(request.slice(0, 10))
    client.connection.stop()
    equal(client.ended, false)
    client.send(request.slice(10) + get("/2"))
    deepEqual([client.answers, client.responses[0]?.close, client.ended], [["200 /1"], true, true])
    deepEqual(client.asked, ["/1"])
  })

  test("is in the middle of a body: that request is answered, and is the last", async () => {
    const client = new FakeClient(echoBody)
    const request = post("/1", "abcdef")
    client.send(request.slice(0, -3))
    await settled()
    client.connection.stop()
    equal(client.ended, false)
    client.send(request.slice(-3) + get("/2"))
    await settled()
    deepEqual([client.answers, client.responses[0]?.close, client.ended], [["200 abcdef"], true, true])
    deepEqual(client.asked, ["/1"])
  })

  test("is being answered, others wait: the answer is sent, and nothing else is asked", async () => {
    const { handle, answer } = answersLater()
    const client = new FakeClient(handle)
    client.send(get("/1") + get("/2"))
    client.send(get("/3"))
    client.connection.stop()
    client.connection.stop()
    equal(client.ended, false)
    await answer("/1")
    deepEqual([client.answers, client.responses[0]?.close, client.ended], [["200 /1"], true, true])
    deepEqual(client.asked, ["/1"])
  })

  test("has answered early: the rest of the body is not waited for", () => {
    const client = new FakeClient(echoTarget)
    client.send(requestOf("POST /1", ["Content-Length: 6"], "abc"))
    equal(client.ended, false)
    client.connection.stop()
    deepEqual([client.answers, client.ended], [["200 /1"], true])
  })

  test("has answers the client has not taken: they are sent before the end", () => {
    const client = new FakeClient(echoTarget)
    client.room = 5
    client.send(get("/1"))
    client.connection.stop()
    equal(client.ended, false)
    client.take()
    deepEqual([client.answers, client.ended], [["200 /1"], true])
  })
})

describe("a connection without a byte", () => {
  test("ends after the idle time", () => {
    const client = new FakeClient(echoTarget)
    client.pass(IDLE_MS - 1)
    equal(client.ended, false)
    client.pass(1)
    deepEqual([client.ended, client.terminated, client.writes], [true, false, []])
  })

  test("has the whole idle time after every answer", async () => {
    const { handle, answer } = answersLater()
    const client = new FakeClient(handle)
    for (const target of ["/1", "/2"]) {
      client.pass(IDLE_MS - 1)
      client.send(get(target))
      await settled()
      client.pass(10 * IDLE_MS)
      await answer(target)
    }
    client.pass(IDLE_MS - 1)
    deepEqual([client.answers, client.ended], [["200 /1", "200 /2"], false])
    client.pass(1)
    equal(client.ended, true)
  })

  test("is not idle while its request is handled, however long", async () => {
    const { handle, answer } = answersLater()
    const client = new FakeClient(handle)
    client.send(post("/1", "abc"))
    client.pass(1000 * IDLE_MS)
    await answer("/1")
    deepEqual([client.answers, client.responses[0]?.close], [["200 /1"], false])
  })
})

describe("a head that takes too long", () => {
  for (const [what, before] of [
    ["the first", ""],
    ["a later one", get("/1")],
  ] as const)
    test(`${what}, however many bytes come: refused`, () => {
      const client = new FakeClient(echoTarget)
      client.send(`${before}GET /slow HTTP/1.1\r\n`)
      for (let passed = 0; passed < HEAD_MS - 10; passed += 10) {
        client.pass(10)
        client.send("a: b\r\n")
      }
      equal(client.answers.length, before === "" ? 0 : 1)
      client.pass(10)
      deepEqual([client.answers.at(-1), client.responses.at(-1)?.close], ["400 refused: too-slow", true])
      equal(client.ended, true)
    })

  test("has its time from its own first byte", () => {
    const client = new FakeClient(echoTarget)
    client.send(get("/1"))
    client.pass(IDLE_MS - 1)
    client.send("GET /2 HTTP/1.1\r\n")
    client.pass(HEAD_MS - 1)
    client.send("Host: a\r\n\r\nG")
    deepEqual(client.answers, ["200 /1", "200 /2"])
    client.pass(HEAD_MS - 1)
    client.send("ET /3 HTTP/1.1\r\nHost: a\r\n\r\n")
    deepEqual(client.answers, ["200 /1", "200 /2", "200 /3"])
  })

  test("has its time from when it could be read, not from when it came", async () => {
    const { handle, answer } = answersLater()
    const client = new FakeClient(handle)
    client.send(`${get("/1")}GET /2 HTTP/1.1\r\n`)
    client.pass(10 * HEAD_MS)
    await answer("/1")
    client.pass(HEAD_MS - 1)
    client.send("Host: a\r\n\r\n")
    await answer("/2")
    deepEqual(client.answers, ["200 /1", "200 /2"])
  })
})

describe("a body that takes too long", () => {
  test("breaks after the idle time, and not before", async () => {
    const client = new FakeClient(echoBody)
    client.send(requestOf("POST /", ["Content-Length: 10"]))
    await settled()
    for (let sent = 0; sent < 5; sent++) {
      client.pass(IDLE_MS - 1)
      client.send("a")
      await settled()
    }
    deepEqual(client.answers, [])
    client.pass(IDLE_MS)
    await settled()
    deepEqual([client.answers, client.ended], [["500 failed: The body ended before it was complete"], true])
  })

  test("because nobody reads it is not its sender's fault", async () => {
    const { handle, answer } = answersLater()
    const client = new FakeClient((request) => handle(request).then(() => echoBody(request)))
    const body = "a".repeat(200_000)
    client.send(requestOf("POST /", [`Content-Length: ${body.length}`], body.slice(100_000)))
    equal(client.paused, true)
    client.pass(1000 * IDLE_MS)
    await answer("/")
    client.pass(IDLE_MS - 1)
    client.send(body.slice(100_000))
    await settled()
    equal(client.responses[0]?.body.length, body.length)
  })

  test("once its reader waits again is", async () => {
    const { handle, answer } = answersLater()
    const client = new FakeClient((request) => handle(request).then(() => echoBody(request)))
    client.send(requestOf("POST /", ["Content-Length: 200000"], "a".repeat(100_000)))
    client.pass(1000 * IDLE_MS)
    await answer("/")
    client.pass(IDLE_MS)
    await settled()
    deepEqual(client.answers, ["500 failed: The body ended before it was complete"])
  })

  test("after its answer is not waited for, however many bytes come", () => {
    const client = new FakeClient(() => text("early"))
    client.send(requestOf("POST /", ["Content-Length: 1000000"], "a"))
    for (let passed = 0; passed < LINGER_MS - 100; passed += 100) {
      client.pass(100)
      client.send("a")
    }
    equal(client.ended, false)
    client.pass(100)
    deepEqual([client.answers, client.ended], [["200 early"], true])
  })
})

describe("a client that takes no bytes", () => {
  test("is cut off after the idle time", () => {
    const client = new FakeClient(echoTarget)
    client.room = 5
    client.send(get("/1"))
    client.pass(IDLE_MS - 1)
    equal(client.terminated, false)
    client.pass(1)
    equal(client.terminated, true)
  })

  test("is not cut off while it takes some", () => {
    const client = new FakeClient(() => text("a".repeat(1000)))
    client.room = 5
    client.send(get("/1"))
    for (let taken = 0; taken < 20; taken++) {
      client.pass(IDLE_MS - 1)
      client.take(10)
    }
    equal(client.terminated, false)
    client.pass(IDLE_MS)
    equal(client.terminated, true)
  })

  test("is cut off in the middle of an answer that follows", async () => {
    let cancelled = false
    const body = new ReadableStream<Uint8Array>(
      {
        pull: (controller) => controller.enqueue(new Uint8Array(100)),
        cancel: () => {
          cancelled = true
        },
      },
      { highWaterMark: 0 },
    )
    const client = new FakeClient(() => ({ status: 200, headers: [], body }))
    client.room = 500
    client.send(get("/1") + get("/2"))
    await settled()
    client.pass(IDLE_MS)
    await settled()
    deepEqual([client.terminated, cancelled, client.asked], [true, true, ["/1"]])
  })
})

describe("a connection that has ended its half", () => {
  test("is cut off when the client does not close its own", () => {
    const client = new FakeClient(echoTarget)
    client.send(get("/1", "Connection: close"))
    equal(client.ended, true)
    client.pass(LINGER_MS - 1)
    client.send("more")
    equal(client.terminated, false)
    client.pass(1)
    equal(client.terminated, true)
  })

  test("takes what still comes, so that the last answer is not lost", () => {
    const client = new FakeClient(() => text("no", 413))
    client.send(requestOf("POST /", ["Content-Length: 100000000", "Connection: close"], "a"))
    for (let sent = 0; sent < 100; sent++) client.send("a".repeat(10_000))
    deepEqual([client.paused, client.terminated, client.answers], [false, false, ["413 no"]])
  })

  test("takes it also when its sender had to wait before", async () => {
    const { handle, answer } = answersLater()
    const client = new FakeClient(handle)
    client.send(get("/1", "Connection: close") + "a".repeat(100_000))
    equal(client.paused, true)
    await answer("/1")
    deepEqual([client.answers, client.ended, client.paused], [["200 /1"], true, false])
  })

  test("is not cut off while the client goes on taking a long last answer", () => {
    const client = new FakeClient(() => text("a".repeat(100_000)))
    client.room = 1000
    client.send(get("/1", "Connection: close"))
    for (let turn = 0; turn < 50; turn++) {
      client.pass(LINGER_MS / 10)
      client.take(1000)
    }
    equal(client.terminated, false)
    client.take()
    deepEqual([client.responses[0]?.body.length, client.ended], [100_000, true])
  })

  test("is cut off when the client takes nothing of its last answer", () => {
    const client = new FakeClient(echoTarget)
    client.room = 5
    client.send(get("/1", "Connection: close"))
    client.pass(LINGER_MS)
    deepEqual([client.terminated, client.ended], [true, false])
  })
})
