import { writeSync } from "node:fs"
import { Array as Arrays, Context, Effect, Formatter, Layer, Logger, LogLevel, References } from "effect"
import type { AnsweredRequest } from "../adapters/driving/http/answered_request.ts"
import { makeSecretMask } from "../domain/secret_mask.ts"
import { type Config, configuredSecrets } from "./config.ts"

/** Where log lines go. */
export interface LogOutput {
  readonly write: (line: string) => void
  /** Writes what is gathered, at once and synchronously: before the process ends. */
  readonly flush: () => void
}

/** Lines are gathered for this long and written together: one system call per line would halve the throughput. */
const GATHERED_FOR_MS = 50

/** Makes the output of log lines on standard error; standard output is for results. */
export const standardError = (): LogOutput => {
  let gathered = ""
  const take = () => {
    const lines = gathered
    gathered = ""
    return lines
  }
  // The reader of the log may go away before the service does; that must not end the service.
  process.stderr.on("error", () => {})
  return {
    write: (line) => {
      if (gathered === "") setTimeout(() => process.stderr.write(take()), GATHERED_FOR_MS)
      gathered += `${line}\n`
    },
    flush: () => {
      const lines = take()
      try {
        writeSync(2, lines)
      } catch {
        // The pipe is full or closed: the stream waits for it, and drops the lines when nobody reads it any more.
        process.stderr.write(lines)
      }
    },
  }
}

type Fields = Readonly<Record<string, unknown>>

const jsonLine = (time: string, level: string, message: string, fields: Fields): string =>
  Formatter.formatJson({ time, level, message, ...fields })

const prettyLine = (time: string, level: string, message: string, fields: Fields): string => {
  const shown = (value: unknown) => (typeof value === "string" ? value : Formatter.formatJson(value))
  const rest = Object.entries(fields).map(([name, value]) => `${name}=${shown(value)}`)
  return [time.slice(11, 23), level.padEnd(5), message, ...rest].join(" ")
}

const textOf = (message: unknown): string =>
  Arrays.ensure(message)
    .map((part) => (typeof part === "string" ? part : Formatter.formatJson(part)))
    .join(" ")

const LEVELS = { debug: "Debug", info: "Info", warn: "Warn", error: "Error" } as const

/** The service's log: structured lines, one a request, in the configured form and from the configured level on. */
export interface Log {
  /**
   * Writes the line of an answered request, at level INFO.
   *
   * @param traceId of the request's trace, when there is one
   */
  readonly request: (answered: AnsweredRequest, traceId?: string) => void
  /** Writes a line from outside of any program. */
  readonly line: (level: "INFO" | "WARN" | "ERROR", message: string, fields?: Fields) => void
  /** Makes programs log through the same output. */
  readonly layer: Layer.Layer<never>
}

const LEVEL_OF = { INFO: "Info", WARN: "Warn", ERROR: "Error" } as const

/**
 * Makes the log. Every line is masked: neither a configured secret nor what looks like one is in it.
 *
 * @param config form, least level, and the secrets of the configuration
 * @param output takes the lines, without line ends
 */
export const makeLog = (config: Pick<Config, "LOG_LEVEL" | "LOG_FORMAT"> & Partial<Config>, output: LogOutput): Log => {
  const format = config.LOG_FORMAT === "json" ? jsonLine : prettyLine
  const mask = makeSecretMask(configuredSecrets(config))
  const logger = Logger.make((entry) => {
    const { timestamp, level, message, annotations, cause } = Logger.formatStructured.log(entry)
    const { span } = entry.fiber.cache
    const fields = {
      ...annotations,
      ...(cause === undefined ? {} : { cause }),
      // A span that nobody keeps has an id that leads nowhere.
      ...(span?.sampled === true ? { trace_id: span.traceId } : {}),
    }
    output.write(mask.text(format(timestamp, level, textOf(message), fields)))
  })
  const layer = Layer.mergeAll(
    Logger.layer([logger]),
    Layer.succeed(References.MinimumLogLevel, LEVELS[config.LOG_LEVEL]),
  )
  const run = Effect.runSyncWith(
    Context.make(Logger.CurrentLoggers, new Set([logger])).pipe(
      Context.add(References.MinimumLogLevel, LEVELS[config.LOG_LEVEL]),
    ),
  )
  const line: Log["line"] = (level, message, fields = {}) => {
    if (LogLevel.isGreaterThanOrEqualTo(LEVEL_OF[level], LEVELS[config.LOG_LEVEL]))
      run(Effect.annotateLogs(Effect.logWithLevel(LEVEL_OF[level])(message), fields))
  }
  return {
    line,
    layer,
    request: ({ method, path, status, durationMs, requestId }, traceId) =>
      line("INFO", "request", {
        method,
        path,
        status,
        durationMs: Math.round(durationMs * 100) / 100,
        requestId,
        ...(traceId === undefined ? {} : { trace_id: traceId }),
      }),
  }
}
