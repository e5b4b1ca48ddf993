// Requests of one connection are handled and answered one after the other, and only as fast as the client takes answers.
import { deepEqual, equal } from "node:assert/strict"
import { describe, test } from "node:test"
import fc from "fast-check"
import type { Answer } from "../../../adapters/driving/http_server/answer.ts"
import type { ArrivedRequest } from "../../../adapters/driving/http_server/arrived_request.ts"
import {
  answersLater,
  echoBody,
  echoTarget,
  FakeClient,
  get,
  post,
  readBody,
  requestOf,
  settled,
  text,
} from "./fake_client.ts"

const AHEAD_MAX = 64 * 1024

describe("several requests at once", () => {
  test("are answered in order, in one write", () => {
    const client = new FakeClient(echoTarget)
    client.send(get("/1") + post("/2", "abc") + get("/3"))
    deepEqual(client.answers, ["200 /1", "200 /2", "200 /3"])
    equal(client.writes.length, 1)
    equal(client.received.includes("connection:"), false)
  })

  test("are handed over one at a time when answers take their time", async () => {
    const { handle, answer } = answersLater()
    const client = new FakeClient(handle)
    client.send(get("/1") + get("/2"))
    client.send(get("/3"))
    await settled()
    deepEqual([client.asked, client.answers], [["/1"], []])
    await answer("/1")
    deepEqual([client.asked, client.answers], [["/1", "/2"], ["200 /1"]])
    await answer("/2")
    await answer("/3")
    deepEqual(client.answers, ["200 /1", "200 /2", "200 /3"])
  })

  test("of which some are answered at once and some later keep their order", async () => {
    const later = answersLater()
    const client = new FakeClient((request) =>
      request.target.startsWith("/later") ? later.handle(request) : echoTarget(request),
    )
    client.send(get("/1") + get("/later1") + get("/2") + get("/later2") + get("/3"))
    deepEqual([client.asked, client.answers], [["/1", "/later1"], ["200 /1"]])
    await later.answer("/later1")
    deepEqual(client.answers, ["200 /1", "200 /later1", "200 /2"])
    await later.answer("/later2")
    deepEqual(client.answers, ["200 /1", "200 /later1", "200 /2", "200 /later2", "200 /3"])
  })

  test("and a body each, whole or in pieces, however they are cut", async () => {
    const body = fc.stringMatching(/^[a-z]{0,40}$/)
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(body, fc.boolean()), { minLength: 1, maxLength: 6 }),
        fc.array(fc.nat({ max: 2000 }), { maxLength: 12 }),
        async (bodies, cuts) => {
          const all = bodies
            .map(([each, chunked], at) =>
              chunked && each !== ""
                ? requestOf(
                    `POST /${at}`,
                    ["Transfer-Encoding: chunked"],
                    `${each.length.toString(16)}\r\n${each}\r\n0\r\n\r\n`,
                  )
                : post(`/${at}`, each),
            )
            .join("")
          const client = new FakeClient(echoBody)
          const ends = [...new Set(cuts.map((cut) => cut % all.length))].sort((a, b) => a - b)
          for (const [at, end] of [...ends, all.length].entries()) {
            client.send(all.slice(at === 0 ? 0 : ends[at - 1], end))
            if (at % 2 === 0) await settled()
          }
          await settled()
          await settled()
          deepEqual(
            client.answers,
            bodies.map(([each]) => `200 ${each}`),
          )
        },
      ),
      { numRuns: 60 },
    )
  })

  test("the last of which closes: what comes after it is not read", async () => {
    for (const handle of [echoTarget, async (request: { target: string }) => text(request.target)]) {
      const client = new FakeClient(handle)
      client.send(get("/1") + get("/2", "Connection: close") + get("/3"))
      await settled()
      deepEqual(
        client.responses.map(({ body, close }) => [body, close]),
        [
          ["/1", false],
          ["/2", true],
        ],
      )
      client.send(get("/4"))
      deepEqual([client.asked, client.ended, client.terminated], [["/1", "/2"], true, false])
    }
  })

  test("an answer that closes is the last", () => {
    const client = new FakeClient((request) => text(request.target, 200, [["connection", "close"]]))
    client.send(get("/1") + get("/2"))
    deepEqual([client.answers, client.ended], [["200 /1"], true])
  })

  test("CONNECT is the last: what follows is meant for somebody else", () => {
    const client = new FakeClient(() => text("no", 501))
    client.send(requestOf("CONNECT a:1") + get("/2"))
    deepEqual([client.answers, client.asked, client.ended], [["501 no"], ["a:1"], true])
  })

  test("of HTTP/1.0, which stays only when it is asked to", () => {
    const client = new FakeClient(echoTarget)
    client.send("GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /2 HTTP/1.0\r\n\r\nGET /3 HTTP/1.0\r\n\r\n")
    deepEqual([client.answers, client.ended], [["200 /1", "200 /2"], true])
    equal(client.received.includes("connection: keep-alive"), true)
  })
})

describe("what comes ahead", () => {
  test("is kept up to a bound, then the sender waits until it is wanted", async () => {
    const { handle, answer } = answersLater()
    const client = new FakeClient(handle)
    client.send(get("/1"))
    const next = post("/2", "a".repeat(AHEAD_MAX))
    client.send(next.slice(0, AHEAD_MAX))
    equal(client.paused, false)
    client.send(next.slice(AHEAD_MAX))
    equal(client.paused, true)
    client.send(get("/3"))
    await answer("/1")
    deepEqual([client.asked, client.paused], [["/1", "/2"], false])
    await answer("/2")
    await answer("/3")
    deepEqual(client.answers, ["200 /1", "200 /2", "200 /3"])
  })

  test("of many small requests over the bound is answered to the last", async () => {
    const client = new FakeClient(async (request) => text(request.target))
    const targets = Array.from({ length: 3000 }, (_, at) => `/${at}`)
    client.send(targets.map((target) => get(target)).join(""))
    equal(client.paused, true)
    for (let turn = 0; turn < 2000 && client.answers.length < targets.length; turn++) await settled()
    deepEqual(
      client.responses.map(({ body }) => body),
      targets,
    )
    equal(client.paused, false)
  })

  test("after a body that filled the bound in one piece the next request is read", async () => {
    const { handle, answer } = answersLater()
    const client = new FakeClient((request) => handle(request).then(() => echoBody(request)))
    const body = "a".repeat(2 * AHEAD_MAX)
    const request = post("/1", body)
    client.send(request.slice(0, -body.length))
    client.send(body)
    await answer("/1")
    client.send(get("/2"))
    await settled()
    await answer("/2")
    deepEqual([client.asked, client.paused], [["/1", "/2"], false])
    deepEqual(
      client.responses.map(({ body: { length } }) => length),
      [body.length, 0],
    )
  })
})

describe("a client that takes nothing", () => {
  for (const [kind, body] of [
    ["texts", "a".repeat(60_000)],
    ["bytes", new Uint8Array(60_000)],
  ] as const)
    test(`is not worked for on and on, though all it asks came in one piece: ${kind}`, () => {
      const client = new FakeClient(() => ({ status: 200, headers: [], body }))
      client.room = 0
      client.send(get("/").repeat(1000))
      // What gathers for one write is bounded, and the write shows that nothing is taken.
      equal(client.asked.length <= 3, true, `${client.asked.length} were handed over`)
    })

  test("gets no further request handled until it has taken its answers", () => {
    const client = new FakeClient(echoTarget)
    client.room = 10
    client.send(get("/1"))
    client.send(get("/2"))
    client.send(get("/3"))
    deepEqual([client.asked, client.received.length], [["/1"], 10])
    client.take(20)
    deepEqual(client.asked, ["/1"])
    client.take()
    deepEqual(
      [client.asked, client.answers],
      [
        ["/1", "/2", "/3"],
        ["200 /1", "200 /2", "200 /3"],
      ],
    )
  })

  test("gets no further request of the same piece handled, once more waits than leaves in one write", () => {
    const client = new FakeClient((request) => text(request.target + "a".repeat(100_000)))
    client.room = 10
    client.send(get("/1") + get("/2") + get("/3"))
    deepEqual(client.asked, ["/1"])
    client.take(150_000)
    deepEqual(client.asked, ["/1", "/2"])
    client.take()
    deepEqual(client.asked, ["/1", "/2", "/3"])
    client.take()
    deepEqual(
      client.responses.map(({ body }) => body.slice(0, 3)),
      ["/1a", "/2a", "/3a"],
    )
  })

  test("may not fill the memory with requests meanwhile", () => {
    const client = new FakeClient(echoTarget)
    client.room = 0
    client.send(get("/1"))
    let accepted = 0
    while (!client.paused && accepted < 10 * AHEAD_MAX) {
      client.send(post("/2", "a".repeat(10_000)))
      accepted += 10_000
    }
    equal(accepted < 2 * AHEAD_MAX, true)
    deepEqual(client.asked, ["/1"])
  })

  test("still has the body read of the request that is being handled", async () => {
    const read: Array<string> = []
    const client = new FakeClient((request) =>
      request.target === "/1"
        ? text("one")
        : readBody(request).then((body) => {
            read.push(body)
            return text(body)
          }),
    )
    client.room = 0
    client.send(get("/1") + post("/2", "abcd").slice(0, -2))
    client.send("cd")
    await settled()
    deepEqual([read, client.writes], [["abcd"], []])
    client.take()
    deepEqual(client.answers, ["200 one", "200 abcd"])
  })
})

describe("a client that has closed its half", () => {
  test("gets the answers of everything it sent, then the end", async () => {
    const { handle, answer } = answersLater()
    const client = new FakeClient(handle)
    client.send(get("/1") + get("/2"))
    client.connection.peerEnded()
    await settled()
    equal(client.ended, false)
    await answer("/1")
    equal(client.ended, false)
    await answer("/2")
    deepEqual([client.answers, client.ended], [["200 /1", "200 /2"], true])
  })

  for (const [what, sent, answers] of [
    ["nothing", "", []],
    ["a request that is answered", get("/1"), ["200 /1"]],
    ["a request and the beginning of another", `${get("/1")}GET /2 HT`, ["200 /1"]],
  ] as const)
    test(`after ${what}: the end at once`, () => {
      const client = new FakeClient(echoTarget)
      if (sent !== "") client.send(sent)
      client.connection.peerEnded()
      deepEqual([client.answers, client.ended], [answers, true])
    })

  test("and takes its answers slowly gets all of them before the end", () => {
    const client = new FakeClient(echoTarget)
    client.room = 10
    client.send(get("/1"))
    client.send(get("/2"))
    client.connection.peerEnded()
    deepEqual([client.asked, client.ended], [["/1"], false])
    client.take(50)
    client.take()
    deepEqual([client.answers, client.ended], [["200 /1", "200 /2"], true])
  })
})

describe("a client that has gone", () => {
  test("is not answered, and no further request of it is handled", async () => {
    const { handle, answer } = answersLater()
    const client = new FakeClient(handle)
    client.send(get("/1") + get("/2"))
    client.connection.closed()
    await answer("/1")
    client.connection.drained()
    client.connection.peerEnded()
    client.connection.stop()
    client.pass(60_000)
    deepEqual([client.asked, client.writes, client.ended], [["/1"], [], false])
  })

  test("leaves no answer's body open", async () => {
    const { handle, answer } = answersLater()
    const client = new FakeClient(handle)
    client.send(get("/1"))
    client.connection.closed()
    let cancelled = false
    const body = new ReadableStream<Uint8Array>({
      cancel: () => {
        cancelled = true
      },
    })
    await answer("/1", { status: 200, headers: [], body } satisfies Answer)
    equal(cancelled, true)
  })

  test("is told to whoever still works for it, at once or when they ask too late", async () => {
    const { handle } = answersLater()
    const told: Array<string> = []
    const requests: Array<ArrivedRequest> = []
    const client = new FakeClient((request) => {
      requests.push(request)
      request.whenGone(() => told.push(request.target))
      return handle(request)
    })
    client.send(get("/1") + get("/2"))
    equal(told.length, 0)
    client.connection.closed()
    equal(told.join(), "/1")
    requests[0]?.whenGone(() => told.push("late"))
    deepEqual(told, ["/1", "late"])
  })

  for (const headers of [[], ["Connection: close"]])
    test(`is of no interest to a request that was answered${headers.length > 0 ? ", the last" : ""}`, async () => {
      const told: Array<string> = []
      const client = new FakeClient((request) => {
        request.whenGone(() => told.push(request.target))
        return echoTarget(request)
      })
      client.send(get("/1", ...headers))
      client.connection.closed()
      deepEqual([client.answers, told], [["200 /1"], []])
    })
})
