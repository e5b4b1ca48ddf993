// A scheduler's agent on a real socket: the agent in memory behind Node's HTTP server, which shows the raw request.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { createServer as createTlsServer, type ServerOptions } from "node:https"
import type { AddressInfo, Socket } from "node:net"
import { Effect, Fiber, Stream } from "effect"
import { makeScriptedAgent, type ScriptedAgent, type ScriptedAgentOptions } from "./scripted_agent.ts"

/** A request as the agent saw it. */
interface SeenRequest {
  readonly method: string
  /** Request target, raw. */
  readonly target: string
  readonly headers: IncomingMessage["headers"]
  readonly body: string
  /** When its body was complete, milliseconds of the monotonic clock. */
  readonly atMs: number
}

/** Answers a request in the agent's place; false leaves it to the agent. */
export type Answer = (response: ServerResponse, request: SeenRequest) => boolean | Promise<boolean>

export interface FakeAgent {
  readonly url: string
  readonly port: number
  readonly agent: ScriptedAgent
  readonly requests: ReadonlyArray<SeenRequest>
  /** Largest number of requests that were in flight together. */
  readonly mostInFlight: () => number
  /** Answers for the next requests, one each, before the agent itself is asked again. */
  readonly script: (...answers: ReadonlyArray<Answer>) => void
  /** Answers every request from now on. */
  readonly always: (answer: Answer | undefined) => void
  /** Once its clients are gone: when all they sent has arrived and has been done. */
  readonly abandoned: () => Promise<void>
  readonly stop: () => Promise<void>
}

export interface FakeAgentOptions extends ScriptedAgentOptions {
  readonly tls?: ServerOptions
  readonly unixSocket?: string
  /** Milliseconds every request takes. */
  readonly delayMs?: number
}

/** A fixed answer. */
export const reply =
  (status: number, body = "", headers: Readonly<Record<string, string>> = { "content-type": "text/plain" }): Answer =>
  (response) => {
    response.writeHead(status, headers).end(body)
    return true
  }

export const replyJson = (value: unknown): Answer =>
  reply(200, JSON.stringify(value), { "content-type": "application/json" })

const asAgentRequest = (request: SeenRequest) => {
  const [path = "", query = ""] = request.target.split("?", 2)
  const token = request.headers["x-nomad-token"]
  return {
    method: request.method,
    path,
    query: new URLSearchParams(query),
    body: request.body,
    ...(typeof token === "string" ? { token } : {}),
  }
}

export const startFakeAgent = async (options: FakeAgentOptions = {}): Promise<FakeAgent> => {
  const agent = makeScriptedAgent(options)
  const requests: Array<SeenRequest> = []
  const scripted: Array<Answer> = []
  let standing: Answer | undefined
  let inFlight = 0
  let most = 0
  let answering = 0

  const streamEvents = (request: SeenRequest, response: ServerResponse): void => {
    response.writeHead(200, { "content-type": "application/json" })
    response.flushHeaders()
    const lines = agent.eventLines(asAgentRequest(request).query)
    const writing = Effect.runFork(Stream.runForEach(lines, (line) => Effect.sync(() => response.write(line))))
    response.on("close", () => Effect.runFork(Fiber.interrupt(writing)))
  }

  const answer = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Array<Uint8Array> = []
    for await (const chunk of incoming) chunks.push(chunk as Uint8Array)
    const request: SeenRequest = {
      method: incoming.method ?? "",
      target: incoming.url ?? "",
      headers: incoming.headers,
      body: Buffer.concat(chunks).toString(),
      atMs: performance.now(),
    }
    requests.push(request)
    if (options.delayMs !== undefined) await Bun.sleep(options.delayMs)
    const instead = scripted.shift() ?? standing
    if (instead !== undefined && (await instead(response, request))) return
    if (request.target.startsWith("/v1/event/stream")) return streamEvents(request, response)
    const { status, headers, body } = await Effect.runPromise(agent.handle(asAgentRequest(request)))
    response.writeHead(status, headers).end(body)
  }

  const handler = (incoming: IncomingMessage, response: ServerResponse): void => {
    inFlight += 1
    most = Math.max(most, inFlight)
    response.on("close", () => {
      inFlight -= 1
    })
    answering += 1
    answer(incoming, response)
      .catch(() => response.destroy())
      .finally(() => {
        answering -= 1
      })
  }
  const server: Server = options.tls === undefined ? createServer(handler) : createTlsServer(options.tls, handler)
  const sockets = new Set<Socket>()
  server.on("connection", (socket) => {
    sockets.add(socket)
    socket.on("close", () => sockets.delete(socket))
  })
  await new Promise<void>((ready) =>
    options.unixSocket === undefined ? server.listen(0, "127.0.0.1", ready) : server.listen(options.unixSocket, ready),
  )
  const port = options.unixSocket === undefined ? (server.address() as AddressInfo).port : 0
  const scheme = options.tls === undefined ? "http" : "https"
  return {
    url: options.unixSocket === undefined ? `${scheme}://127.0.0.1:${port}` : `unix://${options.unixSocket}`,
    port,
    agent,
    requests,
    mostInFlight: () => most,
    script: (...answers) => void scripted.push(...answers),
    always: (answer) => {
      standing = answer
    },
    abandoned: async () => {
      while (sockets.size > 0 || answering > 0) await Bun.sleep(2)
    },
    stop: () =>
      new Promise((stopped) => {
        server.close(() => stopped())
        for (const socket of sockets) socket.destroy()
      }),
  }
}
