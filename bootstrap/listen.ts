import type { Front } from "../adapters/driving/http/front.ts"

/** Seconds without a byte in either direction after which a connection is closed: a sender who stalls is dropped. */
const IDLE_TIMEOUT_S = 30

/**
 * The runtime judges nothing: its 413 would come before our 401 and without a body. Ours comes at 1 MiB, and what a
 * refused caller goes on sending is dropped as it arrives.
 */
const RUNTIME_BODY_BYTES_MAX = Number.MAX_SAFE_INTEGER

/** Time for running requests to finish once the service was told to stop, milliseconds. */
const GRACE_MS = 10_000

const POLL_MS = 10

/** Time for the last answers to leave the socket, milliseconds. */
const FLUSH_MS = 50

export interface Listener {
  readonly url: string
  /** Takes no new connection, lets running requests finish (up to {@link GRACE_MS}), closes the rest. */
  readonly stop: () => Promise<void>
}

/**
 * Listens with Bun's HTTP server.
 *
 * @param where.port 0 takes any free port
 * @throws when the address cannot be bound
 */
export const listen = (
  front: Front,
  where: { readonly hostname: string; readonly port: number; readonly idleTimeoutS?: number },
): Listener => {
  const server = Bun.serve({
    hostname: where.hostname,
    port: where.port,
    // A second instance on the same port must fail, not share it silently.
    reusePort: false,
    idleTimeout: where.idleTimeoutS ?? IDLE_TIMEOUT_S,
    maxRequestBodySize: RUNTIME_BODY_BYTES_MAX,
    fetch: (request) => front.fetch(request),
  })
  const host = where.hostname.includes(":") ? `[${where.hostname}]` : where.hostname
  return {
    url: `http://${host}:${server.port}`,
    stop: async () => {
      const closed = server.stop()
      const deadline = performance.now() + GRACE_MS
      while (front.running() > 0 && performance.now() < deadline) await Bun.sleep(POLL_MS)
      // Idle keep-alive connections would hold the server open for as long as their clients like.
      await Promise.race([closed, Bun.sleep(FLUSH_MS)])
      await server.stop(true)
    },
  }
}
