import { Agent, type IncomingMessage, request, type ServerResponse } from "node:http"
import type { Header } from "../../domain/gateway/verdict.ts"

/** Time the upstream may be silent before its answer begins, milliseconds. */
const ANSWER_MS = 30_000

/** Methods whose requests may be sent twice (RFC 9110 section 9.2.2). */
const IDEMPOTENT = /^(GET|HEAD|OPTIONS|PUT|DELETE)$/

/** How a connection fails that the other side has closed. */
const CLOSED = /^(ECONNRESET|EPIPE)$/

/** The upstream did not begin to answer in time. */
export class UpstreamTimedOut extends Error {
  override readonly name = "UpstreamTimedOut"
}

/** A request to the upstream. */
export interface UpstreamRequest {
  readonly method: string
  readonly path: string
  /** Every header line, those that frame the body included. */
  readonly headers: ReadonlyArray<Header>
  /** The client's request, when it has a body. */
  readonly body: IncomingMessage | undefined
  /** Takes the answer. When it closes, the exchange ends. */
  readonly outgoing: ServerResponse
}

/** The server behind the gateway, and the connections to it that are kept. */
export class Upstream {
  readonly #origin: URL
  readonly #answerMs: number
  readonly #kept: Agent

  /**
   * @param origin `http`, a host and a port
   * @param answerMs time it may be silent before its answer begins, milliseconds
   */
  constructor(origin: string, answerMs: number = ANSWER_MS) {
    this.#origin = new URL(origin)
    this.#answerMs = answerMs
    this.#kept = new Agent({ keepAlive: true, timeout: answerMs })
  }

  /** Host and port, as the `Host` header names them. */
  get host(): string {
    return this.#origin.host
  }

  /**
   * Sends a request, its body no faster than the upstream reads it.
   *
   * The upstream may close a kept connection at any moment, so only requests that may be sent twice go over one: without a
   * body and idempotent. Such a request is sent once more, over a new connection, when no byte of an answer came.
   *
   * @returns the answer, of whose body nothing has been read
   * @throws {UpstreamTimedOut} when the answer does not begin in time
   * @throws when no usable answer comes, or the client is gone
   */
  ask(asked: UpstreamRequest): Promise<IncomingMessage> {
    return this.#send(asked, IDEMPOTENT.test(asked.method) && asked.body === undefined ? this.#kept : false)
  }

  /** Closes every idle connection. */
  close(): void {
    this.#kept.destroy()
  }

  #send(asked: UpstreamRequest, agent: Agent | false): Promise<IncomingMessage> {
    const { method, path, headers, body, outgoing } = asked
    const { hostname, port } = this.#origin
    return new Promise((resolve, reject) => {
      const sent = request({ hostname, port, method, path, headers: headers.flat(), agent, timeout: this.#answerMs })
      let [readBefore, answered] = [0, false]
      outgoing.once("close", () => sent.destroy())
      sent.once("socket", ({ bytesRead }) => {
        readBefore = bytesRead
      })
      // Once the answer has begun, only the client decides how long to wait for its end.
      sent.on("timeout", () => answered || sent.destroy(new UpstreamTimedOut("no answer in time")))
      sent.once("response", (answer) => {
        answered = true
        resolve(answer)
      })
      sent.once("error", (failure: NodeJS.ErrnoException) => {
        const unheard = sent.reusedSocket && sent.socket?.bytesRead === readBefore && CLOSED.test(failure.code ?? "")
        if (unheard && !outgoing.destroyed) resolve(this.#send(asked, false))
        else reject(failure)
      })
      sent.once("close", () => reject(new Error("the connection ended without an answer")))
      if (body === undefined) return void sent.end()
      body.pipe(sent)
      // The upstream must not take a part of the body for the whole.
      body.once("close", () => {
        if (!body.complete) sent.destroy()
      })
      // What the upstream will not read is read and dropped, so that the client still hears the answer.
      sent.once("close", () => body.unpipe(sent).resume())
    })
  }
}
