import type { Socket } from "node:net"

const HEAD = 4
/** Longest frame, bytes: the largest holds a request's headers. */
const FRAME_MAX = 4 * 1024 * 1024

/** Frames of the plugin protocol over a socket: four bytes of length, little-endian, and then that many bytes. */
export class Frames {
  readonly #socket: Socket
  readonly #chunks: AsyncIterator<Buffer>
  #waiting: Buffer = Buffer.alloc(0)

  constructor(socket: Socket) {
    this.#socket = socket
    this.#chunks = socket[Symbol.asyncIterator]()
  }

  /** Takes so many bytes; `undefined` when the other side ended before. */
  async #take(length: number): Promise<Buffer | undefined> {
    while (this.#waiting.length < length) {
      const next = await this.#chunks.next()
      if (next.done === true) return undefined
      this.#waiting = Buffer.concat([this.#waiting, next.value])
    }
    const taken = this.#waiting.subarray(0, length)
    this.#waiting = this.#waiting.subarray(length)
    return taken
  }

  /** The next frame; `undefined` when the other side has ended. */
  async read(): Promise<Buffer | undefined> {
    const head = await this.#take(HEAD)
    if (head === undefined) return undefined
    const length = head.readUInt32LE()
    if (length > FRAME_MAX) throw new Error("a frame is too long")
    return length === 0 ? Buffer.alloc(0) : this.#take(length)
  }

  write(bytes: Uint8Array): void {
    const head = Buffer.alloc(HEAD)
    head.writeUInt32LE(bytes.length)
    this.#socket.write(Buffer.concat([head, bytes]))
  }
}
