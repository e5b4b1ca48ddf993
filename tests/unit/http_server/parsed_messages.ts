// What a parser makes of bytes, as plain values to compare.
import { Buffer } from "node:buffer"
import type { HeaderLines } from "../../../adapters/driving/http_server/header_lines.ts"
import { MessageParser, type ParseRefusal } from "../../../adapters/driving/http_server/message_parser.ts"

export interface Message {
  readonly method: string
  readonly target: string
  readonly minor: number
  readonly keepAlive: boolean
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  /** As Latin-1: a byte is a character. */
  body: string
  complete: boolean
}

export interface ParsedMessages {
  readonly messages: ReadonlyArray<Message>
  readonly end: "more" | ParseRefusal
  /** The header objects of the messages, for their identity. */
  readonly headers: ReadonlyArray<HeaderLines>
}

/** Gives a parser the pieces one after the other, up to a refusal. */
export const parsePieces = (pieces: ReadonlyArray<Buffer>): ParsedMessages => {
  const messages: Array<Message> = []
  const headers: Array<HeaderLines> = []
  const parser = new MessageParser({
    request: (head) => {
      messages.push({ ...head, headers: head.headers.lines(), body: "", complete: false })
      headers.push(head.headers)
    },
    body: (bytes) => {
      const message = messages.at(-1)
      if (message !== undefined) message.body += Buffer.from(bytes).toString("latin1")
    },
  })
  try {
    for (const piece of pieces) {
      let rest = piece
      while (rest.length > 0) {
        const parsed = parser.parse(rest)
        if (parsed.kind === "refused") return { messages, end: parsed.refusal, headers }
        if (parsed.kind === "more") break
        const message = messages.at(-1)
        if (message !== undefined) message.complete = true
        rest = parsed.rest
      }
    }
    return { messages, end: "more", headers }
  } finally {
    parser.free()
  }
}

export const parseText = (...texts: ReadonlyArray<string>): ParsedMessages =>
  parsePieces(texts.map((text) => Buffer.from(text, "latin1")))

/** A head as bytes: request line, header lines, and the blank line. */
export const headOf = (requestLine: string, ...lines: ReadonlyArray<string>): string =>
  [requestLine, ...lines, "", ""].join("\r\n")

export const chunkOf = (text: string, extension = ""): string =>
  `${text.length.toString(16)}${extension}\r\n${text}\r\n`
