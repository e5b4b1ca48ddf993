// The HTTP adapter against a server that says anything: request targets byte for byte, answers, faults, and no secret
// in whatever comes out, also when the server repeats them.
import { describe, expect, test } from "bun:test"
import { createServer, type Socket } from "node:net"
import { Cause, Effect, Exit, Fiber, Redacted, type Scope } from "effect"
import type { GraphConnection } from "../../adapters/driven/media_graph/graph_exchange.ts"
import { createContainer } from "../../application/media/containers.ts"
import * as pacing from "../../application/media/graph_pacing.ts"
import type { Container } from "../../domain/media/container.ts"
import { GraphFailure } from "../../domain/media/graph_failure.ts"
import { MediaGraphPort } from "../../domain/media/media_graph_port.ts"
import { type Answer, type LocalServer, localServer, type Seen } from "../support/local_server.ts"
import { ACCOUNT } from "../support/media_world.ts"
import { APP_SECRET, leakIn, SIGNED_URL, TATTLE, TOKEN } from "../support/secrets.ts"
import { graphAt, watched } from "../support/watched_graph.ts"

type Graph = MediaGraphPort["Service"]

const ID = "17889455560051444"
const OK: Answer = { body: `{"id":"${ID}"}` }
const image: Container = { kind: "image", imageUrl: "https://cdn.example.com/a.jpg" }
const signed: Container = { kind: "image", imageUrl: SIGNED_URL }
const TARGET = "image_url=https%3A%2F%2Fcdn.example.com%2Fa.jpg"
const TOKEN_SENT = "access_token=TKN-s3cr3t%7Cx%20y%2Bz%26w"

const talk = async <A, E>(
  answer: (request: Seen) => Answer | "drop" | undefined,
  ask: (graph: Graph, server: LocalServer) => Effect.Effect<A, E, Scope.Scope>,
  options: Partial<GraphConnection> & { readonly path?: string } = {},
) => {
  let server: LocalServer | undefined
  const { path = "", ...rest } = options
  const { exit, log } = await watched(
    Effect.gen(function* () {
      server = yield* localServer(answer)
      return yield* ask(yield* graphAt(`${server.url}${path}`, rest), server)
    }),
  )
  const failure = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
  expect(leakIn(failure)).toBeUndefined()
  return { value: Exit.isSuccess(exit) ? exit.value : undefined, failure, seen: server?.seen ?? [], log }
}

const create = (container: Container) => (graph: Graph) =>
  Effect.map(graph.createContainer({ accountId: ACCOUNT, container }), ({ value }) => value)

describe("requests of the HTTP graph", () => {
  test("13 a token is encoded once, the body is empty, JSON is asked for", async () => {
    const { value, seen } = await talk(() => OK, create(image))
    expect(value).toBe(ID)
    expect(seen).toHaveLength(1)
    expect(seen[0]).toMatchObject({ method: "POST", path: `/v25.0/${ACCOUNT}/media?${TARGET}&${TOKEN_SENT}`, body: "" })
    expect(seen[0]?.headers).toMatchObject({ accept: "application/json", "content-length": "0" })
    expect(seen[0]?.headers["content-type"]).toBeUndefined()
    const query = new URLSearchParams(seen[0]?.path.split("?")[1])
    expect(query.get("access_token")).toBe(TOKEN)
  })

  test("14 a path prefix stays, slashes stay single", async () => {
    const { seen } = await talk(() => OK, create(image), { path: "/proxy/graph//" })
    expect(seen[0]?.path.split("?")[0]).toBe(`/proxy/graph/v25.0/${ACCOUNT}/media`)
  })

  test("15 the app token: no version, the specification's order, and it does not show itself", async () => {
    const app = { appId: "123", appSecret: Redacted.make(APP_SECRET) }
    const body = '{"access_token":"123|abcS3cr3t","token_type":"bearer"}'
    const { value, seen } = await talk(
      () => ({ body }),
      (graph) => graph.requestAppToken(app),
    )
    expect(seen[0]).toMatchObject({
      method: "GET",
      path: "/oauth/access_token?client_id=123&client_secret=s%26c%2Fr%3Dt%2BAPPS3CR3T&grant_type=client_credentials",
    })
    expect(value === undefined ? undefined : Redacted.value(value.value)).toBe("123|abcS3cr3t")
    expect(leakIn(value)).toBeUndefined()
    const wrong = ["{}", '{"access_token":""}', '{"access_token":7}', '{"token":"123|abcS3cr3t"}', "123|abcS3cr3t"]
    for (const answer of wrong) {
      const { failure } = await talk(
        () => ({ body: answer }),
        (graph) => graph.requestAppToken(app),
      )
      expect(failure).toMatchObject({ _tag: "GraphFailure", kind: "Protocol" })
    }
  })

  test("18 the token in a header leaves the target", async () => {
    const placement = { parameters: "query", token: "header" } as const
    const { seen } = await talk(() => OK, create(image), { placement })
    expect(seen[0]?.path).toBe(`/v25.0/${ACCOUNT}/media?${TARGET}`)
    expect(seen[0]?.headers.authorization).toBe(`Bearer ${TOKEN}`)
  })

  test("44 a long caption as a form: nothing of it in the target", async () => {
    const long: Container = { ...image, caption: "界".repeat(2200) }
    const { failure, seen } = await talk(() => OK, create(long))
    expect(failure).toMatchObject({ _tag: "RequestTargetTooLong", bytesMax: 15_000 })
    expect(seen).toHaveLength(0)
    const placement = { parameters: "form", token: "query" } as const
    const form = await talk(() => OK, create(long), { placement })
    expect(form.seen[0]?.path).toBe(`/v25.0/${ACCOUNT}/media`)
    expect(form.seen[0]?.headers["content-type"]).toBe("application/x-www-form-urlencoded")
    expect(new URLSearchParams(form.seen[0]?.body).get("caption")).toBe("界".repeat(2200))
  })

  test("reads, publishes and asks for the limit at the documented places", async () => {
    const { seen } = await talk(
      () => OK,
      (graph) =>
        Effect.all([
          Effect.exit(graph.readContainer("1")),
          Effect.exit(graph.publishContainer({ accountId: "2", containerId: "3" })),
          Effect.exit(graph.readPublishingLimit("4")),
        ]),
    )
    expect(seen.map(({ method, path }) => `${method} ${path}`)).toEqual([
      `GET /v25.0/1?fields=status_code%2Cstatus&${TOKEN_SENT}`,
      `POST /v25.0/2/media_publish?creation_id=3&${TOKEN_SENT}`,
      `GET /v25.0/4/content_publishing_limit?fields=quota_usage%2Cconfig&${TOKEN_SENT}`,
    ])
  })

  test("asks for the token for every call, and sends nothing without one", async () => {
    const tokens = ["first", "second"]
    const accessToken = Effect.sync(() => Redacted.make(tokens.shift() ?? ""))
    const { seen } = await talk(
      () => OK,
      (graph) => Effect.andThen(create(image)(graph), create(image)(graph)),
      { accessToken },
    )
    expect(seen.map(({ path }) => /access_token=(\w+)/.exec(path)?.[1])).toEqual(["first", "second"])
    const none = await watched(
      Effect.flatMap(graphAt("http://127.0.0.1:1", { accessToken: Effect.fail(`refused for ${TOKEN}`) }), (graph) =>
        Effect.andThen(Effect.logInfo("start"), create(image)(graph)),
      ),
    )
    expect(Exit.isFailure(none.exit) && Cause.squash(none.exit.cause)).toMatchObject({
      kind: "TokenInvalid",
      applied: "no",
    })
  })

  test("90 no span of a use case carries a secret", async () => {
    const { log, seen } = await talk(
      () => ({ status: 400, body: JSON.stringify({ error: { message: TATTLE, code: 190 } }) }),
      (graph) =>
        createContainer(ACCOUNT, signed).pipe(
          Effect.provideService(MediaGraphPort, graph),
          Effect.provide(pacing.layer),
        ),
    )
    expect(seen).toHaveLength(1)
    expect(log).toContainEqual(expect.objectContaining({ name: "createContainer" }))
  })

  test("93 the debug log names parameters, status and codes, and no value", async () => {
    const error = { message: TATTLE, code: 190, error_subcode: 463, fbtrace_id: "AbC-1_x" }
    const { log } = await talk(() => ({ status: 400, body: JSON.stringify({ error }) }), create(signed))
    expect(log).toContainEqual([`POST /v25.0/${ACCOUNT}/media`])
    expect(log).toContainEqual(
      expect.objectContaining({
        parameters: "image_url,access_token",
        status: 400,
        kind: "TokenInvalid",
        graphCode: 190,
        subcode: 463,
        traceId: "AbC-1_x",
      }),
    )
  })
})

describe("answers to the HTTP graph", () => {
  const GOOD: ReadonlyArray<readonly [name: string, answer: Answer]> = [
    ["45 with more fields", { body: `{"id":"${ID}","uri":"https://rupload.example/x"}` }],
    ["46 with the id as a number", { body: `{"id":${ID}}` }],
    ["49 as text/javascript", { ...OK, headers: { "content-type": "text/javascript; charset=UTF-8" } }],
  ]
  for (const [name, answer] of GOOD)
    test(`${name}: the id with all its digits`, async () => {
      expect((await talk(() => answer, create(image))).value).toBe(ID)
    })

  const error = (status: number, envelope: unknown): Answer => ({ status, body: JSON.stringify({ error: envelope }) })
  const refusal = (status: number, code: number, error_subcode?: number, message = "m") =>
    error(status, { message, error_user_msg: message, code, error_subcode })
  const debugInfo = (info: object): Answer => ({ status: 400, body: JSON.stringify({ debug_info: info }) })
  const tooMany = (after: string): Answer => ({ status: 429, headers: { "retry-after": after } })
  const UNREADABLE = ["{}", '{"id":""}', '{"id":{}}', '{"id":1.5}', '{"id":-1}', '{"id":"../x"}', "[]", "null", ""]
  const BAD: ReadonlyArray<readonly [name: string, answer: Answer, expected: object]> = [
    ...[...UNREADABLE, `"${ID}"`, `{"id":"178`].map(
      (body) => [`47 200 ${body}`, { body }, { kind: "Protocol", applied: "unknown", status: 200 }] as const,
    ),
    ["48 200 with an error", refusal(200, 100), { kind: "InvalidInput", graphCode: 100 }],
    ["51 an expired token", refusal(400, 190, 463, TATTLE), { kind: "TokenInvalid" }],
    ["54 an address repeated", refusal(400, 9004, 2207052, TATTLE), { kind: "MediaFetch" }],
    ["56 an error without a code", error(400, { message: "m" }), { kind: "Protocol" }],
    ["56 an error that is a string", error(400, "no"), { kind: "Protocol" }],
    ["56 an error that is null", error(200, null), { kind: "Protocol" }],
    ["56 a code that is a string", error(400, { code: "190" }), { kind: "Protocol" }],
    ["57 the upload hosts' envelope", debugInfo({ retriable: false, message: "m" }), { kind: "MediaRejected" }],
    ["57 the same, retriable", debugInfo({ retriable: true }), { kind: "ServerTransient" }],
    ["58 too many calls", tooMany("2"), { kind: "Throttled", retryAfterMs: 2_000 }],
    ["58 a date in Retry-After", tooMany("Fri, 31 Dec 1999 23:59:59 GMT"), { kind: "Throttled" }],
    [
      "63 HTML that repeats the request",
      { status: 502, body: `<html>${TATTLE}</html>` },
      { kind: "ServerTransient", applied: "unknown", status: 502 },
    ],
    ["69 a redirect", { status: 302, headers: { location: "/elsewhere" } }, { kind: "Protocol", applied: "unknown" }],
    ["70 a body without end", { body: "x".repeat(3_000_000) }, { kind: "Protocol", applied: "unknown" }],
    [
      "71 broken usage headers",
      { status: 400, headers: { "x-app-usage": "{", "x-business-use-case-usage": "[1" } },
      { kind: "Protocol", usage: {} },
    ],
  ]
  for (const [name, answer, expected] of BAD)
    test(`${name}: one call, a typed failure, no secret`, async () => {
      const { failure, seen } = await talk(() => answer, create(signed))
      expect(failure).toBeInstanceOf(GraphFailure)
      expect(failure).toMatchObject(expected)
      expect((failure as GraphFailure).cause).toBeUndefined()
      expect((failure as GraphFailure).text?.length ?? 0).toBeLessThanOrEqual(200)
      expect(seen).toHaveLength(1)
    })

  test("69 a redirect to another host is not followed", async () => {
    const other = await watched(
      Effect.gen(function* () {
        const elsewhere = yield* localServer(() => OK)
        const server = yield* localServer(() => ({ status: 307, headers: { location: `${elsewhere.url}/x` } }))
        const exit = yield* Effect.exit(create(image)(yield* graphAt(server.url)))
        return { exit, asked: elsewhere.seen.length }
      }),
    )
    expect(Exit.isSuccess(other.exit) && other.exit.value.asked).toBe(0)
  })

  const STATES: ReadonlyArray<readonly [body: string, expected: object]> = [
    ['{"status_code":"IN_PROGRESS"}', { state: "in-progress" }],
    ['{"status_code":"FINISHED","status":"Finished: ready"}', { state: "finished" }],
    [
      '{"status_code":"ERROR","status":"Error: Media upload has failed with error code 2207082"}',
      { state: "error", subcode: 2207082 },
    ],
    ['{"status_code":"EXPIRED"}', { state: "expired" }],
    ['{"status_code":"PUBLISHED"}', { state: "published" }],
    ['{"status":"Error: 2207077"}', { state: "error" }],
    ['{"status_code":"QUEUED"}', { state: "unknown" }],
    ['{"status_code":"toString"}', { state: "unknown" }],
  ]
  const told = <A, E>(body: string, ask: (graph: Graph) => Effect.Effect<{ readonly value: A }, E>) =>
    talk(() => ({ body }), ask)
  const look = (body: string) => told(body, (graph) => graph.readContainer("1"))
  const limit = (body: string) => told(body, (graph) => graph.readPublishingLimit("1"))

  for (const [body, expected] of STATES)
    test(`79 ${body}`, async () => expect((await look(body)).value?.value).toMatchObject(expected))

  test("79 a state's words lose their secrets", async () => {
    const { value } = await look(JSON.stringify({ status_code: "ERROR", status: TATTLE }))
    expect(value?.value.state).toBe("error")
    expect(leakIn(value)).toBeUndefined()
  })

  test("79 no state at all is no answer", async () =>
    expect((await look('{"id":"1"}')).failure).toMatchObject({ kind: "Protocol" }))

  for (const body of ['{"data":[]}', "{}", '{"data":[{"quota_usage":"2"}]}', '{"data":7}'])
    test(`a limit that cannot be read: ${body}`, async () =>
      expect((await limit(body)).failure).toMatchObject({ kind: "Protocol" }))

  test("a limit without a total", async () =>
    expect((await limit('{"data":[{"quota_usage":2}]}')).value?.value).toEqual({ used: 2 }))
})

/** A server below HTTP, which does with a connection what it wants. */
const rawServer = (onConnection: (socket: Socket) => void) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer((socket) => {
        // A connection the other side resets is what these tests provoke.
        socket.on("error", () => {})
        onConnection(socket)
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      const address = server.address()
      return { server, url: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}` }
    }),
    ({ server }) => Effect.sync(() => server.close()),
  )

/** Writes these bytes to whoever asks, and then says nothing more, ends the connection, or resets it. */
const saying =
  (bytes: string, then: "stall" | "end" | "reset") =>
  (socket: Socket): void => {
    socket.once("data", () => {
      if (then === "reset") socket.resetAndDestroy()
      else socket.write(bytes, () => then === "end" && socket.end())
    })
  }

describe("faults below HTTP", () => {
  const HEAD = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 40\r\n\r\n"
  const FAULTS: ReadonlyArray<
    readonly [name: string, bytes: string, then: "stall" | "end" | "reset", expected: object]
  > = [
    ["64 no answer", "", "stall", { kind: "Network", applied: "unknown", text: "timeout" }],
    ["65 a stalled body", `${HEAD}{"id":`, "stall", { kind: "Network", applied: "unknown", text: "timeout" }],
    ["66 a body cut off", `${HEAD}{"id":"178"}`, "end", { kind: "Network", applied: "unknown" }],
    ["68 a connection reset", "", "reset", { kind: "Network", applied: "unknown" }],
  ]
  for (const [name, bytes, then, expected] of FAULTS)
    test(name, async () => {
      const { exit } = await watched(
        Effect.gen(function* () {
          const { url } = yield* rawServer(saying(bytes, then))
          return yield* create(signed)(yield* graphAt(url, { timeoutMs: 150 }))
        }),
      )
      const failure = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
      expect(failure).toMatchObject(expected)
      expect(leakIn(failure)).toBeUndefined()
    })

  test("68 nobody listens: certainly not applied", async () => {
    const { exit } = await watched(Effect.flatMap(graphAt("http://127.0.0.1:1"), create(signed)))
    const failure = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
    expect(failure).toMatchObject({ kind: "Network", applied: "no" })
    expect(leakIn(failure)).toBeUndefined()
  })

  test("72 interrupting a call closes its connection", async () => {
    const connected = Promise.withResolvers<void>()
    const closed = Promise.withResolvers<void>()
    const talking = Effect.gen(function* () {
      const { url } = yield* rawServer((socket) => {
        socket.on("close", () => closed.resolve())
        socket.resume()
        connected.resolve()
      })
      const call = yield* Effect.forkChild(Effect.flatMap(graphAt(url), create(image)))
      yield* Effect.promise(() => connected.promise)
      yield* Fiber.interrupt(call)
      yield* Effect.promise(() => closed.promise)
    })
    await Effect.runPromise(Effect.scoped(talking))
  })
})
