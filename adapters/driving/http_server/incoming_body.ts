import { Buffer } from "node:buffer"

/** Bytes kept for a reader who is slower than the sender, before the sender has to wait. */
const KEPT_BYTES_MAX = 64 * 1024

/** What a body asks of its connection. */
export interface BodyFlow {
  /** Nobody has taken what came: let the sender wait. */
  readonly hold: () => void
  /** Somebody waits for bytes. */
  readonly want: () => void
  /** Nobody will read it: what is still to come is not kept. */
  readonly dropped: () => void
}

/** A body that came along with its head; `null` when there is none. */
export const wholeBody = (pieces: ReadonlyArray<Uint8Array>): Uint8Array<ArrayBuffer> | null => {
  const [first] = pieces
  return first === undefined ? null : new Uint8Array(pieces.length === 1 ? first : Buffer.concat(pieces))
}

/** A body that is still arriving. */
export class IncomingBody {
  readonly stream: ReadableStream<Uint8Array>
  readonly #flow: BodyFlow
  #kept: Array<Uint8Array> = []
  #keptBytes = 0
  #end: "to come" | "reached" | "broken" = "to come"
  #dropped = false
  /** Wakes the reader who waits. */
  #wake: (() => void) | undefined

  constructor(flow: BodyFlow) {
    this.#flow = flow
    // A mark of 0: bytes are asked for when somebody reads, never ahead, so that an unread body costs its sender nothing.
    this.stream = new ReadableStream<Uint8Array>(
      { pull: (controller) => this.#pull(controller), cancel: () => this.drop() },
      { highWaterMark: 0 },
    )
  }

  push(bytes: Uint8Array): void {
    if (this.#dropped) return
    this.#kept.push(bytes)
    this.#keptBytes += bytes.length
    if (this.#wake !== undefined) this.#wake()
    else if (this.#keptBytes > KEPT_BYTES_MAX) this.#flow.hold()
  }

  /** The last byte has come. */
  complete(): void {
    if (this.#end === "to come") this.#end = "reached"
    this.#wake?.()
  }

  /** No more will come, though more was announced. */
  break(): void {
    if (this.#end === "to come") this.#end = "broken"
    this.#wake?.()
  }

  /** Nobody will read it: what is still to come goes nowhere. */
  drop(): void {
    this.#dropped = true
    this.#kept = []
    // Behind its end the connection carries something else.
    if (this.#end !== "to come") return
    // Whoever reads on all the same must not take what is left for the whole.
    this.#end = "broken"
    this.#flow.dropped()
    this.#wake?.()
  }

  async #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    while (this.#kept.length === 0 && this.#end === "to come") {
      this.#flow.want()
      await new Promise<void>((wake) => {
        this.#wake = wake
      })
      this.#wake = undefined
    }
    const bytes = this.#kept.shift()
    if (bytes !== undefined) {
      this.#keptBytes -= bytes.length
      controller.enqueue(bytes)
    } else if (this.#end === "reached") controller.close()
    else controller.error(new Error("The body ended before it was complete"))
  }
}
