import { Buffer } from "node:buffer"
import type { Socket } from "bun"
import { checkValue, type HeaderLine, type HeaderLines } from "../../adapters/driving/http_server/header_lines.ts"
import { IncomingBody } from "../../adapters/driving/http_server/incoming_body.ts"
import { MessageParser, type ResponseHead } from "../../adapters/driving/http_server/message_parser.ts"
import { Outbox } from "../../adapters/driving/http_server/outbox.ts"
import { type Framing, OutgoingBody } from "../../adapters/driving/http_server/outgoing_body.ts"

/** A request to the upstream. */
export interface UpstreamRequest {
  readonly method: string
  readonly target: string
  /** In lower case, without what frames the body. */
  readonly headers: ReadonlyArray<HeaderLine>
  readonly body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null
  /** Length of a body that streams, when the client said it. */
  readonly length: string | undefined
  /** Runs its argument when the client is gone. */
  readonly whenGone?: (run: () => void) => void
}

/** What the upstream answered. */
export interface UpstreamAnswer {
  readonly status: number
  readonly headers: HeaderLines
  readonly body: Uint8Array | ReadableStream<Uint8Array> | null
}

/** The upstream gave no answer, or no whole head of one. */
export class UpstreamFailed extends Error {
  override readonly name = "UpstreamFailed"
  /** True when the upstream ended the connection before a byte of the answer came. */
  readonly unanswered: boolean

  constructor(reason: string, unanswered = false) {
    super(reason)
    this.unanswered = unanswered
  }
}

const NOTHING = Buffer.alloc(0)

const HAS_BODY = /^(POST|PUT|PATCH)$/

const framingOf = ({ length }: UpstreamRequest): Framing =>
  length === undefined ? "chunked" : { length: Number(length) }

const framingLine = ({ method, body, length }: UpstreamRequest): string => {
  if (body === null) return HAS_BODY.test(method) ? "content-length: 0\r\n" : ""
  if (!(body instanceof ReadableStream)) return `content-length: ${body.length}\r\n`
  return length === undefined ? "transfer-encoding: chunked\r\n" : `content-length: ${length}\r\n`
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for what is not ASCII
const ASCII = /^[\x00-\x7f]*$/

/** One connection to the upstream; it carries one exchange at a time. */
export class UpstreamConnection {
  readonly #socket: Socket<UpstreamConnection>
  readonly #outbox: Outbox
  readonly #parser: MessageParser
  readonly #onIdle: (connection: UpstreamConnection) => void
  #method = ""
  #head: ResponseHead | undefined
  #early: Array<Uint8Array> = []
  #body: IncomingBody | undefined
  #answer: { readonly resolve: (answer: UpstreamAnswer) => void; readonly reject: (failure: Error) => void } | undefined
  /** The request's body, while it is being sent. */
  #outgoing: OutgoingBody | undefined
  #held = false
  #heard = false
  #open = true
  /** Why we ended it. */
  #reason: string | undefined

  private constructor(socket: Socket<UpstreamConnection>, onIdle: (connection: UpstreamConnection) => void) {
    this.#socket = socket
    this.#onIdle = onIdle
    this.#outbox = new Outbox({ write: (piece) => socket.write(piece), end: () => socket.end() })
    this.#parser = new MessageParser({
      response: (head) => {
        // Nobody asked for another protocol, and below 100 there is nothing.
        if (head.status < 100 || head.status === 101) return "refused"
        // An interim answer (RFC 9110 section 15.2) announces the one that counts.
        if (head.status >= 200) this.#head = head
        return this.#method === "HEAD" ? "no body" : "body"
      },
      body: (bytes) => {
        if (this.#body === undefined) this.#early.push(bytes)
        else this.#body.push(bytes)
      },
    })
  }

  /** @throws {UpstreamFailed} when nobody listens there */
  static async open(
    origin: { readonly hostname: string; readonly port: number },
    onIdle: (connection: UpstreamConnection) => void,
  ): Promise<UpstreamConnection> {
    try {
      const socket = await Bun.connect<UpstreamConnection>({
        ...origin,
        socket: {
          open: (opened) => {
            opened.data = new UpstreamConnection(opened, onIdle)
          },
          data: ({ data }, bytes) => data.#received(bytes),
          drain: ({ data }) => data.#outbox.unblock(),
          close: ({ data }) => data.#closed(),
          // What goes wrong ends in `close`.
          error: () => {},
        },
      })
      return socket.data
    } catch {
      throw new UpstreamFailed("nobody listens")
    }
  }

  get isOpen(): boolean {
    return this.#open
  }

  /**
   * Sends a request; resolves when the head of its answer has come.
   *
   * @param progress told whenever a part of the body was sent
   * @throws {UpstreamFailed} when the connection ends before
   * @throws when a header value would break its line
   */
  exchange(request: UpstreamRequest, progress: () => void): Promise<UpstreamAnswer> {
    const { method, target, headers, body } = request
    this.#method = method
    this.#heard = false
    let head = `${method} ${target} HTTP/1.1\r\n`
    for (const [name, value] of headers) {
      checkValue(name, value)
      head += `${name}: ${value}\r\n`
    }
    head += `${framingLine(request)}\r\n`
    return new Promise((resolve, reject) => {
      if (!this.#open) throw new UpstreamFailed("the connection is closed")
      this.#answer = { resolve, reject }
      this.#outbox.cork()
      this.#outbox.send(ASCII.test(head) ? head : Buffer.from(head, "latin1"))
      if (body instanceof ReadableStream)
        void this.#stream(new OutgoingBody(body, framingOf(request), this.#outbox), progress)
      else if (body !== null) this.#outbox.send(body)
      this.#outbox.uncork()
    })
  }

  /** Gives the exchange up. */
  abandon(reason: string): void {
    this.#reason = reason
    this.#socket.terminate()
  }

  async #stream(outgoing: OutgoingBody, progress: () => void): Promise<void> {
    this.#outgoing = outgoing
    try {
      await outgoing.send(progress)
      this.#outgoing = undefined
    } catch {
      // The client broke off: the upstream must not take what it has for the whole.
      this.abandon("the request body broke off")
    }
  }

  #received(bytes: Buffer): void {
    this.#heard = true
    let rest = bytes
    while (rest.length > 0 && this.#open) {
      const asked = this.#answer !== undefined || this.#body !== undefined
      const parsed = asked ? this.#parser.parse(rest) : undefined
      // Bytes nobody asked for, or no HTTP: such a connection says nothing that can be trusted.
      if (parsed === undefined || parsed.kind === "refused") {
        this.abandon("the answer is malformed")
        return
      }
      const complete = parsed.kind === "complete"
      rest = complete ? parsed.rest : NOTHING
      if (this.#head !== undefined && this.#answer !== undefined) this.#deliver(this.#head, complete)
      else if (complete) this.#body?.complete()
      if (complete && this.#head !== undefined) this.#finished(this.#head)
    }
  }

  #deliver({ status, headers }: ResponseHead, complete: boolean): void {
    const early = this.#early
    this.#early = []
    let body: UpstreamAnswer["body"] = null
    if (complete) body = early.length === 0 ? null : early.length === 1 ? (early[0] ?? null) : Buffer.concat(early)
    else {
      this.#body = new IncomingBody({
        hold: () => {
          this.#held = true
          this.#socket.pause()
        },
        want: () => this.#release(),
        dropped: () => this.abandon("the client is gone"),
      })
      for (const bytes of early) this.#body.push(bytes)
      body = this.#body.stream
    }
    this.#answer?.resolve({ status, headers, body })
    this.#answer = undefined
  }

  #finished({ keepAlive }: ResponseHead): void {
    this.#head = undefined
    this.#body = undefined
    // A request whose body is still being sent was answered early: what follows could be read as the next one.
    if (keepAlive && this.#outgoing === undefined) {
      this.#release()
      this.#onIdle(this)
    } else this.abandon("no further exchange")
  }

  #release(): void {
    if (this.#held) this.#socket.resume()
    this.#held = false
  }

  #closed(): void {
    this.#open = false
    if (this.#head !== undefined && this.#parser.finish()) this.#body?.complete()
    this.#body?.break()
    this.#answer?.reject(
      new UpstreamFailed(this.#reason ?? "the connection ended", !this.#heard && this.#reason === undefined),
    )
    this.#answer = undefined
    this.#outgoing?.cancel()
    this.#outbox.wake()
    this.#parser.free()
  }
}
