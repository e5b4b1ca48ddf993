import { Buffer } from "node:buffer"
import { HeaderLines } from "./header_lines.ts"
import { Llhttp, NO_BODY, OK, PAUSED, REFUSED_BY_USER, TYPE } from "./llhttp.ts"

interface MessageHead {
  /** The minor version: HTTP/1.0 or HTTP/1.1. */
  readonly minor: number
  readonly headers: HeaderLines
  /** False when the sender wants the connection closed after this exchange. */
  readonly keepAlive: boolean
}

/** Everything of a request before its body. */
export interface RequestHead extends MessageHead {
  readonly method: string
  /** Request target as sent: not decoded, not normalised (RFC 9112 section 3.2). */
  readonly target: string
}

/** Everything of a response before its body. */
export interface ResponseHead extends MessageHead {
  readonly status: number
}

/** Why bytes are no request this server reads. */
export type ParseRefusal = "malformed" | "head-too-large"

/** Where parsing stopped: bytes used up, at the end of a message, or for good. */
export type Parsed =
  | { readonly kind: "more" }
  | { readonly kind: "complete"; readonly rest: Buffer }
  | { readonly kind: "refused"; readonly refusal: ParseRefusal }

interface BodyEvents {
  readonly body: (bytes: Uint8Array) => void
}

/** A server's side: told, while bytes are parsed, of requests. Must not parse. */
export interface RequestEvents extends BodyEvents {
  readonly request: (head: RequestHead) => void
}

/** A client's side: told, while bytes are parsed, of responses. Must not parse. */
export interface ResponseEvents extends BodyEvents {
  /** Says whether a body may follow (none does after HEAD), or that such a response was not to come. */
  readonly response: (head: ResponseHead) => "body" | "no body" | "refused"
}

/** Largest head, and largest trailer section, bytes of names, values and target. Node's own limit. */
export const HEAD_BYTES_MAX = 16 * 1024

/** Most bytes without one of the body, within a body: a chunk's extensions, and trailers with what separates them. */
const BESIDE_BODY_BYTES_MAX = 2 * HEAD_BYTES_MAX

/** Where a name, and where a value stands among names and values in turn. */
const NAME = 0
const VALUE = 1
type Part = typeof NAME | typeof VALUE

/** What a name or a value costs beside itself: colon and blank, or the end of the line. */
const PART_BYTES = 2

/** What `toString("latin1", ...)` of Node's and Bun's buffers does inside; calling it directly halves its cost for a short text. */
const { latin1Slice } = Buffer.prototype as unknown as {
  latin1Slice: (this: Buffer, from: number, to: number) => string
}

const AFTER_HEAD = { body: OK, "no body": NO_BODY, refused: REFUSED_BY_USER } as const

const MORE: Parsed = { kind: "more" }
const NOTHING = Buffer.alloc(0)
const COMPLETE: Parsed = { kind: "complete", rest: NOTHING }

/** Blanks after a value are not part of it (RFC 9112 section 5.1); llhttp drops those before it. */
const trimmed = (value: string): string => {
  let end = value.length
  while (end > 0 && (value.charCodeAt(end - 1) === 0x20 || value.charCodeAt(end - 1) === 0x09)) end--
  return end === value.length ? value : value.slice(0, end)
}

/** Largest header section that is remembered, bytes: every open connection keeps one. */
const REMEMBERED_BYTES_MAX = 4 * 1024

/** A header section as it came, and what was read from it. */
interface HeaderSection {
  readonly bytes: Buffer
  readonly headers: HeaderLines
}

/** Cuts one connection's bytes into messages. */
export class MessageParser {
  readonly #events: RequestEvents | ResponseEvents
  readonly #llhttp: Llhttp
  #begun = false
  #inHead = false
  #completed = false
  #refusal: ParseRefusal = "malformed"
  #headBytes = 0
  #lastPart: Part = VALUE
  /** Bytes since the last one of the body: of chunk sizes, their extensions, trailers. */
  #besideBody = 0
  /** Where the last byte of the body lies in those being parsed. */
  #bodyEnd = 0
  #target = ""
  /** Names and values in turn, of input that is used up. */
  #read: Array<string> = []
  /** Names and values that follow, where they lie in the input: offset and length in turn. */
  #spans: Array<number> = []
  /** A client repeats itself: the headers of its last request nearly always are, byte for byte, those of the next. */
  #last: HeaderSection | undefined

  /** The bytes being parsed. */
  #source: Buffer = NOTHING

  constructor(events: RequestEvents | ResponseEvents) {
    this.#events = events
    this.#llhttp = new Llhttp("request" in events ? TYPE.request : TYPE.response, {
      bytesEnd: () => this.#readSpans(),
      messageBegin: () => this.#begin(),
      target: (at, length) => {
        this.#target += this.#text(at, length)
        return this.#counted(length)
      },
      headerName: (at, length) => this.#part(at, length, NAME),
      headerValue: (at, length) => this.#part(at, length, VALUE),
      headersComplete: (status, keepAlive) => this.#headComplete(status, keepAlive),
      body: (at, length) => {
        this.#bodyEnd = at + length
        events.body(this.#source.subarray(at, at + length))
        return OK
      },
      messageComplete: () => {
        this.#begun = false
        this.#completed = true
        // So that nothing of the next message is looked at before this one is answered.
        return PAUSED
      },
    })
  }

  /** True from the first byte of a message to its last. */
  get begun(): boolean {
    return this.#begun
  }

  /** Gives the parser's memory back. The object is of no use afterwards. */
  free(): void {
    this.#llhttp.free()
  }

  /** Parses until the bytes or one message end. After a refusal nothing more can be parsed. */
  parse(bytes: Buffer): Parsed {
    this.#source = bytes
    this.#bodyEnd = 0
    const read = this.#llhttp.execute(bytes)
    this.#source = NOTHING
    if (read === "refused") return { kind: "refused", refusal: this.#refusal }
    if (!this.#completed) return this.#begun && !this.#inHead ? this.#moreOfBody(bytes.length) : MORE
    this.#completed = false
    return read === bytes.length ? COMPLETE : { kind: "complete", rest: bytes.subarray(read) }
  }

  /** The sender will send no more. True when that is how its message ends (RFC 9112 section 6.3). */
  finish(): boolean {
    this.#llhttp.finish()
    return this.#completed
  }

  #begin(): number {
    this.#begun = true
    this.#inHead = true
    this.#lastPart = VALUE
    this.#besideBody = 0
    this.#headBytes = 0
    this.#target = ""
    return OK
  }

  /** llhttp says nothing of chunk extensions: one without an end would be read for ever. */
  #moreOfBody(length: number): Parsed {
    this.#besideBody = this.#bodyEnd === 0 ? this.#besideBody + length : length - this.#bodyEnd
    return this.#besideBody > BESIDE_BODY_BYTES_MAX ? { kind: "refused", refusal: "malformed" } : MORE
  }

  #text(at: number, length: number): string {
    return latin1Slice.call(this.#source, at, at + length)
  }

  #counted(bytes: number): number {
    this.#headBytes += bytes
    if (this.#headBytes <= HEAD_BYTES_MAX) return OK
    this.#refusal = "head-too-large"
    return REFUSED_BY_USER
  }

  /** Takes a name or a value, or what follows of one that the bytes before broke off. */
  #part(at: number, length: number, part: Part): number {
    // Trailers, after the body, are read by nobody.
    if (this.#inHead) {
      const parts = this.#read.length + this.#spans.length / 2
      if (parts % 2 === part) this.#spans.push(at, length)
      else this.#read[parts - 1] += this.#text(at, length)
    }
    const begins = part !== this.#lastPart
    this.#lastPart = part
    return this.#counted(begins ? length + PART_BYTES : length)
  }

  /** Makes texts of the spans, before the bytes they point into are gone. */
  #readSpans(): void {
    const spans = this.#spans
    if (spans.length === 0) return
    for (let at = 0; at < spans.length; at += 2) this.#read.push(this.#text(spans[at] ?? 0, spans[at + 1] ?? 0))
    this.#spans = []
  }

  /** Refuses what llhttp would pass on undecoded: any transfer coding but `chunked`, and one in HTTP/1.0 at all. */
  #headComplete(status: number, keepAlive: boolean): number {
    const { major, minor } = this.#llhttp
    if (major !== 1 || minor > 1) return REFUSED_BY_USER
    const headers = this.#headers()
    this.#inHead = false
    this.#headBytes = 0
    const coding = headers.get("transfer-encoding")
    if (coding !== null && (minor === 0 || coding.toLowerCase() !== "chunked")) return REFUSED_BY_USER
    const events = this.#events
    if ("response" in events) return AFTER_HEAD[events.response({ status, minor, headers, keepAlive })]
    const { method } = this.#llhttp
    // What follows a CONNECT is meant for somebody else.
    events.request({ method, target: this.#target, minor, headers, keepAlive: keepAlive && method !== "CONNECT" })
    return OK
  }

  #headers(): HeaderLines {
    const source = this.#source
    const spans = this.#spans
    const from = spans[0] ?? 0
    const to = (spans[spans.length - 2] ?? 0) + (spans[spans.length - 1] ?? 0)
    const inOnePiece = this.#read.length === 0 && to - from <= REMEMBERED_BYTES_MAX
    const last = this.#last
    if (inOnePiece && last?.bytes.length === to - from && source.compare(last.bytes, 0, to - from, from, to) === 0) {
      spans.length = 0
      return last.headers
    }
    this.#readSpans()
    const lines = this.#read
    this.#read = []
    for (let at = 0; at < lines.length; at += 2) {
      lines[at] = (lines[at] ?? "").toLowerCase()
      lines[at + 1] = trimmed(lines[at + 1] ?? "")
    }
    const headers = new HeaderLines(lines)
    if (inOnePiece) this.#last = { bytes: Buffer.from(source.subarray(from, to)), headers }
    return headers
  }
}
