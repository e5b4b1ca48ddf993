// Back-pressure: however much passes, and however slowly the other side reads, the gateway holds little of it.
import { afterAll, beforeAll, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { connect, createServer, type Server, type Socket } from "node:net"
import { join } from "node:path"
import type { Subprocess } from "bun"
import { serveOn } from "./local_gateway.ts"

const MB = 1024 * 1024
const PASSED = 128 * MB
const GROWTH_MAX = 32 * MB
const TIMEOUT_MS = 120_000

/** What sends; its counterpart reads nothing until the sender can send no more. */
type Flow = (sender: Socket) => Promise<void>

let gateway: Subprocess<"ignore", "pipe", "inherit">
let upstream: Server
let url: URL
let onUpstream: (socket: Socket) => void = () => {}

beforeAll(async () => {
  upstream = createServer((socket) => onUpstream(socket.on("error", () => {})))
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "gateway.process.ts"), await serveOn(upstream)], {
    stdio: ["ignore", "pipe", "inherit"],
  })
  gateway = child
  url = new URL(Buffer.from((await child.stdout.getReader().read()).value ?? []).toString())
}, TIMEOUT_MS)
afterAll(async () => {
  gateway.kill()
  await gateway.exited
  upstream.close()
})

/** The most memory the gateway ever held, bytes. */
const peak = (): number =>
  1024 * Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${gateway.pid}/status`, "utf8"))?.[1] ?? Number.NaN)

/** Sends a piece again and again, until so many bytes are gone or the connection is. */
const flood =
  (piece: Buffer, total: number, end: string): Flow =>
  async (sender) => {
    for (let sent = 0; sent < total && !sender.destroyed; sent += piece.length)
      await new Promise<void>((taken) => {
        sender.once("close", taken).write(piece, () => {
          sender.off("close", taken)
          taken()
        })
      })
    sender.write(end)
  }

/** Reads nothing while the sender still gets rid of something, then everything; resolves with the bytes read. */
const readLate = async (reader: Socket, sender: () => Socket | undefined): Promise<number> => {
  reader.pause()
  for (let [before, quiet] = [-1, 0]; quiet < 10; ) {
    await Bun.sleep(20)
    const now = sender()?.bytesWritten ?? -1
    quiet = now === before && now > 0 ? quiet + 1 : 0
    before = now
  }
  let read = 0
  reader.on("data", (bytes) => {
    read += bytes.length
  })
  reader.resume()
  await new Promise((resolve) => reader.once("close", resolve).once("end", resolve))
  return read
}

const answers = async (head: string, flow: Flow): Promise<number> => {
  let sender: Socket | undefined
  onUpstream = (socket) =>
    socket.once("data", async () => {
      sender = socket
      socket.write(head)
      await flow(socket)
      socket.end()
    })
  const client = connect(Number(url.port), url.hostname)
  client.write("GET /open/allowed HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
  return readLate(client, () => sender)
}

const requests = async (line: string, flow: Flow): Promise<number> => {
  const client = connect(Number(url.port), url.hostname)
  const read = new Promise<number>((resolve) => {
    onUpstream = (socket) => resolve(readLate(socket, () => client))
  })
  client.write(`POST /open/allowed HTTP/1.1\r\nHost: h\r\n${line}\r\n\r\n`)
  await flow(client)
  client.end()
  return read
}

const PIECE = Buffer.alloc(64 * 1024, "a")
const CHUNK = Buffer.from(`10000\r\n${PIECE}\r\n`)
const TINY = Buffer.from(`1;x=${"e".repeat(4_000)}\r\na\r\n`.repeat(16))
const OK = "HTTP/1.1 200 OK\r\n"
const CHUNKED = "Transfer-Encoding: chunked"

const LAST = "0\r\n\r\n"

test
  .skipIf(process.platform !== "linux")
  .each<readonly [name: string, pass: (total: number) => Promise<number>, least: number]>([
    [
      "an answer with a length",
      (total) => answers(`${OK}Content-Length: ${total}\r\n\r\n`, flood(PIECE, total, "")),
      1,
    ],
    ["a chunked answer", (total) => answers(`${OK}${CHUNKED}\r\n\r\n`, flood(CHUNK, total, LAST)), 0.99],
    ["a request with a length", (total) => requests(`Content-Length: ${total}`, flood(PIECE, total, "")), 1],
    ["a chunked request", (total) => requests(CHUNKED, flood(CHUNK, total, LAST)), 0.99],
    [
      "an answer of tiny chunks with long extensions",
      (total) => answers(`${OK}${CHUNKED}\r\n\r\n`, flood(TINY, total, LAST)),
      0.0001,
    ],
    ["a request of tiny chunks with long extensions", (total) => requests(CHUNKED, flood(TINY, total, LAST)), 0.0001],
  ])(
  "128 MB of %s pass, and the gateway's memory grows by less than 32 MB",
  async (_name, pass, least) => {
    // What the runtime needs for a flow at all is there after the first.
    await pass(PASSED / 2)
    const before = peak()
    expect(await pass(PASSED)).toBeGreaterThan(PASSED * least)
    expect(peak() - before).toBeLessThan(GROWTH_MAX)
  },
  TIMEOUT_MS,
)
