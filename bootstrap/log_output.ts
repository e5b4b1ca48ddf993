import { writeSync } from "node:fs"
import { Cause, Layer, Logger, References } from "effect"
import type { AnsweredRequest } from "../adapters/driving/http/answered_request.ts"
import type { Config } from "./config.ts"

/** Where log lines go. Lines are gathered and written together: one system call per line would halve the throughput. */
export interface LogOutput {
  readonly write: (line: string) => void
  /** Writes what is gathered, at once and synchronously: before the process ends. */
  readonly flush: () => void
}

const FLUSH_AFTER_MS = 50
const GATHERED_CHARACTERS_MAX = 65_536

/** Log lines on standard error; standard output is for results. */
export const standardError = (): LogOutput => {
  let gathered = ""
  let timer: ReturnType<typeof setTimeout> | undefined
  const take = () => {
    const lines = gathered
    gathered = ""
    clearTimeout(timer)
    timer = undefined
    return lines
  }
  // The reader of the log may go away before the service does; that must not end the service.
  process.stderr.on("error", () => {})
  return {
    write: (line) => {
      gathered += `${line}\n`
      if (gathered.length > GATHERED_CHARACTERS_MAX) process.stderr.write(take())
      else timer ??= setTimeout(() => process.stderr.write(take()), FLUSH_AFTER_MS)
    },
    flush: () => {
      const lines = take()
      if (lines === "") return
      try {
        writeSync(2, lines)
      } catch (failure) {
        // A pipe that is full or closed: the stream queues what it still can.
        if (failure instanceof Error) process.stderr.write(lines)
      }
    },
  }
}

type Fields = Readonly<Record<string, unknown>>

type Level = "DEBUG" | "INFO" | "WARN" | "ERROR"

const RANK: Readonly<Record<Level, number>> = { DEBUG: 0, INFO: 1, WARN: 2, ERROR: 3 }

const jsonLine = (time: Date, level: Level, message: string, fields: Fields): string =>
  JSON.stringify({ time: time.toISOString(), level, message, ...fields })

const prettyLine = (time: Date, level: Level, message: string, fields: Fields): string => {
  const rest = Object.entries(fields).map(
    ([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  )
  return [time.toISOString().slice(11, 23), level.padEnd(5), message, ...rest].join(" ")
}

/** The service's log: structured lines, one a request, in the configured form and from the configured level on. */
export interface Log {
  readonly request: (answered: AnsweredRequest) => void
  readonly line: (level: Level, message: string, fields?: Fields) => void
  /** Effect's own logging, written through the same output. */
  readonly layer: Layer.Layer<never>
}

const LEVELS = { debug: "Debug", info: "Info", warn: "Warn", error: "Error" } as const

const levelOf = (name: string): Level =>
  name === "Fatal" || name === "Error" ? "ERROR" : name === "Warn" ? "WARN" : name === "Info" ? "INFO" : "DEBUG"

const messageText = (message: unknown): string =>
  (Array.isArray(message) ? message : [message])
    .map((part) => (typeof part === "string" ? part : JSON.stringify(part)))
    .join(" ")

/** Credentials in a URL, and signed tokens: what a defect's text may hold although no code of ours wrote it there. */
const SECRET_REGEXPS = [
  [/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@"]+@/gi, "$1<masked>@"],
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]*/g, "<masked>"],
] as const

const masked = (line: string): string =>
  SECRET_REGEXPS.reduce((text, [secret, mask]) => text.replace(secret, mask), line)

export const makeLog = (config: Pick<Config, "LOG_LEVEL" | "LOG_FORMAT">, output: LogOutput): Log => {
  const format = config.LOG_FORMAT === "json" ? jsonLine : prettyLine
  const least = RANK[config.LOG_LEVEL.toUpperCase() as Level]
  const line: Log["line"] = (level, message, fields = {}) => {
    if (RANK[level] >= least) output.write(masked(format(new Date(), level, message, fields)))
  }
  const logger = Logger.make<unknown, void>(({ logLevel, message, cause, fiber, date }) => {
    const annotations = fiber.getRef(References.CurrentLogAnnotations)
    const fields = cause.reasons.length === 0 ? annotations : { ...annotations, cause: Cause.pretty(cause) }
    output.write(masked(format(date, levelOf(logLevel), messageText(message), fields)))
  })
  return {
    request: ({ method, path, status, durationMs, requestId }) => {
      if (RANK.INFO < least) return
      const ms = Math.round(durationMs * 100) / 100
      output.write(
        config.LOG_FORMAT === "json"
          ? `{"time":"${new Date().toISOString()}","level":"INFO","message":"request","method":"${method}","path":${JSON.stringify(path)},"status":${status},"durationMs":${ms},"requestId":"${requestId}"}`
          : prettyLine(new Date(), "INFO", `${method} ${path} ${status} ${ms} ms`, { requestId }),
      )
    },
    line,
    layer: Layer.mergeAll(Logger.layer([logger]), Layer.succeed(References.MinimumLogLevel, LEVELS[config.LOG_LEVEL])),
  }
}
