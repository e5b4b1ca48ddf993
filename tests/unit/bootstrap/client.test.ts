import { deepEqual, equal, rejects } from "node:assert/strict"
import { describe, test } from "node:test"
import fc from "fast-check"
import { ApiError, createClient } from "../../../bootstrap/client.ts"
import { readServerEvents } from "../../../bootstrap/client_events.ts"
import { listParameters, nextCursor } from "../../../bootstrap/client_query.ts"

interface Chart {
  readonly name: string
  readonly depth: number
  readonly sold: boolean
}

describe("the query of a list", () => {
  for (const [query, parameters] of [
    [{}, ""],
    [{ where: { name: "a b&c" } }, "name=eq.a+b%26c"],
    [{ where: { sold: false, depth: 0 } }, "sold=eq.false&depth=eq.0"],
    [{ where: { depth: { gte: 1, lt: 2 } } }, "depth=gte.1&depth=lt.2"],
    [{ where: { depth: { eq: undefined, neq: 1e21 }, name: undefined } }, "depth=neq.1e%2B21"],
    [{ where: { name: { is: null } } }, "name=is.null"],
    [{ where: { name: { like: "chart*" } } }, "name=like.chart*"],
    [{ where: { depth: { in: [1, 2.5] } } }, "depth=in.%281%2C2.5%29"],
    [
      { where: { name: { in: ["a,b", '"', "\\"] } } },
      `name=${encodeURIComponent('in.("a,b","\\"","\\\\")').replaceAll("(", "%28").replaceAll(")", "%29")}`,
    ],
    [{ order: ["depth.desc", "id"] }, "order=depth.desc%2Cid"],
    [{ order: [], select: ["id", "name"] }, "select=id%2Cname"],
  ] as const)
    test(parameters, () => equal(String(listParameters(query)), parameters))

  for (const [link, cursor] of [
    [null, undefined],
    ['</api/x?limit=2&after=ab%2Bc>; rel="next"', "ab+c"],
    ['</other/x?start=0>; rel="prev", </other/x?after=q>; rel="next"', "q"],
    ['</api/x?start=2>; rel="next"', undefined],
    ['</api/x?after=q>; rel="prev"', undefined],
  ] as const)
    test(`the next page of ${link}`, () => equal(nextCursor(link), cursor))
})

/** A body whose bytes come in pieces of these lengths, over and over. */
const pieces = (bytes: Uint8Array, lengths: ReadonlyArray<number>): ReadableStream<Uint8Array> => {
  let at = 0
  let turn = 0
  return new ReadableStream({
    pull: (controller) => {
      const end = at + (lengths[turn++ % lengths.length] ?? 1)
      if (at < bytes.length) controller.enqueue(bytes.slice(at, end))
      at = end
      if (at >= bytes.length) controller.close()
    },
  })
}

describe("server-sent events", () => {
  test("come out as they went in, however they are cut", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record(
            {
              event: fc.constantFrom("create", "delete"),
              id: fc.stringMatching(/^\w{1,8}$/),
              data: fc.json(),
            },
            { noNullPrototype: true },
          ),
        ),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 }),
        fc.constantFrom("\n", "\r\n"),
        async (events, lengths, end) => {
          const lines = events.flatMap(({ event, id, data }) => [
            ":",
            "",
            `event: ${event}`,
            `id: ${id}`,
            `data: ${data}`,
            "",
          ])
          const bytes = new TextEncoder().encode(lines.map((line) => line + end).join(""))
          const read = await Array.fromAsync(readServerEvents(pieces(bytes, lengths)))
          deepEqual(read, events)
        },
      ),
    ))
})

/** A client whose requests are answered one after the other, and what it asked. */
const played = (...answers: ReadonlyArray<Response | Error>) => {
  const asked: Array<{ readonly url: string; readonly init: RequestInit }> = []
  const client = createClient<Chart, "depth">({
    url: "https://api.example.com/api/charts/",
    token: async () => `token${asked.length}`,
    reconnectMs: 1,
    fetch: async (url, init) => {
      const answer = answers[asked.length]
      asked.push({ url, init })
      if (answer === undefined || answer instanceof Error) throw answer ?? new Error("nothing was to be asked any more")
      return answer
    },
  })
  return { client, asked }
}

const json = (data: unknown, init: ResponseInit = {}) => Response.json({ response: "OK", data }, init)

describe("a client", () => {
  test("walks a list by its cursors, at its own address, with a token for each request", async () => {
    const link = (cursor: string) => ({
      headers: { link: `<https://elsewhere.example/x?after=${cursor}>; rel="next"` },
    })
    const { client, asked } = played(json([{ id: 1 }, { id: 2 }], link("a")), json([], link("b")), json([{ id: 3 }]))
    const records = await Array.fromAsync(client.all({ where: { depth: { gt: 1 } }, limit: 2, select: ["id"] }))
    deepEqual(records, [{ id: 1 }, { id: 2 }, { id: 3 }])
    const base = "https://api.example.com/api/charts?depth=gt.1&select=id&limit=2&after="
    deepEqual(
      asked.map(({ url }) => url),
      [base, `${base}a`, `${base}b`],
    )
    deepEqual(
      asked.map(({ init }) => new Headers(init.headers).get("authorization")),
      ["Bearer token0", "Bearer token1", "Bearer token2"],
    )
  })

  test("never follows a redirect, which would hand its token on", async () => {
    const { client, asked } = played(json({ id: 1 }))
    await client.get(1)
    equal(asked[0]?.init.redirect, "error")
  })

  test("sends what a change needs", async () => {
    const { client, asked } = played(...Array.from({ length: 5 }, () => json({ id: 7 })))
    await client.create({ name: "a", sold: true }, { idempotencyKey: "k" })
    await client.createAll([{ name: "a", depth: 1, sold: true }])
    await client.replace(7, { name: "a", sold: true }, { ifMatch: '"t"' })
    await client.patch(7, { depth: null })
    await client.remove(7, { ifMatch: '"t"' })
    deepEqual(
      asked.map(({ url, init: { method, body, headers } }) => {
        const { authorization: _token, ...rest } = Object.fromEntries(new Headers(headers))
        return [method, url.slice("https://api.example.com/api".length), body, rest]
      }),
      [
        ["POST", "/charts", '{"name":"a","sold":true}', { "content-type": "application/json", "idempotency-key": "k" }],
        ["POST", "/charts", '[{"name":"a","depth":1,"sold":true}]', { "content-type": "application/json" }],
        ["PUT", "/charts/7", '{"name":"a","sold":true}', { "content-type": "application/json", "if-match": '"t"' }],
        ["PATCH", "/charts/7", '{"depth":null}', { "content-type": "application/merge-patch+json" }],
        ["DELETE", "/charts/7", undefined, { "if-match": '"t"' }],
      ],
    )
  })

  for (const [what, answer, expected] of [
    [
      "a problem",
      Response.json(
        { detail: "broken", code: "INVALID_RECORD", errors: [{ pointer: "/name", message: "is required" }] },
        { status: 422, headers: { "content-type": "application/problem+json", "x-request-id": "r1" } },
      ),
      {
        message: "broken",
        status: 422,
        code: "INVALID_RECORD",
        errors: [{ pointer: "/name", message: "is required" }],
        requestId: "r1",
        retryAfterS: undefined,
      },
    ],
    [
      "what a gateway says",
      new Response("<html>", { status: 503, headers: { "content-type": "text/html", "retry-after": "7" } }),
      {
        message: "The service answered 503",
        status: 503,
        code: "UNKNOWN",
        errors: [],
        requestId: undefined,
        retryAfterS: 7,
      },
    ],
    [
      "a problem that was cut off",
      new Response('{"detail":', { status: 500, headers: { "content-type": "application/problem+json" } }),
      {
        message: "The service answered 500",
        status: 500,
        code: "UNKNOWN",
        errors: [],
        requestId: undefined,
        retryAfterS: undefined,
      },
    ],
  ] as const)
    test(`throws ${what} as an ApiError`, () =>
      rejects(played(answer).client.get(1), (failure) => {
        equal(failure instanceof ApiError, true)
        const { message, status, code, errors, requestId, retryAfterS } = failure as ApiError
        deepEqual({ message, status, code, errors, requestId, retryAfterS }, expected)
        return true
      }))

  test("goes on with a feed where it was when the connection breaks, and ends it with what is no passing trouble", async () => {
    const feed = (text: string) => new Response(text, { headers: { "content-type": "text/event-stream" } })
    const gone = Response.json(
      { code: "POSITION_GONE" },
      { status: 410, headers: { "content-type": "application/problem+json" } },
    )
    const { client, asked } = played(
      feed('retry: 2000\nid: l.1\n\nevent: create\nid: l.2\ndata: {"id":1}\n\nevent: del'),
      new TypeError("the network is away"),
      feed('retry: 2000\nid: l.2\n\nevent: delete\nid: l.3\ndata: {"id":1}\n\n'),
      gone,
    )
    const told: Array<unknown> = []
    await rejects(
      async () => {
        for await (const change of client.changes({ after: "l.1" })) told.push(change)
      },
      (failure) => failure instanceof ApiError && failure.code === "POSITION_GONE",
    )
    deepEqual(told, [
      { kind: "start", position: "l.1" },
      { kind: "create", position: "l.2", record: { id: 1 } },
      { kind: "delete", position: "l.3", record: { id: 1 } },
    ])
    deepEqual(
      asked.map(({ init }) => new Headers(init.headers).get("last-event-id")),
      ["l.1", "l.2", "l.2", "l.3"],
    )
  })

  test("ends a feed when its signal is aborted, also while it waits to connect again", async () => {
    const aborting = new AbortController()
    const { client, asked } = played(new TypeError("away"))
    const changes = Array.fromAsync(client.changes({ signal: aborting.signal }))
    // Its only request fails at once, and the pause before the next one is a second.
    while (asked.length === 0) await new Promise(setImmediate)
    aborting.abort()
    deepEqual(await changes, [])
    equal(asked.length, 1)
  })
})
