// Running servers and putting load on them with wrk.
import type { Subprocess } from "bun"

/** A server process under load. */
export interface Server {
  readonly url: string
  readonly stop: () => Promise<void>
}

const freePort = (): number => {
  const probe = Bun.serve({ port: 0, fetch: () => new Response() })
  const { port } = probe
  probe.stop(true)
  return port ?? 0
}

/** Starts a server that listens on PORT, and waits until it answers. */
export const startServer = async (
  command: ReadonlyArray<string>,
  env: Readonly<Record<string, string>>,
): Promise<Server> => {
  const port = freePort()
  const child: Subprocess = Bun.spawn([...command], {
    env: { ...process.env, ...env, PORT: String(port) },
    stdio: ["ignore", "ignore", "ignore"],
  })
  const url = `http://127.0.0.1:${port}`
  await firstAnswer(url)
  return {
    url,
    stop: async () => {
      child.kill()
      await child.exited
    },
  }
}

/** Resolves at the first HTTP answer. */
export const firstAnswer = async (url: string): Promise<void> => {
  const deadline = performance.now() + 30_000
  for (;;) {
    try {
      await fetch(`${url}/health/live`)
      return
    } catch (failure) {
      if (performance.now() > deadline) throw failure
      await Bun.sleep(2)
    }
  }
}

export interface Load {
  readonly path: string
  readonly connections: number
  readonly seconds: number
  readonly token: string
  /** Body of a POST; GET when absent. */
  readonly body?: string
}

/** Requests per second that the server answered, none of them with an error status. */
export const requestsPerSecond = async (server: Server, load: Load, folder: string): Promise<number> => {
  const script = `${folder}/load.lua`
  await Bun.write(
    script,
    `wrk.headers["Authorization"] = "Bearer ${load.token}"\n${
      load.body === undefined
        ? ""
        : `wrk.method = "POST"\nwrk.headers["Content-Type"] = "application/json"\nwrk.body = '${load.body}'\n`
    }`,
  )
  const run = Bun.spawnSync(
    ["wrk", "-t1", `-c${load.connections}`, `-d${load.seconds}s`, "-s", script, `${server.url}${load.path}`],
    { stdio: ["ignore", "pipe", "inherit"] },
  )
  const text = run.stdout.toString()
  const rate = /Requests\/sec:\s+([\d.]+)/.exec(text)?.[1]
  if (rate === undefined || /Non-2xx|Socket errors/.test(text)) throw new Error(`wrk: ${text}`)
  return Number(rate)
}

export const median = (values: ReadonlyArray<number>): number => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
