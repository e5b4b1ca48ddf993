import { Buffer } from "node:buffer"
import type { Piece, Wire } from "./wire.ts"

/** Gathered answers leave once they are this long. */
const GATHERED_MAX = 64 * 1024

/** Pieces up to this length together leave as one. */
const JOINED_MAX = 128 * 1024

/** Where pieces are joined. One place for all: a write is over before the next begins. */
const joined = Buffer.allocUnsafeSlow(JOINED_MAX)

/** What is still to be sent on a connection, in order. */
export class Outbox {
  readonly #wire: Pick<Wire, "write" | "end">
  /** Texts that leave next. Kept apart from {@link #unsent}: nearly always there is nothing else. */
  #text = ""
  /** What the socket has not taken yet, or cannot be joined to a text; before {@link #text} in order. */
  #unsent: Array<Piece> = []
  #corked = false
  /** Length of what came since the last attempt to send. */
  #gathered = 0
  #blocked = false
  #endsAfter = false
  #onDrained: (() => void) | undefined

  constructor(wire: Pick<Wire, "write" | "end">) {
    this.#wire = wire
  }

  /** True while the client takes nothing more. */
  get blocked(): boolean {
    return this.#blocked
  }

  send(piece: Piece): void {
    if (typeof piece === "string") this.#text += piece
    else {
      this.#enqueueText()
      this.#unsent.push(piece)
    }
    this.#gathered += piece.length
    if (!this.#corked || this.#gathered > GATHERED_MAX) this.#flush()
  }

  /** Gathers what is sent until {@link uncork}: several answers leave in one write. */
  cork(): void {
    this.#corked = true
  }

  uncork(): void {
    this.#corked = false
    this.#flush()
  }

  /** Ends our half of the connection after everything sent. */
  end(): void {
    this.#endsAfter = true
    this.#flush()
  }

  /** The socket takes bytes again. */
  unblock(): void {
    this.#blocked = false
    this.#flush()
    if (!this.#blocked) this.wake()
  }

  /** Resolves once everything sent has been taken, or the connection is closed. */
  drained(): Promise<void> {
    return new Promise((resolve) => {
      this.#onDrained = resolve
    })
  }

  /** Lets go of whoever waits in {@link drained}. */
  wake(): void {
    this.#onDrained?.()
    this.#onDrained = undefined
  }

  #enqueueText(): void {
    if (this.#text === "") return
    this.#unsent.push(this.#text)
    this.#text = ""
  }

  /** Joins what waits, when it is short enough for one write. Joining is cheaper than a second call of the kernel. */
  #join(): void {
    let length = 0
    for (const piece of this.#unsent) length += piece.length
    if (length > JOINED_MAX) return
    let at = 0
    for (const piece of this.#unsent) {
      if (typeof piece === "string") joined.write(piece, at, "latin1")
      else joined.set(piece, at)
      at += piece.length
    }
    this.#unsent = [joined.subarray(0, length)]
  }

  /** Offers a piece to the socket; gives back what it did not take. */
  #offer(piece: Piece): Piece | undefined {
    const taken = Math.max(this.#wire.write(piece), 0)
    if (taken === piece.length) return undefined
    this.#blocked = true
    if (typeof piece === "string") return piece.slice(taken)
    // The joined bytes are every connection's.
    return piece.buffer === joined.buffer ? Buffer.from(piece.subarray(taken)) : piece.subarray(taken)
  }

  #flush(): void {
    this.#gathered = 0
    if (this.#blocked) return
    if (this.#unsent.length > 0) {
      this.#enqueueText()
      if (this.#unsent.length > 1) this.#join()
    }
    while (this.#unsent.length > 0) {
      const rest = this.#offer(this.#unsent[0] ?? "")
      if (rest !== undefined) {
        this.#unsent[0] = rest
        return
      }
      this.#unsent.shift()
    }
    if (this.#text !== "") {
      const rest = this.#offer(this.#text)
      this.#text = ""
      if (rest !== undefined) {
        this.#unsent.push(rest)
        return
      }
    }
    if (this.#endsAfter) this.#wire.end()
  }
}
