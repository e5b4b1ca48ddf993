import { Buffer } from "node:buffer"
import type { Outbox } from "./outbox.ts"

/** How a body whose end is not in sight is delimited (RFC 9112 section 6). */
export type Framing = "chunked" | "close" | { readonly length: number }

const LINE_END = Buffer.from("\r\n")

/** A body's bytes as one chunk. Never of no bytes: that would be the end (RFC 9112 section 7.1). */
const chunk = (bytes: Uint8Array): Uint8Array =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, LINE_END])

const LAST_CHUNK = "0\r\n\r\n"

/** What is used of a stream's reader; runtimes and their types agree on this much. */
interface BodyReader {
  readonly read: () => Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>
  readonly cancel: () => Promise<void>
}

/** A body that is sent as it comes, never faster than the other side takes it. */
export class OutgoingBody {
  readonly #reader: BodyReader
  readonly #framing: Framing
  readonly #outbox: Outbox
  #cancelled = false

  constructor(body: ReadableStream<Uint8Array>, framing: Framing, outbox: Outbox) {
    this.#reader = body.getReader()
    this.#framing = framing
    this.#outbox = outbox
  }

  /**
   * Sends it to the end, or until {@link cancel}.
   *
   * @param progress told after every piece
   * @throws when the body fails, or is not as long as it was said to be
   */
  async send(progress: () => void): Promise<void> {
    const framing = this.#framing
    let left = typeof framing === "object" ? framing.length : Number.POSITIVE_INFINITY
    for (;;) {
      const { done, value } = await this.#reader.read()
      if (this.#cancelled) return
      if (done || value === undefined) break
      left -= value.length
      if (left < 0) throw new Error("The body is longer than its length")
      if (value.length > 0) this.#outbox.send(framing === "chunked" ? chunk(value) : value)
      progress()
      if (this.#outbox.blocked) await this.#outbox.drained()
    }
    if (typeof framing === "object" && left > 0) throw new Error("The body is shorter than its length")
    if (framing === "chunked") this.#outbox.send(LAST_CHUNK)
  }

  /** Nobody takes it any more. */
  cancel(): void {
    this.#cancelled = true
    // A stream that fails while it is given up has nothing more to say.
    this.#reader.cancel().catch(() => {})
  }
}
