// Clients that hold what they can get: connections, unfinished requests, answers that they do not read, bad tokens.
import { connect, type Socket } from "node:net"
import { base64url } from "./tokens.ts"

/** Where the clients go. */
export interface Target {
  readonly url: string
  /** `Authorization` of a caller whom the realm knows. */
  readonly authorization: string
}

/** A kind of hostile client. */
export interface HostileKind {
  readonly name: string
  /** Written as soon as the connection is there; the number of the client tells it from the others. */
  readonly first: (target: Target, client: number) => string
  /** Written once a second after that; nothing when omitted. */
  readonly drip?: (target: Target, client: number) => string
  /** True for one that never reads. */
  readonly deaf?: boolean
}

const head = (line: string, more: ReadonlyArray<string> = []): string =>
  [`${line} HTTP/1.1`, "Host: h", ...more, "", ""].join("\r\n")

const post = (more: ReadonlyArray<string>) =>
  head("POST /api/products", ["Content-Type: application/json", "Content-Length: 1000", ...more])

/** Of the form of a token of the realm, with an expiry in the year 2100; nobody signed it. */
const [CLAIMS, SIGNATURE] = [base64url({ typ: "Bearer", exp: 4_102_444_800 }), base64url(Buffer.alloc(256, 7))]

let kids = 0
const withUnknownKey = (): string => {
  const token = `${base64url({ alg: "RS256", typ: "JWT", kid: `unknown-${kids++}` })}.${CLAIMS}.${SIGNATURE}`
  return head("GET /api/products/1", [`Authorization: Bearer ${token}`])
}

/** Every kind of hostile client. */
export const HOSTILE_KINDS: ReadonlyArray<HostileKind> = [
  { name: "idle connections", first: () => "" },
  { name: "slow heads", first: () => "GET /api/products HTTP/1.1\r\nHost: h\r\nX-Slow: ", drip: () => "a" },
  { name: "slow bodies, no token", first: () => post([]), drip: () => " " },
  {
    name: "slow bodies, a good token",
    first: ({ authorization }) => post([`Authorization: ${authorization}`]),
    drip: () => " ",
  },
  { name: "a large page never read, no token", first: () => head("GET /openapi/swagger-ui-bundle.js"), deaf: true },
  {
    name: "a list never read, a good token",
    first: ({ authorization }) => head("GET /api/products?limit=1000", [`Authorization: ${authorization}`]),
    deaf: true,
  },
  { name: "tokens with unknown keys", first: withUnknownKey, drip: withUnknownKey },
]

/** Opens so many connections of a kind at once. */
export const openHostile = (kind: HostileKind, target: Target, count: number) => {
  const { hostname, port } = new URL(target.url)
  const open = new Set<Socket>()
  for (let client = 0; client < count; client++) {
    const socket = connect(Number(port), hostname)
    open.add(socket)
    if (kind.deaf === true) socket.pause()
    else socket.resume()
    socket.on("connect", () => socket.write(kind.first(target, client)))
    // The service may close the connection at any time: that is its defence.
    socket.on("error", () => {})
    socket.on("close", () => open.delete(socket))
  }
  const dripping = setInterval(() => {
    let client = 0
    for (const socket of open)
      if (!socket.connecting && kind.drip !== undefined) socket.write(kind.drip(target, client++))
  }, 1_000)
  return {
    /** Connections that the service has not closed. */
    held: () => open.size,
    close: () => {
      clearInterval(dripping)
      for (const socket of open) socket.destroy()
    },
  }
}

/** What a good client saw beside them. */
export interface GoodClient {
  readonly requests: number
  /** What went wrong: a status that is no success, or a failed exchange. */
  readonly errors: ReadonlyArray<string>
  readonly slowestMs: number
}

/** A client that reads and creates, ten times a second, each time on a new connection, until told to stop. */
export const startGoodClient = ({ url, authorization }: Target) => {
  const errors: Array<string> = []
  let [requests, slowestMs, stopped] = [0, 0, false]
  const create = { method: "POST", body: '{"name":"anchor"}' }
  const one = async (init: RequestInit, path: string) => {
    const startedAt = performance.now()
    const headers = { authorization, "content-type": "application/json", connection: "close" }
    try {
      const answer = await fetch(url + path, { ...init, headers })
      await answer.text()
      if (!answer.ok) errors.push(String(answer.status))
    } catch (failure) {
      errors.push(String(failure))
    }
    requests++
    slowestMs = Math.max(slowestMs, performance.now() - startedAt)
  }
  const run = async () => {
    while (!stopped) {
      await one(create, "/api/products")
      await one({}, "/api/products?limit=10")
      await Bun.sleep(200)
    }
  }
  const running = run()
  return {
    stop: async (): Promise<GoodClient> => {
      stopped = true
      await running
      return { requests, errors, slowestMs }
    },
  }
}
