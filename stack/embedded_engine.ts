import { spawn } from "node:child_process"
import { closeSync, openSync } from "node:fs"
import { Effect } from "effect"
import { bunPath, siblingOf } from "./bun_path.ts"
import { StackFailed } from "./errors.ts"
import { identify, isRunning, signal } from "./process_identity.ts"
import { SERVICES, type Service, type StackState, stackFiles } from "./state.ts"

const ENTRIES: Readonly<Record<Service, string>> = {
  upstream: "upstream/upstream_main",
  idp: "idp/idp_main",
  gateway: "gateway/gateway_main",
}

/** Milliseconds a process gets to end by itself. */
const STOP_MS = 5000
const POLL_MS = 20

const startOne = (home: string, service: Service) => {
  const log = openSync(stackFiles(home).log(service), "a", 0o600)
  const child = spawn(bunPath(), [siblingOf(import.meta.url, ENTRIES[service]), home], {
    // Its own session and no pipe to us: it survives this process and the shell. It inherits none of the shell's secrets.
    detached: true,
    stdio: ["ignore", log, log],
    cwd: stackFiles(home).folder,
    env: {},
  })
  closeSync(log)
  child.unref()
  const identity = child.pid === undefined ? undefined : identify(child.pid)
  if (identity === undefined) throw new Error("the process ended at once")
  return { service, ...identity }
}

const ended = (processes: StackState["processes"]): boolean => processes.every((each) => !isRunning(each))

/** Stops processes: asks, waits, and then insists. Only the very processes that were started are touched. */
export const stopProcesses = Effect.fnUntraced(function* (processes: StackState["processes"]) {
  for (const name of ["SIGTERM", "SIGKILL"] as const) {
    for (const each of processes) signal(each, name)
    for (let waited = 0; waited < STOP_MS && !ended(processes); waited += POLL_MS) yield* Effect.sleep(POLL_MS)
  }
})

/**
 * Starts the three processes of the embedded engine. They read the state file, which must be there already.
 *
 * @fails {StackFailed} when one cannot be started at all; those before it are stopped again
 */
export const startProcesses = Effect.fnUntraced(function* (home: string) {
  const started: Array<StackState["processes"][number]> = []
  for (const service of SERVICES)
    started.push(
      yield* Effect.try({
        try: () => startOne(home, service),
        catch: () => new StackFailed({ part: service, reason: "its process could not be started", log: [] }),
      }).pipe(Effect.tapError(() => stopProcesses(started))),
    )
  return started
})
