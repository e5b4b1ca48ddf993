import type { Server } from "node:http"
import { listen } from "./loopback.ts"
import { openLog, type ServiceLog } from "./service_log.ts"
import { readState, type StackState } from "./state.ts"

/** Milliseconds open requests get to finish after SIGTERM. */
const GRACE_MS = 3000

/** A server that listens. */
export interface Running {
  /** Takes no more connections and lets open requests finish. */
  readonly stop: () => Promise<void>
}

/** Starts one of Node's servers on the loopback interface. */
export const running = async (server: Server, port: number): Promise<Running> => {
  await listen(server, port)
  return {
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeIdleConnections()
      }),
  }
}

/**
 * Runs one process of the embedded engine until it is told to stop.
 *
 * Its last argument is the product's home folder: secrets come from the state file there, so none shows in the list of
 * processes.
 */
export const runService = async (
  service: string,
  start: (state: StackState, log: ServiceLog) => Promise<Running>,
): Promise<void> => {
  const state = readState(process.argv.at(-1) ?? "")
  if (state === undefined) throw new Error("the stack's state cannot be read")
  const { control, userPassword, webClient, serviceClient } = state.secrets
  const log = openLog([control, userPassword, webClient, serviceClient])
  const server = await start(state, log)
  log.write({ message: `${service} listens` })
  const stop = () => {
    log.write({ message: `${service} stops` })
    setTimeout(() => process.exit(0), GRACE_MS).unref()
    server.stop().then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }
  process.once("SIGTERM", stop)
  process.once("SIGINT", stop)
  // The shell that ran `up` may close; the stack stays until `down`.
  process.on("SIGHUP", () => {})
}
