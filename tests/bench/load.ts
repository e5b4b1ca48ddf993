// Running servers and putting load on them with wrk.
import { availableParallelism } from "node:os"
import type { Subprocess } from "bun"

/** A server under load. */
export interface Server {
  readonly url: string
  readonly stop: () => Promise<void>
}

/** A server that {@link startServer} started. */
export interface ServerProcess extends Server {
  readonly pid: number
  /** Time from the start of the process to its first answer, milliseconds. */
  readonly startedInMs: number
}

/** The request that tells whether a server is up, and the answer that says it is. */
interface Sign {
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** Any answer when omitted. */
  readonly status?: number
}

interface StartOptions {
  /** `/health/live` with any answer when omitted. */
  readonly sign?: Sign
  /** True to keep the server on processor 0, as {@link putLoad} keeps wrk on processor 1. */
  readonly pinned?: boolean
}

const START_LIMIT_MS = 60_000

const freePort = (): number => {
  const probe = Bun.serve({ port: 0, fetch: () => new Response() })
  const { port } = probe
  probe.stop(true)
  return port ?? 0
}

/** The command, kept on one processor where there is more than one. */
const onProcessor = (processor: number, command: ReadonlyArray<string>): Array<string> =>
  availableParallelism() > 1 ? ["taskset", "-c", String(processor), ...command] : [...command]

/** True when the server gives the sign; false while nobody listens or the answer is another one. */
const shows = async (url: string, { path, headers = {}, status }: Sign): Promise<boolean> => {
  try {
    const answer = await fetch(url + path, { headers })
    await answer.bytes()
    return status === undefined || answer.status === status
  } catch {
    return false
  }
}

const untilItAnswers = async (child: Subprocess, url: string, sign: Sign): Promise<void> => {
  const deadline = performance.now() + START_LIMIT_MS
  while (!(await shows(url, sign))) {
    if (child.exitCode !== null) throw new Error(`The server ended at start with exit code ${child.exitCode}`)
    if (performance.now() > deadline) throw new Error(`The server did not answer within ${START_LIMIT_MS} ms`)
    await Bun.sleep(2)
  }
}

/** Starts a server that listens on PORT, and waits until it answers. */
export const startServer = async (
  command: ReadonlyArray<string>,
  env: Readonly<Record<string, string>>,
  options: StartOptions = {},
): Promise<ServerProcess> => {
  const port = freePort()
  const startedAt = performance.now()
  const child = Bun.spawn(options.pinned === true ? onProcessor(0, command) : [...command], {
    env: { ...process.env, ...env, PORT: String(port) },
    stdio: ["ignore", "ignore", "inherit"],
  })
  const url = `http://127.0.0.1:${port}`
  const stop = async () => {
    child.kill()
    await child.exited
  }
  try {
    await untilItAnswers(child, url, options.sign ?? { path: "/health/live" })
  } catch (failure) {
    await stop()
    throw failure
  }
  return { url, pid: child.pid, startedInMs: performance.now() - startedAt, stop }
}

/** What wrk asks for, again and again. */
export interface Load {
  readonly path: string
  /** Open connections, each with one request at a time. */
  readonly connections: number
  readonly seconds: number
  /** The bearer token of every request, or several to be sent in turn. */
  readonly token: string | ReadonlyArray<string>
  /** Body of a POST; GET when absent. */
  readonly body?: string
}

/** Requests that were answered under a load. */
interface Answered {
  readonly requests: number
  readonly perSecond: number
}

const SCRIPT = `
local requests, at = {}, 0
function init(arguments)
  for token in io.lines(arguments[1]) do
    wrk.headers["Authorization"] = "Bearer " .. token
    requests[#requests + 1] = wrk.format()
  end
end
function request()
  at = at % #requests + 1
  return requests[at]
end
`

const asPost = (body: string): string =>
  `wrk.method, wrk.body, wrk.headers["Content-Type"] = "POST", ${JSON.stringify(body)}, "application/json"`

/**
 * Puts the load on the server and counts the answers.
 *
 * @param folder where the script and the tokens for wrk are written
 * @throws Error when wrk saw an error status or a broken connection
 */
export const putLoad = async (server: Server, load: Load, folder: string): Promise<Answered> => {
  const [script, tokens] = [`${folder}/load.lua`, `${folder}/tokens.txt`]
  await Bun.write(script, (load.body === undefined ? "" : asPost(load.body)) + SCRIPT)
  await Bun.write(tokens, [load.token].flat().join("\n"))
  const url = server.url + load.path
  const options = ["-t1", `-c${load.connections}`, `-d${load.seconds}s`, "--timeout", "30s", "-s", script]
  const run = Bun.spawn(onProcessor(1, ["wrk", ...options, url, "--", tokens]), {
    stdio: ["ignore", "pipe", "inherit"],
  })
  const text = await new Response(run.stdout).text()
  const requests = /(\d+) requests in/.exec(text)?.[1]
  const perSecond = /Requests\/sec:\s+([\d.]+)/.exec(text)?.[1]
  if (requests === undefined || perSecond === undefined || /Non-2xx|Socket errors/.test(text))
    throw new Error(`wrk: ${text}`)
  return { requests: Number(requests), perSecond: Number(perSecond) }
}

/** Requests per second that the server answered, none of them with an error status. */
export const requestsPerSecond = async (server: Server, load: Load, folder: string): Promise<number> =>
  (await putLoad(server, load, folder)).perSecond

/** The middle one of the values when sorted; of an even number the upper one. */
export const median = (values: ReadonlyArray<number>): number => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
