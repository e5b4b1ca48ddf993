// A TCP proxy that counts: connections of a client can be counted at any server, without the server's help.
import { connect, createServer } from "node:net"

interface CountingProxy {
  readonly port: number
  /** Connections open now. */
  readonly open: () => number
  /** Most connections that were open at once. */
  readonly most: () => number
  readonly stop: () => Promise<void>
}

/** @param target host and port it passes on to */
export const startCountingProxy = async (target: { readonly host: string; readonly port: number }) => {
  let open = 0
  let most = 0
  const server = createServer((client) => {
    most = Math.max(most, ++open)
    const upstream = connect(target.port, target.host)
    client.pipe(upstream).pipe(client)
    const end = () => {
      client.destroy()
      upstream.destroy()
    }
    upstream.on("error", end).on("close", end)
    client.on("error", end).on("close", () => {
      open--
      end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  const proxy: CountingProxy = {
    port: typeof address === "object" && address !== null ? address.port : 0,
    open: () => open,
    most: () => most,
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  }
  return proxy
}
