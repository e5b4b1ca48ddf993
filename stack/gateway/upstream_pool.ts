import { type UpstreamAnswer, UpstreamConnection, UpstreamFailed, type UpstreamRequest } from "./upstream_connection.ts"

/** How often connections are looked at, milliseconds. */
const TICK_MS = 1_000

/** Time the upstream may take until its answer begins, once it has the request, milliseconds. */
const ANSWER_MS = 30_000

/** Time an idle connection is kept, milliseconds: shorter than servers usually wait before they close theirs. */
const IDLE_MS = 3_000

/** Idle connections kept. */
const IDLE_MAX = 256

/** Methods that may be asked again when nothing of an answer came (RFC 9110 section 9.2.2). */
const IDEMPOTENT = /^(GET|HEAD|OPTIONS|TRACE|PUT|DELETE)$/

/** The upstream did not begin to answer in time. */
export class UpstreamTimedOut extends Error {
  override readonly name = "UpstreamTimedOut"
}

/** The connections to one upstream. */
export interface UpstreamPool {
  /**
   * Sends a request; resolves when the head of its answer has come.
   *
   * @throws {UpstreamFailed} when there is no answer
   * @throws {UpstreamTimedOut} when it has not begun within {@link ANSWER_MS}
   */
  readonly exchange: (request: UpstreamRequest) => Promise<UpstreamAnswer>
  /** Closes every idle connection. */
  readonly close: () => void
}

/** @param origin of the upstream: `http`, a host and a port */
export const upstreamPool = (origin: string): UpstreamPool => {
  const { hostname, port } = new URL(origin)
  const address = { hostname, port: Number(port) }
  const idle: Array<{ readonly connection: UpstreamConnection; readonly since: number }> = []
  /** Running exchanges and when they time out. */
  const running = new Map<UpstreamConnection, number>()
  const late = new WeakSet<UpstreamConnection>()
  let now = performance.now()
  let closed = false

  const onIdle = (connection: UpstreamConnection): void => {
    if (closed || idle.length >= IDLE_MAX) connection.abandon("not needed")
    else idle.push({ connection, since: now })
  }

  const timer = setInterval(() => {
    now = performance.now()
    while (idle[0] !== undefined && now - idle[0].since > IDLE_MS) idle.shift()?.connection.abandon("idle")
    for (const [connection, deadline] of running)
      if (now > deadline) {
        late.add(connection)
        connection.abandon("no answer in time")
      }
  }, TICK_MS)
  timer.unref()

  /** An idle connection; the one used last is the least likely to be closed. */
  const reusable = (): UpstreamConnection | undefined => {
    for (;;) {
      const last = idle.pop()
      if (last === undefined || last.connection.isOpen) return last?.connection
    }
  }

  const exchangeOver = async (connection: UpstreamConnection, request: UpstreamRequest): Promise<UpstreamAnswer> => {
    let over = false
    const wait = () => {
      if (!over) running.set(connection, now + ANSWER_MS)
    }
    wait()
    request.whenGone?.(() => {
      if (!over) connection.abandon("the client is gone")
    })
    try {
      return await connection.exchange(request, wait)
    } catch (failure) {
      connection.abandon("the exchange failed")
      if (late.has(connection)) throw new UpstreamTimedOut("no answer in time")
      throw failure
    } finally {
      over = true
      running.delete(connection)
    }
  }

  return {
    exchange: async (request) => {
      // A server may close an idle connection at any moment; what must not be sent twice is not risked on one.
      const repeatable = IDEMPOTENT.test(request.method) && !(request.body instanceof ReadableStream)
      const known = repeatable ? reusable() : undefined
      if (known !== undefined)
        try {
          return await exchangeOver(known, request)
        } catch (failure) {
          if (!(failure instanceof UpstreamFailed && failure.unanswered)) throw failure
        }
      return exchangeOver(await UpstreamConnection.open(address, onIdle), request)
    },
    close: () => {
      closed = true
      clearInterval(timer)
      for (const { connection } of idle.splice(0)) connection.abandon("the gateway stops")
    },
  }
}
