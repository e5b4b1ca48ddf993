// Load on a service over kept connections. Open: requests are sent at a rate, whatever becomes of those before them, as the
// clients of a busy service do. Closed: a connection sends its next request when it has the answer to the last.
import { connect, type Socket } from "node:net"

/** What became of the requests of a load. */
export interface LoadOutcome {
  readonly seconds: number
  /** Status -> answers that had it. */
  readonly answers: ReadonlyMap<number, number>
  /** Of the answers with status 503, those with `Retry-After`. */
  readonly withRetryAfter: number
  /** Requests whose connection ended without an answer. */
  readonly broken: number
  /** Requests that no connection was free for. */
  readonly unsent: number
  /** Times from sending to the whole answer of the requests that succeeded, milliseconds, ascending. */
  readonly latenciesMs: ReadonlyArray<number>
}

/** A request as it is sent, again and again. */
export interface Requests {
  readonly url: string
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

const bytesOf = ({ method, path, headers, body = "" }: Requests): Buffer => {
  const lines = Object.entries({ host: "h", ...headers, "content-length": String(Buffer.byteLength(body)) })
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.map(([n, v]) => `${n}: ${v}\r\n`).join("")}\r\n${body}`)
}

const makeTally = () => {
  const answers = new Map<number, number>()
  const latenciesMs: Array<number> = []
  const counts = { withRetryAfter: 0, broken: 0, unsent: 0 }
  return {
    counts,
    answered: (status: number, head: string, ms: number) => {
      answers.set(status, (answers.get(status) ?? 0) + 1)
      if (status < 300) latenciesMs.push(ms)
      if (status === 503 && /^retry-after: *\d+\r?$/im.test(head)) counts.withRetryAfter++
    },
    outcome: (seconds: number): LoadOutcome => ({
      seconds,
      answers,
      ...counts,
      latenciesMs: latenciesMs.sort((a, b) => a - b),
    }),
  }
}

/** A connection that has one request under way at most. */
interface Lane {
  readonly send: () => void
  readonly close: () => void
}

/**
 * @param idle called when the connection is ready to send: at first, and after each answer
 * @param lost called when it has ended
 */
const openLane = (
  requests: Requests,
  tally: ReturnType<typeof makeTally>,
  idle: (lane: Lane) => void,
  lost: (lane: Lane) => void,
): Lane => {
  const { hostname, port } = new URL(requests.url)
  const bytes = bytesOf(requests)
  const socket: Socket = connect(Number(port), hostname)
  let received = ""
  let sentAtMs = 0
  const lane: Lane = {
    send: () => {
      sentAtMs = performance.now()
      socket.write(bytes)
    },
    close: () => socket.destroy(),
  }
  socket.setEncoding("latin1")
  socket.on("connect", () => idle(lane))
  socket.on("data", (text: string) => {
    received += text
    const end = received.indexOf("\r\n\r\n")
    const head = received.slice(0, Math.max(end, 0))
    const length = Number(/content-length: *(\d+)/i.exec(head)?.[1] ?? 0)
    if (end < 0 || received.length < end + 4 + length) return
    tally.answered(Number(head.slice(9, 12)), head, performance.now() - sentAtMs)
    received = ""
    sentAtMs = 0
    idle(lane)
  })
  socket.on("error", () => {})
  socket.on("close", () => {
    if (sentAtMs > 0) tally.counts.broken++
    lost(lane)
  })
  return lane
}

/** How long the last answers are waited for when a load ends. */
const LAST_ANSWERS_MS = 20_000

const settle = async (busy: () => number, lanes: Iterable<Lane>): Promise<void> => {
  const deadline = performance.now() + LAST_ANSWERS_MS
  while (busy() > 0 && performance.now() < deadline) await Bun.sleep(5)
  for (const lane of lanes) lane.close()
}

/** Sends on so many connections, each as fast as it is answered. */
export const closedLoad = async (requests: Requests, connections: number, seconds: number): Promise<LoadOutcome> => {
  const tally = makeTally()
  const startedAt = performance.now()
  const isOver = () => performance.now() - startedAt >= seconds * 1000
  const lanes = new Set<Lane>()
  let busy = connections
  const next = (lane: Lane) => {
    if (isOver()) busy--
    else lane.send()
  }
  const lost = (lane: Lane) => {
    if (lanes.delete(lane) && !isOver()) busy--
  }
  for (let each = 0; each < connections; each++) lanes.add(openLane(requests, tally, next, lost))
  await settle(() => busy, lanes)
  return tally.outcome(seconds)
}

/** How often an open load sends what is due. */
const BETWEEN_BATCHES_MS = 5

/**
 * Sends so many requests a second, on up to so many connections.
 *
 * @param observe called every 5 ms while it sends
 */
export const openLoad = async (
  requests: Requests,
  perSecond: number,
  connectionsMax: number,
  seconds: number,
  observe: () => unknown = () => {},
): Promise<LoadOutcome> => {
  const tally = makeTally()
  const lanes = new Set<Lane>()
  const free: Array<Lane> = []
  const lost = (lane: Lane) => {
    lanes.delete(lane)
    const at = free.indexOf(lane)
    if (at >= 0) free.splice(at, 1)
  }
  const startedAt = performance.now()
  let due = 0
  for (;;) {
    const elapsed = Math.min((performance.now() - startedAt) / 1000, seconds)
    for (; due < elapsed * perSecond; due++) {
      const lane = free.pop()
      if (lane !== undefined) lane.send()
      else if (lanes.size >= connectionsMax) tally.counts.unsent++
      else
        lanes.add(
          openLane(
            requests,
            tally,
            withFirst(
              (each) => each.send(),
              (each) => void free.push(each),
            ),
            lost,
          ),
        )
    }
    if (elapsed >= seconds) break
    observe()
    await Bun.sleep(BETWEEN_BATCHES_MS)
  }
  await settle(() => lanes.size - free.length, lanes)
  return tally.outcome(seconds)
}

/** One function for the first call, another for all after it. */
const withFirst = <A>(first: (value: A) => void, later: (value: A) => void): ((value: A) => void) => {
  let call = first
  return (value) => {
    call(value)
    call = later
  }
}

/** The value that this share of an ascending list does not exceed. */
export const quantile = (ascending: ReadonlyArray<number>, share: number): number =>
  ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))] ?? Number.NaN
