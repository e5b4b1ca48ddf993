// HTTP/1.1 messages as bytes, read strictly by the framing rules of RFC 9112 section 6 and sharing no code with the product.

/** A message, or as much of it as came. */
export interface Message {
  /** Request line or status line. */
  readonly start: string
  /** Status of an answer, `NaN` of a request. */
  readonly status: number
  /** Names in lower case, values as Latin-1. */
  readonly lines: ReadonlyArray<readonly [name: string, value: string]>
  readonly framing: "none" | "length" | "chunked" | "until close"
  readonly body: Buffer
  /** True when nothing of it is missing. */
  readonly complete: boolean
}

/** The values of a header, in order. */
export const valuesOf = ({ lines }: Message, name: string): ReadonlyArray<string> =>
  lines.filter(([each]) => each === name).map(([, value]) => value)

/** A body, whether all of it is there, and where it ends. */
type ReadBody = readonly [framing: Message["framing"], body: Buffer, complete: boolean, end: number]

const CHUNK_SIZE = /^[0-9a-f]{1,8}$/i

const readChunks = (bytes: Buffer, from: number): ReadBody => {
  const chunks: Array<Buffer> = []
  const cutOff = (): ReadBody => ["chunked", Buffer.concat(chunks), false, bytes.length]
  for (let at = from; ; ) {
    const lineEnd = bytes.indexOf("\r\n", at)
    if (lineEnd === -1) return cutOff()
    const size = bytes.toString("latin1", at, lineEnd)
    if (!CHUNK_SIZE.test(size)) throw new Error(`no chunk size: ${size}`)
    const length = Number.parseInt(size, 16)
    const start = lineEnd + 2
    const end = start + length
    chunks.push(bytes.subarray(start, end))
    if (bytes.length < end + 2) return cutOff()
    if (bytes.toString("latin1", end, end + 2) !== "\r\n") throw new Error("a chunk is not as long as it says")
    if (length === 0) return ["chunked", Buffer.concat(chunks), true, end + 2]
    at = end + 2
  }
}

const readBody = (bytes: Buffer, from: number, { status, lines }: Head, isHead: boolean, ended: boolean): ReadBody => {
  const values = (name: string) => lines.filter(([each]) => each === name).map(([, value]) => value)
  const [codings, lengths] = [values("transfer-encoding"), values("content-length")]
  if (codings.length + lengths.length > 1) throw new Error("framed more than once")
  if (status < 200 || status === 204 || status === 304 || isHead) return ["none", Buffer.alloc(0), true, from]
  if (codings.length > 0) return readChunks(bytes, from)
  if (lengths.length > 0) {
    const body = bytes.subarray(from, from + Number(lengths[0]))
    return ["length", body, body.length === Number(lengths[0]), from + body.length]
  }
  if (Number.isNaN(status)) return ["none", Buffer.alloc(0), true, from]
  return ["until close", bytes.subarray(from), ended, bytes.length]
}

type Head = Pick<Message, "start" | "status" | "lines">

const readHead = (text: string): Head => {
  const [start = "", ...rest] = text.split("\r\n")
  const lines = rest.map((line) => {
    const colon = line.indexOf(":")
    if (colon < 1 || /[\r\n\0]/.test(line)) throw new Error(`no header line: ${line}`)
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const
  })
  return { start, status: Number(/^HTTP\/1\.[01] (\d{3}) /.exec(start)?.[1] ?? Number.NaN), lines }
}

/**
 * Cuts bytes into messages; the last may be incomplete. Bytes that are no message at all come back as one without lines.
 *
 * @param heads how many of them, from the first, answer HEAD and have no body
 * @param ended no more bytes will come
 */
export const readMessages = (bytes: Buffer, heads: number, ended: boolean): ReadonlyArray<Message> => {
  const messages: Array<Message> = []
  for (let at = 0; at < bytes.length; ) {
    const headEnd = bytes.indexOf("\r\n\r\n", at)
    if (headEnd === -1) {
      const start = bytes.toString("latin1", at)
      return [
        ...messages,
        { start, status: Number.NaN, lines: [], framing: "none", body: Buffer.alloc(0), complete: false },
      ]
    }
    const head = readHead(bytes.toString("latin1", at, headEnd))
    const [framing, body, complete, end] = readBody(bytes, headEnd + 4, head, messages.length < heads, ended)
    messages.push({ ...head, framing, body, complete })
    at = end
  }
  return messages
}
