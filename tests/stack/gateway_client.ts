// The gateway's side of its plugin protocol, written byte for byte and sharing no code with the plugin server: frames,
// varints and fields by hand, as the gateway's own client sends and reads them.
import { connect, type Socket } from "node:net"

type Bytes = Uint8Array

const varint = (value: number): Bytes => {
  const bytes: Array<number> = []
  let rest = value
  do {
    bytes.push((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0))
    rest = Math.floor(rest / 128)
  } while (rest > 0)
  return Uint8Array.from(bytes)
}

const join = (...parts: ReadonlyArray<Bytes>): Bytes => new Uint8Array(Buffer.concat(parts))
const number = (field: number, value: number): Bytes => join(varint(field * 8), varint(value))
const bytes = (field: number, value: Bytes | string): Bytes => {
  // The gateway puts the bytes of a request into its messages as they came.
  const content = typeof value === "string" ? Buffer.from(value, "latin1") : value
  return join(varint(field * 8 + 2), varint(content.length), content)
}

/** Fields of a message: number -> values in order, as numbers or bytes. */
const fields = (message: Bytes): ReadonlyMap<number, ReadonlyArray<number | Buffer>> => {
  const found = new Map<number, Array<number | Buffer>>()
  let at = 0
  const next = (): number => {
    let [value, shift] = [0, 1]
    for (;;) {
      const byte = message[at++] ?? 0
      value += (byte & 0x7f) * shift
      shift *= 128
      if (byte < 0x80) return value
    }
  }
  while (at < message.length) {
    const key = next()
    const field = Math.floor(key / 8)
    const length = key % 8 === 2 ? next() : undefined
    const value = length === undefined ? next() : Buffer.from(message.subarray(at, at + length))
    if (length !== undefined) at += length
    found.set(field, [...(found.get(field) ?? []), value])
  }
  return found
}

const text = (value: number | Buffer | undefined): string =>
  value instanceof Buffer ? value.toString("latin1") : String(value ?? "")
const one = (message: Bytes, field: number): number | Buffer | undefined => fields(message).get(field)?.[0]
const inner = (message: Bytes, field: number): Bytes => {
  const value = one(message, field)
  return value instanceof Buffer ? value : new Uint8Array()
}

/** `google.protobuf.Value` of a text or a list of texts. */
const value = (content: string | ReadonlyArray<string>): Bytes =>
  typeof content === "string" ? bytes(3, content) : bytes(6, join(...content.map((each) => bytes(1, value(each)))))

const struct = (entries: Readonly<Record<string, string | ReadonlyArray<string>>>): Bytes =>
  join(...Object.entries(entries).map(([name, content]) => bytes(1, join(bytes(1, name), bytes(2, value(content))))))

const readValue = (message: Bytes): string | ReadonlyArray<string> =>
  fields(message).has(6)
    ? (fields(inner(message, 6)).get(1) ?? []).map((each) => String(readValue(each as Buffer)))
    : text(one(message, 3))

const readStruct = (message: Bytes): Record<string, string | ReadonlyArray<string>> =>
  Object.fromEntries(
    (fields(message).get(1) ?? []).map((entry) => {
      const pair = entry as Buffer
      return [text(one(pair, 1)), readValue(inner(pair, 2))]
    }),
  )

/** A request as the gateway holds it. */
export interface HeldRequest {
  readonly method?: string
  readonly target: string
  readonly headers?: Readonly<Record<string, string | ReadonlyArray<string>>>
}

/** What became of it: an answer to the client, or a request that reached the upstream. */
export interface Outcome {
  readonly status: number
  readonly body: string
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string>>>
  /** What the upstream would see; only when it was asked. */
  readonly upstream?: { readonly path: string; readonly headers: ReadonlyMap<string, string> }
}

const SENTINEL: Outcome = { status: 500, body: '{"message":"authorization did not run"}', headers: {} }

/** Milliseconds the gateway waits for its plugin server. */
const READ_MS = 1500

class Connection {
  readonly #socket: Socket
  #waiting = Buffer.alloc(0)
  #wake: () => void = () => {}
  #ended = false

  constructor(path: string) {
    this.#socket = connect(path)
    this.#socket.on("data", (chunk: Buffer) => {
      this.#waiting = Buffer.concat([this.#waiting, chunk])
      this.#wake()
    })
    const end = () => {
      this.#ended = true
      this.#wake()
    }
    this.#socket.on("close", end).on("error", end)
  }

  /** The next frame, or nothing when the server is gone or too slow. */
  async read(): Promise<Buffer | undefined> {
    const deadline = Date.now() + READ_MS
    const whole = () => this.#waiting.length >= 4 && this.#waiting.length >= 4 + this.#waiting.readUInt32LE()
    while (!whole()) {
      if (this.#ended || Date.now() >= deadline) return undefined
      await new Promise<void>((resolve) => {
        this.#wake = resolve
        setTimeout(resolve, deadline - Date.now()).unref()
      })
    }
    const length = this.#waiting.readUInt32LE()
    const frame = this.#waiting.subarray(4, 4 + length)
    this.#waiting = this.#waiting.subarray(4 + length)
    return frame
  }

  write(frame: Bytes): void {
    const head = Buffer.alloc(4)
    head.writeUInt32LE(frame.length)
    // In two pieces, and the head cut in two: frames do not keep to packets.
    this.#socket.write(head.subarray(0, 2))
    this.#socket.write(Buffer.concat([head.subarray(2), frame]))
  }

  close(): void {
    this.#socket.destroy()
  }
}

let sequence = 0

/** One call that is no event: `field` is the number of the command. */
export const callPlugin = async (
  path: string,
  field: number,
  command: Bytes,
): Promise<ReadonlyMap<number, ReadonlyArray<number | Buffer>>> => {
  const connection = new Connection(path)
  try {
    connection.write(join(number(1, ++sequence), bytes(field, command)))
    const answer = await connection.read()
    if (answer === undefined) throw new Error("no answer")
    return fields(answer)
  } finally {
    connection.close()
  }
}

export const startInstance = async (path: string): Promise<number> => {
  const answer = await callPlugin(path, 33, join(bytes(1, "portolan-gate"), bytes(2, "{}")))
  return Number(one((answer.get(33)?.[0] ?? Buffer.alloc(0)) as Buffer, 2) ?? 0)
}

/**
 * Passes a request through the plugin and then the sentinel, as the gateway does: an event that breaks is only logged,
 * and the next plugin runs.
 */
export const passThrough = async (path: string, request: HeldRequest, instance = 1): Promise<Outcome> => {
  const connection = new Connection(path)
  const shared = new Map<string, string>()
  const headers = new Map<string, string>()
  for (const [name, content] of Object.entries(request.headers ?? {}))
    headers.set(name, typeof content === "string" ? content : content.join(", "))
  let upstreamPath = request.target.split("?", 1)[0] ?? ""
  const afterwards = (): Outcome =>
    shared.get("gate") === "allow"
      ? { status: 200, body: "", headers: {}, upstream: { path: upstreamPath, headers } }
      : SENTINEL
  const answers: Readonly<Record<string, (args: Buffer) => Bytes>> = {
    "kong.request.get_method": () => bytes(1, request.method ?? "GET"),
    "kong.nginx.get_var": (args) => bytes(1, text(one(args, 1)) === "request_uri" ? request.target : ""),
    "kong.request.get_headers": () => struct(request.headers ?? {}),
    "kong.service.request.clear_header": (args) => {
      headers.delete(text(one(args, 1)))
      return new Uint8Array()
    },
    "kong.service.request.set_header": (args) => {
      headers.set(text(one(args, 1)), String(readValue(inner(args, 2))))
      return new Uint8Array()
    },
    "kong.service.request.set_path": (args) => {
      upstreamPath = text(one(args, 1))
      return new Uint8Array()
    },
    "kong.ctx.shared.set": (args) => {
      shared.set(text(one(args, 1)), String(readValue(inner(args, 2))))
      return new Uint8Array()
    },
  }
  try {
    connection.write(join(number(1, ++sequence), bytes(36, join(number(1, instance), bytes(2, "access")))))
    for (;;) {
      const method = await connection.read()
      if (method === undefined) return afterwards()
      if (method.length === 0) break
      const args = await connection.read()
      if (args === undefined) return afterwards()
      if (method.toString() === "kong.response.exit")
        return { status: Number(one(args, 1)), body: text(one(args, 2)), headers: readStruct(inner(args, 3)) }
      const answer = answers[method.toString()]
      if (answer === undefined) throw new Error(`the gateway knows no ${method.toString()}`)
      connection.write(answer(args))
    }
    const done = await connection.read()
    if (done !== undefined && Number(one(done, 1)) !== sequence) throw new Error("answer to another call")
    return afterwards()
  } finally {
    connection.close()
  }
}
