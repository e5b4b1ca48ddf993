// Drives record_repository.process.ts: a repository in a process of its own.
import { join } from "node:path"

export interface RepositoryProcess {
  /** Sends one command and waits for its answer. */
  readonly ask: (command: string) => Promise<unknown>
  /** The next line it says. */
  readonly next: () => Promise<unknown>
  readonly send: (command: string) => void
  /** SIGKILL: as sudden as a crash gets. */
  readonly kill: () => Promise<void>
  /** Ends it in order; what it wrote to its error output. */
  readonly end: () => Promise<string>
}

const PROGRAM = join(import.meta.dir, "record_repository.process.ts")

/** @param address an SQLite path or a MongoDB address */
export const startRepository = async (address: string, collection: string): Promise<RepositoryProcess> => {
  const child = Bun.spawn([process.execPath, PROGRAM, address, collection], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  })
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader()
  let buffered = ""
  const next = async (): Promise<unknown> => {
    for (;;) {
      const end = buffered.indexOf("\n")
      if (end >= 0) {
        const line = buffered.slice(0, end)
        buffered = buffered.slice(end + 1)
        return JSON.parse(line)
      }
      const { done, value } = await lines.read()
      if (done) throw new Error(`The process ended: ${await new Response(child.stderr).text()}`)
      buffered += value
    }
  }
  const send = (command: string) => {
    child.stdin.write(`${command}\n`)
    child.stdin.flush()
  }
  await next()
  return {
    next,
    send,
    ask: (command) => {
      send(command)
      return next()
    },
    kill: async () => {
      child.kill("SIGKILL")
      await child.exited
    },
    end: async () => {
      child.stdin.end()
      await child.exited
      return new Response(child.stderr).text()
    },
  }
}
