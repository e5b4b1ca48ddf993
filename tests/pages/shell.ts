// Runs the shell commands of a page, one block after the other, as somebody who pastes them into one shell.
import { type ChildProcess, spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"

type Environment = Readonly<Record<string, string | undefined>>

/** A shell in a folder. */
export interface Shell {
  /** Runs a block to its end; gives its exit code and all that it wrote. Variables that it sets are there for the next one. */
  readonly run: (script: string) => Promise<{ readonly code: number | null; readonly written: string }>
  /** Starts a block that goes on until it is stopped; waits until it shows this. */
  readonly start: (script: string, shows: RegExp) => Promise<string>
  /** Stops what was started, and everything that it started. */
  readonly stop: () => Promise<void>
}

/** Variables as `env -0` writes them. */
const readVariables = (path: string): Environment =>
  Object.fromEntries(
    readFileSync(path, "utf8")
      .split("\0")
      .filter((line) => line.includes("="))
      .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  )

const STOP_MS = 30_000

const ended = (child: ChildProcess): Promise<number | null> =>
  child.exitCode !== null || child.signalCode !== null
    ? Promise.resolve(child.exitCode)
    : new Promise((resolve) => child.once("exit", resolve))

/** Opens a shell. */
export const openShell = (folder: string, environment: Environment): Shell => {
  const variablesFile = join(folder, "variables")
  let variables = environment
  const ongoing: Array<{ readonly child: ChildProcess; readonly over: Promise<number | null> }> = []

  const launch = (script: string) => {
    // A group of its own, so that everything a block starts can be stopped with it.
    const child = spawn("bash", ["-eu", "-o", "pipefail", "-c", script], {
      cwd: folder,
      env: variables as NodeJS.ProcessEnv,
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    })
    let written = ""
    let changed = Promise.withResolvers<void>()
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => {
        written += chunk.toString()
        changed.resolve()
        changed = Promise.withResolvers()
      })
    const over = ended(child)
    void over.then(() => changed.resolve())
    return { child, over, written: () => written, changed: () => changed.promise }
  }

  const end = async ({ child, over }: (typeof ongoing)[number]): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const group = -(child.pid ?? 0)
    process.kill(group, "SIGTERM")
    const late = setTimeout(() => process.kill(group, "SIGKILL"), STOP_MS)
    await over
    clearTimeout(late)
  }

  return {
    run: async (script) => {
      const { over, written } = launch(`set -a\n${script}\nset +a\nenv -0 > '${variablesFile}'`)
      const code = await over
      if (code === 0) variables = readVariables(variablesFile)
      return { code, written: written() }
    },
    start: async (script, shows) => {
      const started = launch(script)
      ongoing.push(started)
      while (!shows.test(started.written())) {
        if (started.child.exitCode !== null) throw new Error(`it ended without showing ${shows}:\n${started.written()}`)
        await started.changed()
      }
      return started.written()
    },
    stop: async () => {
      // The last one first: what was started after the service talks to it.
      for (const started of ongoing.splice(0).reverse()) await end(started)
    },
  }
}
