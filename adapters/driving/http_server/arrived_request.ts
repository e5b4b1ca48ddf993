import type { HeaderLines } from "./header_lines.ts"
import type { RequestHead } from "./message_parser.ts"

/** A full address, as proxies write it (RFC 9112 section 3.2.2). */
const ABSOLUTE_FORM = /^https?:\/\/[^/?]*(.*)$/is

/**
 * Every URL is below this origin. The host a client names is only its claim (it stays in the header), and one of three
 * characters would make Elysia, which looks for the path from the eleventh character on, drop the first segment.
 */
const ORIGIN = "http://localhost"

/** A request whose head has arrived. */
export class ArrivedRequest {
  readonly method: string
  /** Request target as sent. */
  readonly target: string
  readonly headers: HeaderLines
  /** Whole when it came along with the head, a stream while it is still to come; `null` when there is none. */
  readonly body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null
  #url: string | undefined
  #isGone = false
  #whenGone: (() => void) | undefined

  constructor({ method, target, headers }: RequestHead, body: ArrivedRequest["body"]) {
    this.method = method
    this.target = target
    this.headers = headers
    this.body = body
  }

  /**
   * The target as a URL below {@link ORIGIN}, not normalised. Empty when it names no resource, as `*` and the authority of
   * CONNECT.
   */
  get url(): string {
    this.#url ??= this.#readUrl()
    return this.#url
  }

  /** Runs `run` when the client is gone before it was answered; one that is asked for later replaces it. */
  whenGone(run: () => void): void {
    if (this.#isGone) run()
    else this.#whenGone = run
  }

  /** The client is gone. */
  abandon(): void {
    this.#isGone = true
    this.#whenGone?.()
  }

  #readUrl(): string {
    if (this.target.startsWith("/")) return ORIGIN + this.target
    const path = ABSOLUTE_FORM.exec(this.target)?.[1]
    if (path === undefined) return ""
    return `${ORIGIN}${path.startsWith("/") ? "" : "/"}${path}`
  }
}
