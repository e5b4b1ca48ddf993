import { spawn } from "node:child_process"
import { closeSync, openSync } from "node:fs"
import { Effect, Schedule } from "effect"
import { StackFailed } from "./errors.ts"
import { identify, isRunning, signal } from "./process_identity.ts"
import { bunPath, isExecutable, PART_WORD, siblingOf } from "./program.ts"
import { SERVICES, type Service, type StackState, stackFiles } from "./state.ts"

const ENTRIES: Readonly<Record<Service, string>> = {
  upstream: "upstream/upstream_main",
  idp: "idp/idp_main",
  gateway: "gateway/gateway_main",
}

/** Time a process gets to end by itself, milliseconds. */
const STOP_MS = 5000

/** Time between two looks at whether processes have ended, milliseconds. */
const POLL_MS = 20

/** The command line of a service's process, but for its last word. */
const commandOf = (service: Service): readonly [program: string, ...words: ReadonlyArray<string>] =>
  isExecutable() ? [process.execPath, PART_WORD, service] : [bunPath(), siblingOf(import.meta.url, ENTRIES[service])]

const startOne = (home: string, service: Service) => {
  const log = openSync(stackFiles(home).log(service), "a", 0o600)
  const [program, ...words] = commandOf(service)
  const child = spawn(program, [...words, home], {
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

/** Waits until processes have ended, {@link STOP_MS} at most. */
const untilEnded = (processes: StackState["processes"]) =>
  Effect.sync(() => processes.every((each) => !isRunning(each))).pipe(
    Effect.repeat({ until: (ended) => ended, schedule: Schedule.spaced(POLL_MS), times: STOP_MS / POLL_MS }),
  )

/**
 * Stops processes by SIGTERM, and by SIGKILL those that still run after 5 s. A process that has taken the number of one that
 * ended is not touched.
 */
export const stopProcesses = Effect.fnUntraced(function* (processes: StackState["processes"]) {
  for (const name of ["SIGTERM", "SIGKILL"] as const) {
    for (const each of processes) signal(each, name)
    yield* untilEnded(processes)
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
