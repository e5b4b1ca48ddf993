import { closeSync, openSync, readFileSync, readSync, statSync } from "node:fs"
import { Effect, Schedule } from "effect"
import { containerLogs } from "./docker/docker_engine.ts"
import { StackRefused } from "./errors.ts"
import { redact } from "./service_log.ts"
import { readState, stackFiles } from "./state.ts"

/** Time between two looks at a log that is followed, milliseconds. */
const FOLLOW_MS = 200

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0

/** The last lines of a log file; none when there is no such file. */
export const lastLines = (path: string, count: number): ReadonlyArray<string> => {
  if (sizeOf(path) === 0) return []
  const lines = readFileSync(path, "utf8").trimEnd().split("\n")
  return lines.slice(Math.max(0, lines.length - count)).map(redact)
}

/** Which lines of the logs are shown. */
export interface LogsOptions {
  /** Services of the stack. */
  readonly known: ReadonlyArray<string>
  /** One service; all of them when absent. */
  readonly service?: string
  /** Last lines of each service. */
  readonly lines: number
  /** Go on until interrupted. */
  readonly follow: boolean
}

/** Whole lines that came into a file since a position. */
const readFrom = (path: string, from: number): { readonly lines: ReadonlyArray<string>; readonly to: number } => {
  const length = sizeOf(path) - from
  if (length <= 0) return { lines: [], to: length < 0 ? 0 : from }
  const file = openSync(path, "r")
  const bytes = Buffer.alloc(length)
  readSync(file, bytes, 0, length, from)
  closeSync(file)
  const whole = bytes.lastIndexOf(0x0a) + 1
  const text = bytes.toString("utf8", 0, whole).trimEnd()
  return { lines: text === "" ? [] : text.split("\n"), to: from + whole }
}

/**
 * Shows the logs of the stack's services, each line with its service before it when there are several.
 *
 * @fails {StackRefused} when there is no such service
 */
export const logs = Effect.fn("stack.logs")(function* (
  home: string,
  { known, service, lines, follow }: LogsOptions,
  show: (line: string) => void,
) {
  if (service !== undefined && !known.includes(service))
    return yield* new StackRefused({ reasons: [`no service '${service}'; there are ${known.join(", ")}`] })
  const project = readState(home)?.project
  if (project !== undefined) {
    yield* containerLogs(home, project, { lines, follow, ...(service === undefined ? {} : { service }) }, show)
    return
  }
  const shown = service === undefined ? known : [service]
  const width = Math.max(...shown.map((name) => name.length))
  const write = (name: string, line: string) =>
    show(shown.length === 1 ? redact(line) : `${name.padEnd(width)} | ${redact(line)}`)
  const files = shown.map((name) => ({ name, path: stackFiles(home).log(name), at: 0 }))
  for (const file of files) {
    file.at = sizeOf(file.path)
    for (const line of lastLines(file.path, lines)) write(file.name, line)
  }
  const writeFresh = Effect.sync(() => {
    for (const file of files) {
      const { lines: fresh, to } = readFrom(file.path, file.at)
      file.at = to
      for (const line of fresh) write(file.name, line)
    }
  })
  if (follow) yield* Effect.repeat(writeFresh, Schedule.spaced(FOLLOW_MS))
})
