// One end of a TCP connection whose bytes the test writes itself: a client of the gateway, or an upstream behind it.
import { connect, createServer, type Socket } from "node:net"
import { ALLOWED_PATHS, routesOf } from "../../domain/gateway/route_profile.ts"
import { listen } from "../../stack/loopback.ts"
import { type Message, readMessages } from "./http_messages.ts"
import { startLocalGateway } from "./local_gateway.ts"

const PATIENCE_MS = 4_000
const PIECE = 64 * 1024

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

/** Lets everybody read what was sent, so that the next piece is read by itself. */
const turn = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)))

/** One end of a connection. */
export class Peer {
  readonly socket: Socket
  #chunks: Array<Buffer> = []
  #bytes = 0
  #closed = false
  #reset = false
  #toStream = 0
  #streamed = 0

  constructor(socket: Socket) {
    this.socket = socket
    socket.setNoDelay(true)
    socket.on("data", (chunk) => {
      this.#chunks.push(Buffer.from(chunk))
      this.#bytes += chunk.length
    })
    socket.on("error", () => {
      this.#reset = true
    })
    socket.on("close", () => {
      this.#closed = true
    })
    closers.push(() => socket.destroy())
  }

  /** Everything that came. */
  get received(): Buffer {
    if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks)]
    return this.#chunks[0] ?? Buffer.alloc(0)
  }

  /** How many bytes came. */
  get bytes(): number {
    return this.#bytes
  }

  get closed(): boolean {
    return this.#closed
  }

  /** True when the connection broke rather than ended. */
  get reset(): boolean {
    return this.#reset
  }

  /** Bytes of {@link stream} that were taken so far; the system keeps some of them. */
  get streamed(): number {
    return this.#streamed
  }

  /** Sends pieces one after the other, text as Latin-1. */
  async send(...pieces: ReadonlyArray<string | Uint8Array>): Promise<void> {
    for (const [at, piece] of pieces.entries()) {
      if (at > 0) await turn()
      this.socket.write(typeof piece === "string" ? Buffer.from(piece, "latin1") : piece)
    }
    await turn()
  }

  /** Sends bytes as fast as they are taken; {@link streamed} tells how far it is. */
  async stream(bytes: Uint8Array): Promise<void> {
    this.#toStream += bytes.length
    for (let at = 0; at < bytes.length && !this.#closed; at += PIECE) {
      const piece = bytes.subarray(at, at + PIECE)
      // One at a time: of what waits in a socket, nothing tells how much is gone.
      await new Promise<void>((taken) => {
        this.socket.once("close", taken)
        this.socket.write(piece, () => {
          this.socket.off("close", taken)
          taken()
        })
      })
      this.#streamed += piece.length
    }
  }

  /** The messages that came, the last perhaps incomplete; of answers, so many from the first are to HEAD. */
  messages(heads = 0): ReadonlyArray<Message> {
    return readMessages(this.received, heads, this.#closed)
  }

  /** The message with this number, from 0, once it is complete or nothing more will come. */
  async message(at: number, heads = 0): Promise<Message> {
    let found: Message | undefined
    let seen = -1
    await eventually(() => {
      if (this.#bytes === seen && !this.#closed) return false
      seen = this.#bytes
      found = this.messages(heads)[at]
      return found?.complete === true || this.#closed
    })
    if (found === undefined) throw new Error(`No message ${at}; what came: ${this.received.toString("latin1")}`)
    return found
  }

  /** The first answer that is not an interim one. */
  async answer(heads = 0): Promise<Message> {
    for (let at = 0; ; at++) {
      const message = await this.message(at, heads)
      if (!(message.status < 200)) return message
    }
  }

  /** Resolves once the other side has closed the connection. */
  untilClosed(): Promise<void> {
    return eventually(() => this.#closed)
  }

  /** Resolves once nothing more of {@link stream} is taken, or everything was. */
  async untilStalled(): Promise<void> {
    let [before, quiet] = [-1, 0]
    while (quiet < 5 && this.#streamed < this.#toStream) {
      quiet = this.#streamed === before ? quiet + 1 : 0
      before = this.#streamed
      await Bun.sleep(10)
    }
  }
}

/** An upstream whose bytes the test writes. */
export interface RawUpstream {
  readonly url: string
  /** Its connections, in the order they came. */
  readonly connections: ReadonlyArray<Peer>
  /** The connection with this number, from 0, once it is there. */
  readonly connection: (at: number) => Promise<Peer>
  /** Everything it was asked, over all connections. */
  readonly requests: () => ReadonlyArray<Message>
}

/**
 * @param script what happens on a connection, told its number from 0; over when the connection is
 * @param port 0 takes any free one
 */
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
    connection: async (at) => {
      await eventually(() => connections.length > at)
      return connections[at] as Peer
    },
    requests: () => connections.flatMap((peer) => peer.messages()),
  }
}

/** Answers the requests of a connection in turn, each with the pieces for it; the last pieces are for all that follow. */
export const answering =
  (...answers: ReadonlyArray<ReadonlyArray<string | Uint8Array> | string>) =>
  async (peer: Peer): Promise<void> => {
    for (let at = 0; ; at++) {
      await peer.message(at)
      const pieces = answers[Math.min(at, answers.length - 1)] ?? []
      await peer.send(...(typeof pieces === "string" ? [pieces] : pieces))
    }
  }

/** The gateway before an upstream. */
export const gatewayBefore = async (upstream: Pick<RawUpstream, "url"> | undefined) => {
  const issuer = "http://idp.example/realms/demo"
  const gateway = await startLocalGateway({
    settings: {
      routes: routesOf("3.9", "standard"),
      allowedPaths: ALLOWED_PATHS,
      realm: "demo",
      issuer,
      clientId: "web",
      accessAudience: "account",
      jwtRoles: [],
      authorizationUrl: `${issuer}/auth`,
      endSessionUrl: `${issuer}/logout`,
    },
    realmUrl: "http://127.0.0.1:1",
    ...(upstream === undefined ? {} : { upstream: upstream.url }),
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
    client,
    hits: gateway.hits,
    /** Sends a request on a connection of its own. */
    ask: async (...pieces: ReadonlyArray<string | Uint8Array>): Promise<Message> => {
      const peer = await client()
      await peer.send(...pieces)
      return peer.answer()
    },
  }
}

/** A request to the public route. */
export const request = (method: string, ...lines: ReadonlyArray<string>): string =>
  [`${method} /open/allowed HTTP/1.1`, "Host: h", ...lines, "", ""].join("\r\n")

export const GET = request("GET")

/** An answer with a length. */
export const ok = (body: string, ...lines: ReadonlyArray<string>): string =>
  ["HTTP/1.1 200 OK", `Content-Length: ${body.length}`, ...lines, "", body].join("\r\n")
