import { Buffer } from "node:buffer"
import { checkValue, type HeaderLine } from "./header_lines.ts"
import type { Framing } from "./outgoing_body.ts"
import { STATUS_PHRASES } from "./status_phrases.ts"
import type { Piece } from "./wire.ts"

/** What a request is answered with. */
export interface Answer {
  readonly status: number
  /** Names in lower case. Framing is the connection's to say: a length only where the body does not show it. */
  readonly headers: ReadonlyArray<HeaderLine>
  readonly body: string | Uint8Array | ReadableStream<Uint8Array> | null
}

/** An answer as it goes on the wire. */
export interface Framed {
  /** Head and, where it is whole, body. */
  readonly pieces: ReadonlyArray<Piece>
  /** A body that follows. */
  readonly stream?: { readonly body: ReadableStream<Uint8Array>; readonly framing: Framing }
  readonly keepAlive: boolean
}

/** What an answer's framing depends on. */
export interface AnsweredRequest {
  readonly method: string
  readonly minor: number
  readonly keepAlive: boolean
}

/** Anything but the characters nearly every value is made of. */
const UNUSUAL = /[^\t\x20-\x7e]/

const statusLines = new Map<number, string>()

const statusLine = (status: number): string => {
  const known = statusLines.get(status)
  if (known !== undefined) return known
  const line = `HTTP/1.1 ${status} ${STATUS_PHRASES[status] ?? ""}\r\n`
  statusLines.set(status, line)
  return line
}

/** Answers that never have a body (RFC 9110 section 6.4.1). */
const isBodiless = (status: number): boolean => status === 204 || status === 304 || status < 200

/** A head; only one with values beyond ASCII has to become bytes. */
const piece = (head: string, isAscii: boolean): Piece => (isAscii ? head : Buffer.from(head, "latin1"))

const whole = (head: string, isAscii: boolean, body: string | Uint8Array): ReadonlyArray<Piece> => {
  if (typeof body !== "string") return [piece(`${head}content-length: ${body.length}\r\n\r\n`, isAscii), body]
  const length = Buffer.byteLength(body)
  const start = piece(`${head}content-length: ${length}\r\n\r\n`, isAscii)
  // A text as long in UTF-8 as in characters is plain ASCII.
  if (length !== body.length) return [start, Buffer.from(body)]
  return typeof start === "string" ? [start + body] : [start, body]
}

/** Lets go of a body that nobody will be sent. */
export const dropBody = (body: Answer["body"]): void => {
  // A stream that fails while it is given up has nothing more to say.
  if (body instanceof ReadableStream) body.cancel().catch(() => {})
}

/**
 * Puts an answer into the bytes of HTTP/1.1.
 *
 * @param date value of the `Date` header
 * @throws when a header value would break its line
 */
export const frame = (answer: Answer, asked: AnsweredRequest, date: string): Framed => {
  const { status, body } = answer
  let head = statusLine(status)
  let { keepAlive } = asked
  let declared: string | undefined
  let dated = false
  let isAscii = true
  // By index: taking pairs apart costs more than the rest of the loop.
  for (let at = 0; at < answer.headers.length; at++) {
    const line = answer.headers[at]
    if (line === undefined) continue
    const name = line[0]
    const value = line[1]
    if (UNUSUAL.test(value)) {
      checkValue(name, value)
      isAscii = false
    }
    if (name === "connection") keepAlive &&= value.toLowerCase() !== "close"
    else if (name === "content-length") declared = value
    else if (name !== "transfer-encoding") {
      dated ||= name === "date"
      head += `${name}: ${value}\r\n`
    }
  }
  if (!dated) head += `date: ${date}\r\n`
  const isStream = body instanceof ReadableStream
  const length = declared === undefined ? undefined : Number(declared)
  const chunked = isStream && length === undefined && asked.minor > 0
  // Without chunks a body of unknown length ends where the connection does.
  if (isStream && length === undefined && !chunked) keepAlive = false
  if (!keepAlive) head += "connection: close\r\n"
  else if (asked.minor === 0) head += "connection: keep-alive\r\n"

  if (isBodiless(status) || asked.method === "HEAD") {
    dropBody(body)
    if (!isBodiless(status)) {
      const size = declared ?? (body === null || isStream ? undefined : String(Buffer.byteLength(body)))
      if (size !== undefined) head += `content-length: ${size}\r\n`
    }
    return { pieces: [piece(`${head}\r\n`, isAscii)], keepAlive }
  }
  if (!isStream) return { pieces: whole(head, isAscii, body ?? ""), keepAlive }
  if (length !== undefined) head += `content-length: ${length}\r\n`
  else if (chunked) head += "transfer-encoding: chunked\r\n"
  return {
    pieces: [piece(`${head}\r\n`, isAscii)],
    stream: { body, framing: length === undefined ? (chunked ? "chunked" : "close") : { length } },
    keepAlive,
  }
}
