// A connection without a socket: the client takes and sends what a test tells it to, and time passes when a test says so.
import { Buffer } from "node:buffer"
import { setImmediate } from "node:timers/promises"
import type { Answer } from "../../../adapters/driving/http_server/answer.ts"
import type { ArrivedRequest } from "../../../adapters/driving/http_server/arrived_request.ts"
import { Connection } from "../../../adapters/driving/http_server/connection.ts"
import type { ConnectionOptions } from "../../../adapters/driving/http_server/connection_options.ts"
import type { HeaderLine } from "../../../adapters/driving/http_server/header_lines.ts"
import type { Piece, Wire } from "../../../adapters/driving/http_server/wire.ts"

const DATE = "Sat, 21 Nov 2026 10:00:00 GMT"

export const IDLE_MS = 1000
export const HEAD_MS = 300
/** Time a connection lingers for a client's last bytes. */
export const LINGER_MS = 5000

export interface Response {
  readonly status: number
  readonly body: string
  readonly close: boolean
}

/** Lets everything happen that waits for nobody. */
export const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 4; turn++) await setImmediate()
}

/** The client's end of a connection, and the connection. */
export class FakeClient implements Wire {
  readonly connection: Connection
  /** What was taken, write by write; a byte is a character. */
  readonly writes: Array<string> = []
  /** The targets that were handed over. */
  readonly asked: Array<string> = []
  readonly clock = { now: 0, date: DATE }
  /** Bytes the client takes before it is full. */
  room = Number.POSITIVE_INFINITY
  paused = false
  ended = false
  terminated = false
  /** What the client sends while nobody reads. */
  #waiting: Array<string> = []

  constructor(handle: ConnectionOptions["handle"], options: Partial<ConnectionOptions> = {}) {
    const handled = (request: ArrivedRequest) => {
      this.asked.push(request.target)
      return handle(request)
    }
    const refuse: ConnectionOptions["refuse"] = (refusal) => text(`refused: ${refusal}`, 400)
    const fail: ConnectionOptions["fail"] = (failure) => text(`failed: ${(failure as Error).message}`, 500)
    this.connection = new Connection(
      this,
      { handle: handled, refuse, fail, idleMs: IDLE_MS, headMs: HEAD_MS, ...options },
      this.clock,
    )
  }

  write(piece: Piece): number {
    if (this.terminated || this.ended) return -1
    const bytes = Buffer.from(piece as Uint8Array)
    const length = Math.min(this.room, bytes.length)
    this.room -= length
    if (length > 0) this.writes.push(bytes.toString("latin1", 0, length))
    return length
  }
  pause(): void {
    this.paused = true
  }
  resume(): void {
    this.paused = false
    // As of a socket: what waits comes later, never within this call.
    queueMicrotask(() => {
      while (!this.paused && this.#waiting.length > 0) this.send(this.#waiting.shift() ?? "")
    })
  }
  end(): void {
    this.ended = true
  }
  terminate(): void {
    if (this.terminated) return
    this.terminated = true
    this.connection.closed()
  }

  /** Sends bytes, a character each, as one piece; they wait while the connection is paused. */
  send(data: string): void {
    if (this.paused) this.#waiting.push(data)
    else if (!this.terminated) this.connection.received(Buffer.from(data, "latin1"))
  }

  /** Takes up to so many bytes more. */
  take(bytes = Number.POSITIVE_INFINITY): void {
    this.room = bytes
    this.connection.drained()
  }

  /** Milliseconds pass. */
  pass(ms: number): void {
    this.clock.now += ms
    this.connection.checkTime()
  }

  /** Everything taken. */
  get received(): string {
    return this.writes.join("")
  }

  /** The answers taken so far, of declared lengths. */
  get responses(): ReadonlyArray<Response> {
    const responses: Array<Response> = []
    let rest = this.received
    while (rest !== "") {
      const end = rest.indexOf("\r\n\r\n") + 4
      const head = rest.slice(0, end)
      const length = Number(/\r\ncontent-length: (\d+)\r\n/.exec(head)?.[1] ?? 0)
      responses.push({
        status: Number(head.split(" ")[1]),
        body: rest.slice(end, end + length),
        close: head.includes("\r\nconnection: close\r\n"),
      })
      rest = end < 4 ? "" : rest.slice(end + length)
    }
    return responses
  }

  /** Status and body of the answers, in short. */
  get answers(): ReadonlyArray<string> {
    return this.responses.map(({ status, body }) => `${status} ${body}`)
  }
}

export const text = (body: string, status = 200, headers: ReadonlyArray<HeaderLine> = []): Answer => ({
  status,
  headers,
  body,
})

/** A handler that answers with the target. */
export const echoTarget = (request: ArrivedRequest): Answer => text(request.target)

/** The body of a request as a text. */
export const readBody = async ({ body }: ArrivedRequest): Promise<string> => {
  if (!(body instanceof ReadableStream)) return Buffer.from(body ?? []).toString("latin1")
  const pieces: Array<Uint8Array> = []
  for await (const piece of body) pieces.push(piece)
  return Buffer.concat(pieces).toString("latin1")
}

/** A handler that answers with what it was sent. */
export const echoBody = async (request: ArrivedRequest): Promise<Answer> => text(await readBody(request))

/** A handler whose answers a test gives, by target. */
export const answersLater = () => {
  const waiting = new Map<string, { resolve: (answer: Answer) => void; reject: (failure: Error) => void }>()
  return {
    handle: (request: ArrivedRequest) =>
      new Promise<Answer>((resolve, reject) => waiting.set(request.target, { resolve, reject })),
    answer: async (target: string, answer: Answer = text(target)) => {
      waiting.get(target)?.resolve(answer)
      await settled()
    },
    fail: async (target: string, failure: Error) => {
      waiting.get(target)?.reject(failure)
      await settled()
    },
  }
}

/** A request as bytes, with a `Host` unless it has one. */
export const requestOf = (line: string, headers: ReadonlyArray<string> = [], body = ""): string => {
  const host = headers.some((header) => /^host:/i.test(header)) ? [] : ["Host: a"]
  return [`${line} HTTP/1.1`, ...host, ...headers, "", body].join("\r\n")
}

export const get = (target: string, ...headers: ReadonlyArray<string>): string => requestOf(`GET ${target}`, headers)

export const post = (target: string, body: string, ...headers: ReadonlyArray<string>): string =>
  requestOf(`POST ${target}`, [`Content-Length: ${body.length}`, ...headers], body)
