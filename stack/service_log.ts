import { writeSync } from "node:fs"

const FLUSH_MS = 100

/** Signed tokens, and values of parameters and headers that are as good as one. */
const SECRETS: ReadonlyArray<readonly [RegExp, string]> = [
  [/\beyJ[\w-]+\.[\w-]*(?:\.[\w-]*)*/g, "<token>"],
  [
    /\b(code|state|nonce|code_verifier|access_token|id_token|id_token_hint|refresh_token|jwt|client_secret|password)=[^&\s"']*/gi,
    "$1=<hidden>",
  ],
  [/\b(authorization|cookie|set-cookie|x-portolan-control)(["']?\s*[:=]\s*)[^\r\n,}]*/gi, "$1$2<hidden>"],
]

/** What every line with a secret holds; most lines hold none of it. */
const SUSPICIOUS = /eyJ|=|authorization|cookie|x-portolan-control/i

/** A line without its secrets; what is written to a log goes through here first. */
export const redact = (line: string): string =>
  SUSPICIOUS.test(line) ? SECRETS.reduce((text, [pattern, shown]) => text.replace(pattern, shown), line) : line

/** Log of a stack's service: one JSON line an entry on standard output, which `up` has tied to a file. */
export interface ServiceLog {
  readonly write: (entry: Readonly<Record<string, unknown>>) => void
  readonly flush: () => void
}

/** Lines are written in batches: a write per request would cost more than the request. */
export const openLog = (): ServiceLog => {
  let waiting: Array<string> = []
  const flush = () => {
    if (waiting.length === 0) return
    const text = waiting.join("")
    waiting = []
    writeSync(1, text)
  }
  setInterval(flush, FLUSH_MS).unref()
  process.on("exit", flush)
  return {
    write: (entry) => {
      waiting.push(`${redact(JSON.stringify({ time: new Date().toISOString(), ...entry }))}\n`)
    },
    flush,
  }
}
