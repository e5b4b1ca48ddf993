// Answers that are sent as they come: never faster than they are taken, and never looking whole when they are not.
import { deepEqual, equal } from "node:assert/strict"
import { Buffer } from "node:buffer"
import { describe, test } from "node:test"
import type { Answer } from "../../../adapters/driving/http_server/answer.ts"
import type { HeaderLine } from "../../../adapters/driving/http_server/header_lines.ts"
import { answersLater, echoTarget, FakeClient, get, IDLE_MS, requestOf, settled } from "./fake_client.ts"

/** A body that gives a chunk whenever it is asked for one, and knows how often that was. */
const source = (chunks: ReadonlyArray<string>, end: "close" | "fail" | "stay open" = "close") => {
  const seen = { asked: 0, cancelled: false }
  const body = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const next = chunks[seen.asked]
        if (next !== undefined) {
          seen.asked++
          controller.enqueue(Buffer.from(next, "latin1"))
        } else if (end === "close") controller.close()
        else if (end === "fail") controller.error(new Error("failed"))
        else await new Promise<void>(() => {})
      },
      cancel: () => {
        seen.cancelled = true
      },
    },
    { highWaterMark: 0 },
  )
  return { body, seen }
}

const streamed = (body: ReadableStream<Uint8Array>, headers: ReadonlyArray<HeaderLine> = []): Answer => ({
  status: 200,
  headers,
  body,
})

/** Answers `/stream` with a body, everything else with its target. */
const streaming = (answer: () => Answer) =>
  new FakeClient((request) => (request.target === "/stream" ? answer() : echoTarget(request)))

/** What was taken after the first head. */
const afterHead = (client: FakeClient): string => client.received.slice(client.received.indexOf("\r\n\r\n") + 4)

describe("an answer that is sent as it comes", () => {
  test("in chunks, then the next request is served", async () => {
    const { body } = source(["abc", "\xff".repeat(16), "d"])
    const client = streaming(() => streamed(body))
    client.send(get("/stream") + get("/2"))
    await settled()
    const expected = `3\r\nabc\r\n10\r\n${"\xff".repeat(16)}\r\n1\r\nd\r\n0\r\n\r\n`
    equal(afterHead(client).startsWith(expected), true, client.received)
    equal(afterHead(client).slice(expected.length).startsWith("HTTP/1.1 200 OK\r\n"), true)
    deepEqual([client.asked, client.ended], [["/stream", "/2"], false])
  })

  test("an empty chunk is not the end (RFC 9112 section 7.1)", async () => {
    const { body } = source(["a", "", "b"])
    const client = streaming(() => streamed(body))
    client.send(get("/stream"))
    await settled()
    equal(afterHead(client), "1\r\na\r\n1\r\nb\r\n0\r\n\r\n")
  })

  test("no chunk at all is an empty body", async () => {
    const { body } = source([])
    const client = streaming(() => streamed(body))
    client.send(get("/stream"))
    await settled()
    equal(afterHead(client), "0\r\n\r\n")
  })

  test("with its length, then the next request is served", async () => {
    const { body } = source(["abc", "", "de"])
    const client = streaming(() => streamed(body, [["content-length", "5"]]))
    client.send(get("/stream") + get("/2"))
    await settled()
    deepEqual(client.answers, ["200 abcde", "200 /2"])
    equal(client.received.includes("chunked"), false)
  })

  test("up to the end of the connection in HTTP/1.0", async () => {
    const { body } = source(["abc", "de"])
    const client = streaming(() => streamed(body))
    client.send("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /2 HTTP/1.0\r\n\r\n")
    await settled()
    deepEqual([afterHead(client), client.ended, client.terminated], ["abcde", true, false])
    deepEqual([client.asked, client.received.includes("connection: close")], [["/stream"], true])
  })

  test("leaves its head at once, before there is any body", async () => {
    const { body } = source([], "stay open")
    const client = streaming(() => streamed(body))
    client.send(get("/stream"))
    await settled()
    equal(client.received.endsWith("\r\n\r\n"), true)
  })

  test("the next request waits for its end", async () => {
    const { body } = source(["a"], "stay open")
    const client = streaming(() => streamed(body))
    client.send(get("/stream") + get("/2"))
    await settled()
    deepEqual([client.asked, client.terminated], [["/stream"], false])
  })

  test("may be silent for as long as it likes", async () => {
    const { body, seen } = source(["a"], "stay open")
    const client = streaming(() => streamed(body))
    client.send(get("/stream"))
    await settled()
    client.pass(1000 * IDLE_MS)
    deepEqual([client.ended, client.terminated, seen.cancelled], [false, false, false])
  })

  test("to HEAD, nothing is asked of its body", async () => {
    const { body, seen } = source(["abc"])
    const client = streaming(() => streamed(body, [["content-length", "3"]]))
    client.send(requestOf("HEAD /stream") + get("/2"))
    await settled()
    deepEqual([seen, client.asked], [{ asked: 0, cancelled: true }, ["/stream", "/2"]])
    equal(client.received.includes("abc"), false)
  })
})

describe("an answer that is not what it said", () => {
  for (const [what, chunks, end, headers, whole] of [
    ["longer than its length", ["abc", "def"], "close", [["content-length", "5"]], "abcde"],
    ["longer than its length in its first chunk", ["abcdef"], "close", [["content-length", "5"]], "abcde"],
    ["longer than no length", ["a"], "close", [["content-length", "0"]], "a"],
    ["shorter than its length", ["abc"], "close", [["content-length", "5"]], "abcde"],
    ["failing before its length", ["abc"], "fail", [["content-length", "5"]], "abcde"],
    ["failing among its chunks", ["abc"], "fail", [], "0\r\n\r\n"],
    ["failing at once", [], "fail", [], "0\r\n\r\n"],
  ] as const)
    test(`${what}: cut off, never made to look whole`, async () => {
      const { body } = source(chunks, end)
      const client = streaming(() => streamed(body, headers))
      client.send(get("/stream") + get("/2"))
      await settled()
      deepEqual([client.terminated, client.ended, client.asked], [true, false, ["/stream"]])
      equal(afterHead(client).includes(whole), false)
    })

  test("longer than its length: its source is given up", async () => {
    const { body, seen } = source(["abcdef", "g"])
    const client = streaming(() => streamed(body, [["content-length", "5"]]))
    client.send(get("/stream"))
    await settled()
    deepEqual([client.terminated, seen], [true, { asked: 1, cancelled: true }])
  })
})

describe("a client that takes an answer slowly", () => {
  test("has one chunk waiting, never two", async () => {
    const chunks = Array.from({ length: 50 }, (_, at) => String(at % 10).repeat(1000))
    const { body, seen } = source(chunks)
    const client = streaming(() => streamed(body, [["content-length", "50000"]]))
    client.room = 200
    client.send(get("/stream") + get("/2"))
    await settled()
    deepEqual([seen.asked, client.asked], [1, ["/stream"]])
    for (let turn = 0; turn < 40; turn++) {
      client.take(1000)
      await settled()
      const taken = Math.max(0, afterHead(client).length)
      equal(seen.asked <= Math.floor(taken / 1000) + 1, true, `${seen.asked} chunks asked for, ${taken} bytes taken`)
    }
    client.take()
    for (let turn = 0; turn < 20; turn++) await settled()
    deepEqual(client.answers, [`200 ${chunks.join("")}`, "200 /2"])
  })

  test("and goes away: the source is given up", async () => {
    const { body, seen } = source(["abc", "def"])
    const client = streaming(() => streamed(body))
    client.room = 10
    client.send(get("/stream"))
    await settled()
    client.connection.closed()
    await settled()
    deepEqual(seen, { asked: seen.asked, cancelled: true })
    equal(seen.asked <= 1, true)
  })
})

describe("a client that goes away", () => {
  test("while the source has nothing: the source is given up", async () => {
    const { body, seen } = source(["abc"], "stay open")
    const client = streaming(() => streamed(body))
    client.send(get("/stream") + get("/2"))
    await settled()
    client.connection.closed()
    await settled()
    deepEqual([seen.cancelled, client.asked], [true, ["/stream"]])
  })

  test("after the whole answer: nothing is left to give up", async () => {
    const { body, seen } = source(["abc"])
    const client = streaming(() => streamed(body))
    client.send(get("/stream"))
    await settled()
    client.connection.closed()
    await settled()
    equal(seen.cancelled, false)
  })
})

describe("a connection that is told to stop", () => {
  test("sends the answer to its end first", async () => {
    let controller: ReadableStreamDefaultController<Uint8Array> | undefined
    const body = new ReadableStream<Uint8Array>({
      start: (given) => {
        controller = given
      },
    })
    const client = streaming(() => streamed(body))
    client.send(get("/stream") + get("/2"))
    await settled()
    client.connection.stop()
    controller?.enqueue(Buffer.from("abc"))
    await settled()
    deepEqual([client.ended, afterHead(client)], [false, "3\r\nabc\r\n"])
    controller?.close()
    await settled()
    deepEqual([client.ended, afterHead(client), client.asked], [true, "3\r\nabc\r\n0\r\n\r\n", ["/stream"]])
  })
})

describe("an answer", () => {
  test("whose body somebody else reads already is cut off, and nothing else is", async () => {
    const { body } = source(["abc"])
    body.getReader()
    const client = streaming(() => streamed(body))
    client.send(get("/stream") + get("/2"))
    await settled()
    deepEqual([client.terminated, client.asked], [true, ["/stream"]])
  })

  test("may come while the request's body is still coming", async () => {
    const { handle, answer } = answersLater()
    const client = new FakeClient(handle)
    client.send(requestOf("POST /stream", ["Content-Length: 6"], "abc"))
    const { body } = source(["one", "two"])
    await answer("/stream", streamed(body))
    equal(afterHead(client), "3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n")
    client.send(`def${get("/2")}`)
    deepEqual([client.asked, client.ended], [["/stream", "/2"], false])
  })
})
