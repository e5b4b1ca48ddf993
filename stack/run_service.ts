import type { Server } from "node:http"
import { listen } from "./loopback.ts"
import { openLog, type ServiceLog } from "./service_log.ts"
import { readState, type StackState } from "./state.ts"

/** Milliseconds open requests get to finish after SIGTERM. */
const GRACE_MS = 3000

/**
 * Runs one process of the embedded engine until it is told to stop.
 *
 * Its only argument is the product's home folder: secrets come from the state file there, so none shows in the list of
 * processes.
 */
export const runService = async (
  service: string,
  port: (state: StackState) => number,
  makeServer: (state: StackState, log: ServiceLog) => Server,
): Promise<void> => {
  const state = readState(process.argv[2] ?? "")
  if (state === undefined) throw new Error("the stack's state cannot be read")
  const log = openLog()
  const server = makeServer(state, log)
  await listen(server, port(state))
  log.write({ message: `${service} listens`, port: port(state) })
  const stop = () => {
    log.write({ message: `${service} stops` })
    server.close(() => process.exit(0))
    setTimeout(() => process.exit(0), GRACE_MS).unref()
    server.closeIdleConnections()
  }
  process.once("SIGTERM", stop)
  process.once("SIGINT", stop)
  // The shell that ran `up` may close; the stack stays until `down`.
  process.on("SIGHUP", () => {})
}
