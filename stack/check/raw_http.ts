import { connect, isIP } from "node:net"
import { connect as connectTls } from "node:tls"
import { Data } from "effect"
import { connectionFailure } from "../connection_failure.ts"

const TIMEOUT_MS = 8000

/** What came back over one connection. */
export interface RawAnswer {
  /** Statuses of the answers, or `closed` when there was none, or `timeout`. */
  readonly statuses: string
  /** Status line and headers of the first answer. */
  readonly head: string
  readonly body: string
  /** Every answer, in order. */
  readonly answers: ReadonlyArray<{ readonly status: string; readonly head: string; readonly body: string }>
}

/** How far a server's certificate is believed. */
export interface TlsTrust {
  /** PEM of the authority that signed it; the system's own ones when absent. */
  readonly ca?: string
  /** True to believe any certificate. */
  readonly insecure?: boolean
}

/** No connection to the server: nobody listens, or its certificate is not believed. */
export class Unreachable extends Data.TaggedError("Unreachable")<{ readonly url: string; readonly cause: unknown }> {
  readonly code = "UNREACHABLE"
  readonly exitCode = 2
  override get message(): string {
    return `nothing can be asked at ${this.url}: ${connectionFailure(this.cause)}`
  }
}

interface Parsed {
  readonly status: string
  readonly head: string
  readonly body: string
  readonly rest: string
}

const CHUNK = /^([0-9a-f]+)[^\r\n]*\r\n/i

/** Takes a chunked body off the front of a text. */
const readChunks = (text: string): { readonly body: string; readonly rest: string } => {
  let [body, rest] = ["", text]
  for (;;) {
    const [line, size] = CHUNK.exec(rest) ?? []
    if (line === undefined || size === undefined) return { body, rest: "" }
    const length = Number.parseInt(size, 16)
    body += rest.slice(line.length, line.length + length)
    rest = rest.slice(line.length + length + 2)
    if (length === 0) return { body, rest }
  }
}

/** Takes one answer off the front of what was received. */
const readOne = (text: string): Parsed | undefined => {
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1]
  const end = text.indexOf("\r\n\r\n")
  if (status === undefined || end === -1) return undefined
  const head = text.slice(0, end)
  const after = text.slice(end + 4)
  if (/^transfer-encoding:\s*chunked/im.test(head)) return { status, head, ...readChunks(after) }
  const given = /^content-length:\s*(\d+)/im.exec(head)?.[1]
  // Without a length the body ends with the connection, and some answers have none (RFC 9112 section 6.3).
  const length = given === undefined ? (/^(1\d\d|204|304)$/.test(status) ? 0 : after.length) : Number(given)
  return { status, head, body: after.slice(0, length), rest: after.slice(length) }
}

const readAll = (text: string): RawAnswer => {
  const answers: Array<Parsed> = []
  for (let rest = text; ; ) {
    const one = readOne(rest)
    if (one === undefined) break
    if (!one.status.startsWith("1")) answers.push({ ...one, body: Buffer.from(one.body, "latin1").toString("utf8") })
    rest = one.rest
  }
  const [first] = answers
  if (first === undefined) return { statuses: "closed", head: "", body: "", answers: [] }
  return { statuses: answers.map(({ status }) => status).join(" "), head: first.head, body: first.body, answers }
}

const connection = (url: string, { ca, insecure }: TlsTrust) => {
  const { protocol, hostname, port } = new URL(url)
  const [host, secure] = [hostname.replace(/^\[|\]$/g, ""), protocol === "https:"]
  const at = Number(port) || (secure ? 443 : 80)
  if (!secure) return { socket: connect(at, host), ready: "connect" }
  const socket = connectTls({
    host,
    port: at,
    // An address is no name that a client may ask for (RFC 6066 section 3).
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(ca === undefined ? {} : { ca }),
    rejectUnauthorized: insecure !== true,
  })
  return { socket, ready: "secureConnect" }
}

/**
 * Sends bytes over a connection of its own and reads until the other side closes it.
 *
 * HTTP clients tidy a request up before it leaves; what is to be seen here is what happens to an untidy one.
 *
 * @param url origin of the server
 * @param bytes the request or requests, a character for each byte; the last one asks to close the connection
 * @throws {Unreachable} when there is no connection
 */
export const sendRaw = (url: string, bytes: string, trust: TlsTrust = {}): Promise<RawAnswer> =>
  new Promise((resolve, reject) => {
    const { socket, ready } = connection(url, trust)
    let [received, isConnected] = ["", false]
    const fail = (cause: unknown) => reject(new Unreachable({ url, cause }))
    const timer = setTimeout(() => {
      socket.destroy()
      if (!isConnected) return fail(new Error(`no connection within ${TIMEOUT_MS / 1000} s`))
      const { statuses, ...rest } = readAll(received)
      resolve({ ...rest, statuses: statuses === "closed" ? "timeout" : statuses })
    }, TIMEOUT_MS)
    socket.on(ready, () => {
      isConnected = true
      socket.write(Buffer.from(bytes, "latin1"))
    })
    socket.on("data", (chunk: Buffer) => {
      received += chunk.toString("latin1")
    })
    // A server may reset the connection of a request it will not read to the end; what it said before counts.
    socket.on("error", (failure) => {
      if (!isConnected) fail(failure)
      socket.destroy()
    })
    socket.on("close", () => {
      clearTimeout(timer)
      if (isConnected) resolve(readAll(received))
      else fail(new Error("the connection was closed before it was made"))
    })
  })
