// Stands between a client and a server, and makes the server go away, fall silent, or come back, at the same address.
import { join } from "node:path"

const PROGRAM = join(import.meta.dir, "tcp_relay.process.ts")

export interface Relay {
  readonly port: number
  /** Ends every connection and takes none: refused, as when the server has died. */
  readonly away: () => Promise<void>
  /** Takes connections and bytes and says nothing, as a server that hangs. */
  readonly silent: () => void
  /** Undoes whichever of the two. */
  readonly back: () => Promise<void>
  readonly stop: () => Promise<void>
}

const freePort = (): number => {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => {} } })
  listener.stop(true)
  return listener.port
}

/** @param to where the server listens */
export const startRelay = async (to: { readonly host: string; readonly port: number }): Promise<Relay> => {
  const port = freePort()
  const start = async () => {
    const words = [String(port), to.host, String(to.port)]
    const child = Bun.spawn([process.execPath, PROGRAM, ...words], { stdio: ["ignore", "pipe", "inherit"] })
    await child.stdout.getReader().read()
    return child
  }
  let child = await start()
  let isAway = false
  const end = async () => {
    isAway = true
    child.kill("SIGKILL")
    await child.exited
  }
  return {
    port,
    away: end,
    silent: () => child.kill("SIGSTOP"),
    back: async () => {
      if (isAway) child = await start()
      else child.kill("SIGCONT")
      isAway = false
    },
    stop: end,
  }
}

/** Host and port of the first server of a MongoDB address, and the address with another server in its place. */
export const mongoPlace = (url: string) => {
  const [, host = "", port = "27017"] = /^mongodb:\/\/(?:[^@/]*@)?([^:/,?]+)(?::(\d+))?/.exec(url) ?? []
  return {
    host,
    port: Number(port),
    through: (relayed: number): string => url.replace(/(?<=\/\/|@)[^@/]+(?=\/)/, `127.0.0.1:${relayed}`),
  }
}
