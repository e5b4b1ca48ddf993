// `portolan serve` as a process of its own, on a free port, with the test realm's key.
import { join } from "node:path"
import { KEYS, pemOf, tokenKit } from "./tokens.ts"

const MAIN = join(import.meta.dir, "../../bootstrap/main.ts")

/** What the process inherits; nothing of the configuration of whoever runs the tests. */
const { PATH, HOME, TMPDIR } = process.env

const start = (environment: Readonly<Record<string, string>>) => {
  const child = Bun.spawn([process.execPath, MAIN, "serve"], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
    env: {
      ...{ PATH, HOME, TMPDIR },
      PORT: "0",
      LOG_FORMAT: "json",
      AUTH_PUBLIC_KEY: pemOf(KEYS.realm().publicKey),
      ...environment,
    },
  })
  let log = ""
  const ended = child.stderr.pipeThrough(new TextDecoderStream()).pipeTo(
    new WritableStream({
      write: (text) => {
        log += text
      },
    }),
  )
  return { child, log: () => log, ended }
}

/** Runs `portolan serve` until it ends by itself: for configurations it must refuse. */
export const failedService = async (environment: Readonly<Record<string, string>>) => {
  const { child, log, ended } = start(environment)
  const exitCode = await child.exited
  await ended
  return { exitCode, log: log() }
}

export interface ServiceProcess {
  readonly url: string
  /** Sends a request with a good token. */
  readonly send: (path: string, init?: RequestInit) => Promise<Response>
  readonly create: (fields: unknown) => Promise<Response>
  /** Everything it wrote so far. */
  readonly log: () => string
  /** SIGTERM, and its exit code. */
  readonly stop: () => Promise<number>
}

export const startServiceProcess = async (environment: Readonly<Record<string, string>>): Promise<ServiceProcess> => {
  const { child, log, ended } = start(environment)
  const listening = /"url":"([^"]+)"/
  while (!listening.test(log())) {
    if (child.exitCode !== null) throw new Error(`The service ended with ${child.exitCode}: ${log()}`)
    await Bun.sleep(10)
  }
  const url = listening.exec(log())?.[1] ?? ""
  const token = tokenKit(Math.floor(Date.now() / 1000)).access()
  const send: ServiceProcess["send"] = (path, init = {}) =>
    fetch(`${url}${path}`, { ...init, headers: { authorization: `Bearer ${token}`, ...init.headers } })
  return {
    url,
    send,
    create: (fields) =>
      send("/api/products", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(fields),
      }),
    log,
    stop: async () => {
      child.kill("SIGTERM")
      const exitCode = await child.exited
      await ended
      return exitCode
    },
  }
}
