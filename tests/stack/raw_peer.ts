// One end of a TCP connection whose bytes the test writes itself: a client of the gateway, or an upstream behind it. What
// came is read by the framing rules of RFC 9112 section 6, with no code of the product.
import { connect, createServer, type Socket } from "node:net"
import { listen } from "../../stack/loopback.ts"
import { startLocalGateway } from "./local_gateway.ts"

const PATIENCE_MS = 20_000

const closers: Array<() => unknown> = []

/** Ends every gateway, upstream and client that was started since. */
export const closeAll = async (): Promise<void> => {
  for (const close of closers.splice(0).reverse()) await close()
}

/** Waits until something holds. */
export const eventually = async (holds: () => boolean): Promise<void> => {
  const deadline = performance.now() + PATIENCE_MS
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`It never came to: ${holds}`)
    await Bun.sleep(1)
  }
}

/** A message, or as much of it as came. */
export interface Message {
  /** Request line or status line. */
  readonly start: string
  /** Status of an answer, `NaN` of a request. */
  readonly status: number
  /** The values of a header, in order; names in lower case. */
  readonly values: (name: string) => ReadonlyArray<string>
  readonly names: ReadonlyArray<string>
  /** As Latin-1. */
  readonly body: string
  /** True when nothing of it is missing. */
  readonly complete: boolean
}

type ReadBody = readonly [body: string, complete: boolean, end: number]

const readChunks = (text: string, from: number): ReadBody => {
  let body = ""
  for (let at = from; ; ) {
    const [line, size = ""] = /^([0-9a-f]{1,8})\r\n/i.exec(text.slice(at, at + 10)) ?? []
    if (line === undefined) return [body, false, text.length]
    const [start, length] = [at + line.length, Number.parseInt(size, 16)]
    at = start + length + 2
    body += text.slice(start, at - 2)
    if (text.length < at) return [body, false, text.length]
    if (text.slice(at - 2, at) !== "\r\n") throw new Error("a chunk is not as long as it says")
    if (length === 0) return [body, true, at]
  }
}

/** Cuts bytes into messages; the last may be incomplete. `heads` of them, from the first, answer HEAD and have no body. */
const readMessages = (text: string, heads: number, ended: boolean): ReadonlyArray<Message> => {
  const messages: Array<Message> = []
  for (let at = 0; at < text.length; ) {
    const headEnd = text.indexOf("\r\n\r\n", at)
    if (headEnd === -1) break
    const [start = "", ...rest] = text.slice(at, headEnd).split("\r\n")
    const lines = rest.map(
      (line) => [line.split(":", 1)[0]?.toLowerCase() ?? "", line.replace(/^[^:]*: */, "")] as const,
    )
    const values = (name: string) => lines.filter(([each]) => each === name).map(([, value]) => value)
    const status = Number(/^HTTP\/1\.[01] (\d{3}) /.exec(start)?.[1] ?? Number.NaN)
    const [codings, lengths, from] = [values("transfer-encoding"), values("content-length"), headEnd + 4]
    if (codings.length + lengths.length > 1) throw new Error("framed more than once")
    const read = (): ReadBody => {
      if (status < 200 || status === 204 || status === 304 || messages.length < heads) return ["", true, from]
      if (codings.length > 0) return readChunks(text, from)
      const end = lengths.length > 0 ? from + Number(lengths[0]) : Number.isNaN(status) ? from : text.length
      return [
        text.slice(from, end),
        lengths.length + Number(Number.isNaN(status)) > 0 ? text.length >= end : ended,
        end,
      ]
    }
    const [body, complete, end] = read()
    messages.push({ start, status, values, names: lines.map(([name]) => name), body, complete })
    at = end
  }
  return messages
}

/** One end of a connection. */
export class Peer {
  readonly socket: Socket
  /** Bytes that came. */
  bytes = 0
  /** True when the connection broke rather than ended. */
  reset = false
  closed = false
  #chunks: Array<Buffer> = []

  constructor(socket: Socket) {
    this.socket = socket.setNoDelay(true)
    socket.on("data", (chunk) => {
      this.#chunks.push(Buffer.from(chunk))
      this.bytes += chunk.length
    })
    socket.on("error", () => {
      this.reset = true
    })
    socket.on("close", () => {
      this.closed = true
    })
    closers.push(() => socket.destroy())
  }

  /** Sends pieces one after the other, text as Latin-1, so that each is read by itself. */
  async send(...pieces: ReadonlyArray<string>): Promise<void> {
    for (const piece of pieces) {
      this.socket.write(Buffer.from(piece, "latin1"))
      await new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)))
    }
  }

  /** The messages that came. */
  messages(heads = 0): ReadonlyArray<Message> {
    return readMessages(Buffer.concat(this.#chunks).toString("latin1"), heads, this.closed)
  }

  /** The message with this number, from 0, once it is complete or nothing more will come. */
  async message(at: number, heads = 0): Promise<Message> {
    let [found, seen]: [Message | undefined, number] = [undefined, -1]
    await eventually(() => {
      if (this.bytes === seen && !this.closed) return false
      seen = this.bytes
      found = this.messages(heads)[at]
      return found?.complete === true || this.closed
    })
    if (found === undefined) throw new Error(`No message ${at}; what came: ${Buffer.concat(this.#chunks)}`)
    return found
  }

  /** Resolves once the connection is closed. */
  untilClosed(): Promise<void> {
    return eventually(() => this.closed)
  }
}

/** An upstream whose bytes the test writes. */
export interface RawUpstream {
  readonly url: string
  /** Its connections, in the order they came. */
  readonly connections: ReadonlyArray<Peer>
  /** The first connection, once it is there. */
  readonly first: () => Promise<Peer>
  /** Everything it was asked, over all connections. */
  readonly requests: () => ReadonlyArray<Message>
}

/** @param script what happens on a connection, told its number from 0; over when the connection is */
export const rawUpstream = async (script: (peer: Peer, at: number) => unknown, port = 0): Promise<RawUpstream> => {
  const connections: Array<Peer> = []
  const server = createServer((socket) => {
    const peer = new Peer(socket)
    connections.push(peer)
    // A connection that ends early ends its script; what came of it is for the test to see.
    void (async () => script(peer, connections.length - 1))().catch(() => {})
  })
  await listen(server, port)
  closers.push(() => server.close())
  return {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    connections,
    first: async () => {
      await eventually(() => connections.length > 0)
      return connections[0] as Peer
    },
    requests: () => connections.flatMap((peer) => peer.messages()),
  }
}

/** Answers the requests of a connection in turn, each with the pieces for it; the last pieces are for all that follow. */
export const answering =
  (...answers: ReadonlyArray<ReadonlyArray<string> | string>) =>
  async (peer: Peer): Promise<void> => {
    for (let at = 0; ; at++) {
      await peer.message(at)
      const pieces = answers[Math.min(at, answers.length - 1)] ?? []
      await peer.send(...(typeof pieces === "string" ? [pieces] : pieces))
    }
  }

/** The gateway before an upstream that follows a script, or that already listens at an address. */
export const gatewayBefore = async (behind: string | ((peer: Peer, at: number) => unknown), answerMs?: number) => {
  const upstream = await (typeof behind === "string" ? { url: behind } : rawUpstream(behind))
  const gateway = await startLocalGateway({
    upstream: upstream.url,
    ...(answerMs === undefined ? {} : { answerMs }),
  })
  closers.push(gateway.stop)
  const client = (): Promise<Peer> =>
    new Promise((resolve, reject) => {
      const socket = connect({ host: "127.0.0.1", port: Number(new URL(gateway.url).port) })
      const peer = new Peer(socket)
      socket.once("connect", () => resolve(peer))
      socket.once("error", reject)
    })
  return {
    upstream: upstream as RawUpstream,
    server: gateway.server,
    client,
    /** Sends a request on a connection of its own. */
    ask: async (...pieces: ReadonlyArray<string>): Promise<Message> => {
      const peer = await client()
      await peer.send(...pieces)
      return peer.message(0)
    },
  }
}

/** A request to the public route. */
export const request = (method: string, ...lines: ReadonlyArray<string>): string =>
  [`${method} /open/allowed HTTP/1.1`, "Host: h", ...lines, "", ""].join("\r\n")

export const GET = request("GET")
export const CHUNKED = "Transfer-Encoding: chunked"

/** A chunk of a body. */
export const chunk = (data: string): string => `${data.length.toString(16)}\r\n${data}\r\n`

/** An answer with a length. */
export const ok = (body: string, ...lines: ReadonlyArray<string>): string =>
  ["HTTP/1.1 200 OK", `Content-Length: ${body.length}`, ...lines, "", body].join("\r\n")
