import { Buffer } from "node:buffer"
import { type Answer, dropBody, type Framed, frame } from "./answer.ts"
import { ArrivedRequest } from "./arrived_request.ts"
import type { Clock, ConnectionOptions, Refusal } from "./connection_options.ts"
import type { HeaderLines } from "./header_lines.ts"
import { IncomingBody, wholeBody } from "./incoming_body.ts"
import { MessageParser, type RequestHead } from "./message_parser.ts"
import { Outbox } from "./outbox.ts"
import { OutgoingBody } from "./outgoing_body.ts"
import { expectsContinue, hasValidHost } from "./request_rules.ts"
import type { Wire } from "./wire.ts"

/** Bytes of further requests kept while one is answered. */
const AHEAD_BYTES_MAX = 64 * 1024

/** Time for a client to take its last answer and close, or to finish a body that nobody reads, milliseconds. */
const LINGER_MS = 5_000

const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n"
const NOTHING = Buffer.alloc(0)

/** What an answer goes by when no head was understood. */
const NOT_UNDERSTOOD = { method: "GET", minor: 1 } as const

/**
 * One client's connection: requests are read, handled and answered one after the other, in order, however many arrive at
 * once (RFC 9112 section 9.3).
 */
export class Connection {
  readonly #wire: Wire
  readonly #options: ConnectionOptions
  readonly #clock: Clock
  readonly #parser: MessageParser
  readonly #outbox: Outbox
  #state: "open" | "ending" | "closed" = "open"
  /** No further request is taken. */
  #last = false
  #peerEnded = false
  #paused = false
  #deadline: number
  /** Bytes that arrived while nothing could be done with them. */
  #ahead: Buffer = NOTHING

  /** Headers that name a valid host. The parser gives the same again for a request that repeats them. */
  #validHeaders: HeaderLines | undefined

  // The request that is being read and answered.
  #head: RequestHead | undefined
  #headBegan: number | undefined
  #request: ArrivedRequest | undefined
  /** What came of its body before it was handed over. */
  #early: Array<Uint8Array> = []
  #body: IncomingBody | undefined
  #handedOver = false
  #complete = false
  #answered = false
  #owesContinue = false
  #outgoing: OutgoingBody | undefined

  constructor(wire: Wire, options: ConnectionOptions, clock: Clock) {
    this.#wire = wire
    this.#options = options
    this.#clock = clock
    this.#outbox = new Outbox(wire)
    this.#deadline = clock.now + options.idleMs
    this.#parser = new MessageParser({
      request: (head) => {
        this.#head = head
      },
      body: (bytes) => {
        if (this.#body === undefined) this.#early.push(bytes)
        else this.#body.push(bytes)
      },
    })
  }

  /** Bytes came. */
  received(bytes: Buffer): void {
    if (this.#state !== "open") return
    if (this.#ahead.length > 0 || !this.#canRead()) this.#keep(bytes)
    else this.#read(bytes)
    this.#setDeadline()
  }

  /** The client takes bytes again. */
  drained(): void {
    this.#outbox.unblock()
    if (this.#state === "ending") this.#deadline = this.#clock.now + LINGER_MS
    this.#proceed()
  }

  /** The client will send no more; what it sent is answered. */
  peerEnded(): void {
    this.#peerEnded = true
    if (this.#ahead.length === 0) this.#readNoMore()
  }

  /** The connection is gone. */
  closed(): void {
    if (this.#state === "closed") return
    this.#state = "closed"
    this.#request?.abandon()
    this.#body?.break()
    this.#outgoing?.cancel()
    this.#outbox.wake()
    this.#parser.free()
  }

  /** Takes no further request: closes now when none is being answered, else after its answer. */
  stop(): void {
    this.#last = true
    if (this.#head === undefined && !this.#parser.begun) this.#end()
    else this.#settle()
  }

  /** Closes a connection whose time has passed. */
  checkTime(): void {
    if (this.#clock.now < this.#deadline || this.#state === "closed") return
    if (this.#state === "ending" || this.#outbox.blocked) this.#wire.terminate()
    else if (this.#head === undefined && this.#parser.begun) this.#refuse("too-slow")
    else if (this.#head === undefined || this.#answered) this.#end()
    else this.#breakBody()
    this.#setDeadline()
  }

  /** A new request waits until the answers before it were taken; the body of one that is being handled does not. */
  #canRead(): boolean {
    return !this.#complete && (this.#handedOver || !this.#outbox.blocked)
  }

  #keep(bytes: Buffer): void {
    this.#ahead = this.#ahead.length === 0 ? bytes : Buffer.concat([this.#ahead, bytes])
    if (this.#ahead.length > AHEAD_BYTES_MAX) this.#pause()
  }

  #read(bytes: Buffer): void {
    let rest = bytes
    this.#outbox.cork()
    while (rest.length > 0 && this.#state === "open" && this.#canRead()) {
      const parsed = this.#parser.parse(rest)
      if (parsed.kind === "refused") {
        this.#refuse(parsed.refusal)
        break
      }
      rest = parsed.kind === "complete" ? parsed.rest : NOTHING
      if (parsed.kind === "complete") {
        this.#complete = true
        this.#body?.complete()
      }
      if (this.#head !== undefined && !this.#handedOver) this.#handOver(this.#head)
      else this.#settle()
    }
    if (rest.length > 0 && this.#state === "open") this.#keep(rest)
    this.#outbox.uncork()
  }

  #handOver(head: RequestHead): void {
    if (head.headers !== this.#validHeaders) {
      if (!hasValidHost(head)) return void this.#refuse("invalid-host")
      if (head.minor > 0) this.#validHeaders = head.headers
    }
    this.#handedOver = true
    this.#last ||= !head.keepAlive
    const { handle, fail } = this.#options
    let answer: Answer | Promise<Answer>
    try {
      this.#request = new ArrivedRequest(head, this.#bodyOf(head))
      answer = handle(this.#request)
    } catch (failure) {
      answer = fail(failure)
    }
    if (answer instanceof Promise)
      void answer.catch(fail).then((late) => {
        this.#answer(late)
        this.#proceed()
      })
    else this.#answer(answer)
  }

  #bodyOf(head: RequestHead): ArrivedRequest["body"] {
    const early = this.#early
    if (this.#complete) return wholeBody(early)
    const body = new IncomingBody({
      hold: () => this.#pause(),
      want: () => this.#wantBody(),
      dropped: () => this.#resume(),
    })
    for (const bytes of early) body.push(bytes)
    this.#body = body
    this.#owesContinue = early.length === 0 && expectsContinue(head)
    return body.stream
  }

  /** Somebody reads the body: the client may send it. */
  #wantBody(): void {
    if (this.#state !== "open") return
    if (this.#owesContinue) {
      this.#owesContinue = false
      this.#outbox.send(CONTINUE)
    }
    this.#resume()
    this.#setDeadline()
  }

  #frame(answer: Answer): Framed {
    const { method, minor } = this.#head ?? NOT_UNDERSTOOD
    // Whoever was not told to send the body may send it or not: what comes next could be either.
    const keepAlive = !this.#last && !this.#owesContinue
    try {
      return frame(answer, { method, minor, keepAlive }, this.#clock.date)
    } catch (failure) {
      dropBody(answer.body)
      return frame(this.#options.fail(failure), { method, minor, keepAlive }, this.#clock.date)
    }
  }

  #answer(answer: Answer): void {
    if (this.#state !== "open") {
      dropBody(answer.body)
      return
    }
    const { pieces, stream, keepAlive } = this.#frame(answer)
    this.#last ||= !keepAlive
    // What is written from here on would be part of the answer.
    this.#owesContinue = false
    for (const piece of pieces) this.#outbox.send(piece)
    if (stream === undefined) this.#afterAnswer()
    else
      void this.#stream(stream).then(() => {
        this.#afterAnswer()
        this.#proceed()
      })
  }

  /** A body that fails leaves an answer that is visibly cut off. */
  async #stream({ body, framing }: NonNullable<Framed["stream"]>): Promise<void> {
    try {
      this.#outgoing = new OutgoingBody(body, framing, this.#outbox)
      await this.#outgoing.send(() => this.#setDeadline())
    } catch {
      this.#outgoing?.cancel()
      this.#wire.terminate()
    }
    this.#outgoing = undefined
  }

  #afterAnswer(): void {
    if (this.#state !== "open") return
    this.#answered = true
    this.#request = undefined
    if (!this.#complete) {
      this.#body?.drop()
      this.#deadline = this.#clock.now + LINGER_MS
    }
    this.#settle()
  }

  /** Goes on to the next request, or to the end, once this one is done with. */
  #settle(): void {
    if (!this.#answered) return
    if (this.#last) this.#end()
    if (this.#last || !this.#complete) return
    this.#head = undefined
    this.#request = undefined
    this.#headBegan = undefined
    if (this.#early.length > 0) this.#early = []
    this.#body = undefined
    this.#handedOver = false
    this.#complete = false
    this.#answered = false
    this.#owesContinue = false
    // The last bytes of a body may have been too many for its reader.
    this.#resume()
  }

  /** Reads what was kept, when it can be. */
  #proceed(): void {
    if (this.#state !== "open") return
    if (this.#ahead.length > 0 && this.#canRead()) {
      const bytes = this.#ahead
      this.#ahead = NOTHING
      this.#resume()
      this.#read(bytes)
    }
    if (this.#peerEnded && this.#ahead.length === 0) this.#readNoMore()
    this.#setDeadline()
  }

  /** Everything the client sent was read. */
  #readNoMore(): void {
    if (this.#handedOver) this.#breakBody()
    else if (this.#state === "open" && !this.#complete) this.#end()
  }

  /** The rest of a body will not come; the request is answered all the same, and is the last. */
  #breakBody(): void {
    if (this.#complete) return
    this.#last = true
    this.#complete = true
    this.#body?.break()
    this.#settle()
  }

  #refuse(refusal: Refusal): void {
    this.#last = true
    if (this.#handedOver) {
      this.#breakBody()
      return
    }
    for (const piece of this.#frame(this.#options.refuse(refusal)).pieces) this.#outbox.send(piece)
    this.#end()
  }

  /** Ends our half, and takes what still comes so that the last answer is not lost (RFC 9112 section 9.6). */
  #end(): void {
    if (this.#state !== "open") return
    this.#state = "ending"
    this.#deadline = this.#clock.now + LINGER_MS
    this.#ahead = NOTHING
    this.#resume()
    this.#outbox.end()
  }

  #pause(): void {
    if (this.#paused) return
    this.#paused = true
    this.#wire.pause()
    this.#setDeadline()
  }

  #resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#wire.resume()
  }

  #setDeadline(): void {
    if (this.#state !== "open") return
    const { now } = this.#clock
    const { idleMs, headMs } = this.#options
    if (this.#outbox.blocked) this.#deadline = now + idleMs
    else if (this.#head === undefined) {
      if (this.#parser.begun) this.#headBegan ??= now
      this.#deadline = this.#headBegan === undefined ? now + idleMs : this.#headBegan + headMs
    } else if (this.#complete || this.#paused) this.#deadline = Number.POSITIVE_INFINITY
    else if (!this.#answered) this.#deadline = now + idleMs
  }
}
