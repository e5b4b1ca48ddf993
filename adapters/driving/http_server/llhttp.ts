// llhttp, the HTTP/1 parser of Node, as the WebAssembly module that Node's `undici` carries: what two servers could read
// differently (RFC 9112 section 11.2) is refused by the parser that the world tests.
import { Buffer } from "node:buffer"
import { createRequire } from "node:module"

// An `import` would make an export of each of its 54,000 bytes, at 40 ms a start.
const require = createRequire(import.meta.url)
const wasm: Uint8Array<ArrayBuffer> = require("undici/lib/llhttp/llhttp_simd-wasm.js")

// llhttp.h of 9.3: `llhttp_type_t`, `llhttp_errno_t`, and what `on_headers_complete` may answer.
export const TYPE = { request: 1, response: 2 } as const
export const OK = 0
export const NO_BODY = 1
export const PAUSED = 21
export const REFUSED_BY_USER = 24
const PAUSED_UPGRADE = 22

/**
 * Told of what is read; places are given as an offset into the bytes and a length. Each answers with a code: {@link OK} goes
 * on, {@link PAUSED} stops behind it, {@link REFUSED_BY_USER} stops for good.
 *
 * @see https://github.com/nodejs/llhttp
 */
export interface LlhttpEvents {
  /** The bytes are used up, and places in them with them; what they broke off goes on in the next. */
  readonly bytesEnd: () => void
  readonly messageBegin: () => number
  readonly target: (at: number, length: number) => number
  readonly headerName: (at: number, length: number) => number
  readonly headerValue: (at: number, length: number) => number
  readonly headersComplete: (status: number, keepAlive: boolean) => number
  readonly body: (at: number, length: number) => number
  readonly messageComplete: () => number
}

interface Exports {
  readonly memory: WebAssembly.Memory
  readonly _initialize: () => void
  readonly malloc: (bytes: number) => number
  readonly llhttp_alloc: (type: number) => number
  readonly llhttp_free: (parser: number) => void
  readonly llhttp_execute: (parser: number, at: number, length: number) => number
  readonly llhttp_finish: (parser: number) => number
  readonly llhttp_get_error_pos: (parser: number) => number
  readonly llhttp_resume: (parser: number) => void
  readonly llhttp_resume_after_upgrade: (parser: number) => void
  readonly llhttp_get_method: (parser: number) => number
  readonly llhttp_method_name: (method: number) => number
  readonly llhttp_get_http_major: (parser: number) => number
  readonly llhttp_get_http_minor: (parser: number) => number
}

/** Whose bytes are read: reading never yields, so there is one at a time. */
let running: LlhttpEvents
/** Address in the module's memory of the first of those bytes. */
let start = 0

const { exports } = new WebAssembly.Instance(new WebAssembly.Module(wasm), {
  env: {
    wasm_on_message_begin: () => running.messageBegin(),
    wasm_on_url: (_: number, at: number, length: number) => running.target(at - start, length),
    wasm_on_status: () => OK,
    wasm_on_header_field: (_: number, at: number, length: number) => running.headerName(at - start, length),
    wasm_on_header_value: (_: number, at: number, length: number) => running.headerValue(at - start, length),
    wasm_on_headers_complete: (_: number, status: number, _upgrade: number, keepAlive: number) =>
      running.headersComplete(status, keepAlive === 1),
    wasm_on_body: (_: number, at: number, length: number) => running.body(at - start, length),
    wasm_on_message_complete: () => running.messageComplete(),
  },
})
const llhttp = exports as unknown as Exports
llhttp._initialize()

/** Bytes read at a time. */
const SLICE_BYTES = 64 * 1024

const slice = llhttp.malloc(SLICE_BYTES)
let memory = new Uint8Array(llhttp.memory.buffer)

/** The module's memory; it is a new one after every time it grew. */
const currentMemory = (): Uint8Array => {
  if (memory.buffer !== llhttp.memory.buffer) memory = new Uint8Array(llhttp.memory.buffer)
  return memory
}

const methodNames: Array<string> = []

const methodName = (method: number): string => {
  const known = methodNames[method]
  if (known !== undefined) return known
  const bytes = currentMemory()
  const at = llhttp.llhttp_method_name(method)
  const name = Buffer.from(bytes.subarray(at, bytes.indexOf(0, at))).toString("latin1")
  methodNames[method] = name
  return name
}

/** One parser of llhttp, for the bytes of one connection in one direction. */
export class Llhttp {
  readonly #parser: number
  readonly #events: LlhttpEvents

  constructor(type: (typeof TYPE)[keyof typeof TYPE], events: LlhttpEvents) {
    this.#parser = llhttp.llhttp_alloc(type)
    this.#events = events
  }

  /** Gives its memory back. The object is of no use afterwards. */
  free(): void {
    llhttp.llhttp_free(this.#parser)
  }

  /** The method of the request being read. */
  get method(): string {
    return methodName(llhttp.llhttp_get_method(this.#parser))
  }

  /** The major version of HTTP of the message being read. */
  get major(): number {
    return llhttp.llhttp_get_http_major(this.#parser)
  }

  /** The minor version of HTTP of the message being read. */
  get minor(): number {
    return llhttp.llhttp_get_http_minor(this.#parser)
  }

  /**
   * Reads until the bytes end, or an event paused.
   *
   * @returns how many bytes were read, or "refused"
   */
  execute(bytes: Buffer): number | "refused" {
    running = this.#events
    let from = 0
    while (from < bytes.length) {
      const length = Math.min(SLICE_BYTES, bytes.length - from)
      currentMemory().set(length === bytes.length ? bytes : bytes.subarray(from, from + length), slice)
      start = slice - from
      const code = llhttp.llhttp_execute(this.#parser, slice, length)
      if (code === OK) {
        this.#events.bytesEnd()
        from += length
        continue
      }
      from = llhttp.llhttp_get_error_pos(this.#parser) - start
      if (code === PAUSED) {
        llhttp.llhttp_resume(this.#parser)
        return from
      }
      // Nothing is upgraded here: what follows is the next message.
      if (code !== PAUSED_UPGRADE) return "refused"
      llhttp.llhttp_resume_after_upgrade(this.#parser)
    }
    return from
  }

  /** The bytes are at their end: a message without a length is complete with them. */
  finish(): void {
    running = this.#events
    llhttp.llhttp_finish(this.#parser)
  }
}
