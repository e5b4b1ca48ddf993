import { Cause, Layer, Logger, References } from "effect"
import { isObject } from "../domain/json_object.ts"

/** What a library user may pass as logger: any structured logger with these four methods (pino's order is the reverse). */
export interface StructuredLogger {
  readonly debug: (message: string, fields: Readonly<Record<string, unknown>>) => void
  readonly info: (message: string, fields: Readonly<Record<string, unknown>>) => void
  readonly warn: (message: string, fields: Readonly<Record<string, unknown>>) => void
  readonly error: (message: string, fields: Readonly<Record<string, unknown>>) => void
}

const METHODS: Readonly<Record<string, keyof StructuredLogger>> = {
  Trace: "debug",
  Debug: "debug",
  Info: "info",
  Warn: "warn",
  Error: "error",
  Fatal: "error",
}

/**
 * Passes everything the library logs on to the user's logger. A logger that throws disturbs no call.
 *
 * @param logger takes the lines; without one nothing is logged
 */
export const loggerLayer = (logger: StructuredLogger | undefined): Layer.Layer<never> => {
  if (logger === undefined) return Logger.layer([])
  const passOn = Logger.make<unknown, void>(({ message, logLevel, cause, fiber }) => {
    const [text, ...parts] = Array.isArray(message) ? message : [message]
    const fields: Record<string, unknown> = { ...fiber.getRef(References.CurrentLogAnnotations) }
    for (const part of parts) Object.assign(fields, isObject(part) ? part : { detail: part })
    if (cause.reasons.length > 0) fields["cause"] = Cause.pretty(cause)
    try {
      logger[METHODS[logLevel] ?? "info"](String(text), fields)
    } catch {
      // A broken logger of the user must not fail the call that logs.
    }
  })
  return Layer.merge(Logger.layer([passOn]), Layer.succeed(References.MinimumLogLevel, "Info"))
}
