import type { Socket } from "bun"
import { Connection } from "./connection.ts"
import type { ConnectionOptions } from "./connection_options.ts"

/** How often connections are looked at for one whose time has passed, milliseconds. */
const TICK_MS = 500

export interface HttpServerOptions extends ConnectionOptions {
  readonly hostname: string
  /** TCP port; 0 takes any free one. */
  readonly port: number
  /** Time for running requests once the server was told to stop, milliseconds. */
  readonly graceMs: number
}

export interface HttpServer {
  readonly port: number
  /** Connections that are open now. */
  readonly connections: () => number
  /** Takes no new connection, closes idle ones, lets running requests be answered; what takes longer is dropped. */
  readonly stop: () => Promise<void>
}

/**
 * An HTTP/1.1 server over Bun's sockets: requests as they were sent, answered in order.
 *
 * @throws when the address cannot be bound
 */
export const serveHttp = ({ hostname, port, graceMs, ...options }: HttpServerOptions): HttpServer => {
  const clock = { now: performance.now(), date: new Date().toUTCString() }
  const open = new Set<Connection>()
  let onEmpty = () => {}
  let stopping = false

  const listener = Bun.listen<Connection>({
    hostname,
    port,
    // A second instance on the same port must fail, not share it silently.
    exclusive: true,
    allowHalfOpen: true,
    socket: {
      open: (socket: Socket<Connection>) => {
        const connection = new Connection(
          {
            write: (piece) => socket.write(piece),
            pause: () => socket.pause(),
            resume: () => socket.resume(),
            end: () => socket.shutdown(),
            terminate: () => socket.terminate(),
          },
          options,
          clock,
        )
        socket.data = connection
        open.add(connection)
        if (stopping) connection.stop()
      },
      data: ({ data }, bytes) => data.received(bytes),
      drain: ({ data }) => data.drained(),
      end: ({ data }) => data.peerEnded(),
      close: ({ data }) => {
        open.delete(data)
        data.closed()
        if (open.size === 0) onEmpty()
      },
      // A broken connection is closed next; there is nobody to tell.
      error: () => {},
    },
  })

  const timer = setInterval(() => {
    clock.now = performance.now()
    clock.date = new Date().toUTCString()
    for (const connection of open) connection.checkTime()
  }, TICK_MS)

  return {
    port: listener.port,
    connections: () => open.size,
    stop: async () => {
      stopping = true
      listener.stop()
      for (const connection of open) connection.stop()
      if (open.size > 0) {
        const { promise, resolve } = Promise.withResolvers<void>()
        onEmpty = resolve
        const grace = setTimeout(resolve, graceMs)
        await promise
        clearTimeout(grace)
      }
      clearInterval(timer)
      listener.stop(true)
    },
  }
}
