// `portolan` as a process of its own: its words, its environment, everything it writes, its end.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { KEYS, pemOf, tokenKit } from "./tokens.ts"

/** `portolan` from source. */
export const FROM_SOURCE: ReadonlyArray<string> = [process.execPath, join(import.meta.dir, "../../bootstrap/main.ts")]

type Environment = Readonly<Record<string, string>>

export interface ServiceProcess {
  readonly pid: number
  readonly stdout: () => string
  readonly stderr: () => string
  /** The first match in what it wrote; waits for it. Fails when the process ends without. */
  readonly shows: (pattern: RegExp) => Promise<RegExpExecArray>
  /** Address of the public listener, once it listens. */
  readonly url: () => Promise<string>
  readonly signal: (name: NodeJS.Signals) => void
  /** The exit code, once it has ended and all its output has been read. */
  readonly ended: Promise<number>
}

const running = new Set<ServiceProcess>()
const folders = new Set<string>()

/** A folder for the state of processes, gone after {@link endProcesses}. */
export const newHome = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-process-"))
  folders.add(folder)
  return folder
}

/**
 * Starts `portolan` with these words on any free port, with a state folder of its own unless `environment` names one.
 * Nothing of this process's environment reaches it but what a program needs to run.
 *
 * @param program what stands before the words: from source when omitted, or a path to the executable
 */
export const startProcess = (
  words: ReadonlyArray<string>,
  environment: Environment = {},
  program: ReadonlyArray<string> = FROM_SOURCE,
): ServiceProcess => {
  const child = Bun.spawn([...program, ...words], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    env: {
      PATH: process.env["PATH"],
      HOME: process.env["HOME"],
      PORT: "0",
      PORTOLAN_HOME: environment["PORTOLAN_HOME"] ?? newHome(),
      ...environment,
    },
  })
  const written = { stdout: "", stderr: "" }
  let changed = Promise.withResolvers<void>()
  const collect = async (name: keyof typeof written) => {
    for await (const text of child[name].pipeThrough(new TextDecoderStream())) {
      written[name] += text
      changed.resolve()
      changed = Promise.withResolvers<void>()
    }
  }
  const ended = Promise.all([child.exited, collect("stdout"), collect("stderr")]).then(([code]) => code)
  let over = false
  const shows = async (pattern: RegExp): Promise<RegExpExecArray> => {
    for (;;) {
      const match = pattern.exec(written.stdout) ?? pattern.exec(written.stderr)
      if (match !== null) return match
      if (over) throw new Error(`It ended without showing ${pattern}:\n${written.stdout}${written.stderr}`)
      await changed.promise
    }
  }
  const started: ServiceProcess = {
    pid: child.pid,
    stdout: () => written.stdout,
    stderr: () => written.stderr,
    shows,
    url: async () => (await shows(/"message":"Listening","url":"([^"]+)"/))[1] ?? "",
    signal: (name) => child.kill(name),
    ended,
  }
  running.add(started)
  void ended.then(() => {
    over = true
    running.delete(started)
    changed.resolve()
  })
  return started
}

/** Runs `portolan` to its end. */
export const runProcess = async (
  words: ReadonlyArray<string>,
  environment: Environment = {},
  program: ReadonlyArray<string> = FROM_SOURCE,
) => {
  const started = startProcess(words, environment, program)
  const code = await started.ended
  return { code, stdout: started.stdout(), stderr: started.stderr() }
}

/** Ends it in order: SIGTERM, and its exit code. */
export const stop = (service: ServiceProcess): Promise<number> => {
  service.signal("SIGTERM")
  return service.ended
}

/** Kills what still runs and removes the state folders: for `afterAll`. */
export const endProcesses = async (): Promise<void> => {
  for (const each of running) each.signal("SIGKILL")
  await Promise.all([...running].map((each) => each.ended))
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  folders.clear()
}

/** `serve` with the key of the test realm. */
export const serveEnvironment = (): Environment => ({ AUTH_PUBLIC_KEY: pemOf(KEYS.realm().publicKey) })

/** `portolan serve` with the key of the test realm, once it listens, and the address of its public listener. */
export const serve = async (environment: Environment = {}, program: ReadonlyArray<string> = FROM_SOURCE) => {
  const started = startProcess(["serve"], { ...serveEnvironment(), ...environment }, program)
  return { ...started, address: await started.url() }
}

/** Headers of a caller whom the test realm gave a token. */
export const callerHeaders = (): Record<string, string> => ({
  authorization: `Bearer ${tokenKit(Math.floor(Date.now() / 1000)).access()}`,
  "content-type": "application/json",
})
