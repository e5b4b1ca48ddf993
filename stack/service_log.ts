import { writeSync } from "node:fs"
import { makeSecretMask } from "../domain/secret_mask.ts"

const FLUSH_MS = 100

/** A line without its secrets; what is written to a log goes through here first. */
export const redact = makeSecretMask([]).text

/** Log of a stack's service: one JSON line an entry on standard output, which `up` has tied to a file. */
export interface ServiceLog {
  readonly write: (entry: Readonly<Record<string, unknown>>) => void
  readonly flush: () => void
}

/**
 * Lines are written in batches: a write per request would cost more than the request.
 *
 * @param secrets what no line may show, beside what can be recognised
 */
export const openLog = (secrets: ReadonlyArray<string>): ServiceLog => {
  const mask = makeSecretMask(secrets)
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
      waiting.push(`${mask.text(JSON.stringify({ time: new Date().toISOString(), ...entry }))}\n`)
    },
    flush,
  }
}
