import { createServer, type Server } from "node:net"

/** Every part of the stack listens here and nowhere else. */
export const LOOPBACK = "127.0.0.1"

/** Starts listening on the loopback interface. */
export const listen = (server: Server, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once("error", reject)
    server.listen(port, LOOPBACK, () => {
      server.off("error", reject)
      resolve()
    })
  })

const close = (server: Server): Promise<void> => new Promise((resolve) => server.close(() => resolve()))

/**
 * Finds out whether a port can be taken now.
 *
 * @param port 0 takes any free one
 * @returns the port, or `undefined` when it is busy
 */
export const probePort = async (port: number): Promise<number | undefined> => {
  const server = createServer()
  try {
    await listen(server, port)
    const address = server.address()
    return typeof address === "object" && address !== null ? address.port : undefined
  } catch {
    return undefined
  } finally {
    await close(server)
  }
}
