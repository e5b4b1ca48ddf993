import { Cause, Layer, Logger, References } from "effect"

/** A structured logger as plain TypeScript users have one; every method may be left out. */
export interface PlainLogger {
  readonly debug?: (message: string, fields: Readonly<Record<string, unknown>>) => void
  readonly info?: (message: string, fields: Readonly<Record<string, unknown>>) => void
  readonly warn?: (message: string, fields: Readonly<Record<string, unknown>>) => void
  readonly error?: (message: string, fields: Readonly<Record<string, unknown>>) => void
}

const METHODS: Readonly<Record<string, keyof PlainLogger>> = {
  Fatal: "error",
  Error: "error",
  Warn: "warn",
  Info: "info",
  Debug: "debug",
}

const textOf = (message: unknown): string =>
  (Array.isArray(message) ? message : [message])
    .map((part) => (typeof part === "string" ? part : JSON.stringify(part)))
    .join(" ")

/** Hands the library's log lines to a plain logger; without one nothing is logged. */
export const plainLogging = (plain: PlainLogger | undefined): Layer.Layer<never> => {
  const logger = Logger.make<unknown, void>(({ logLevel, message, cause, fiber }) => {
    const annotations = fiber.getRef(References.CurrentLogAnnotations)
    const fields = cause.reasons.length === 0 ? annotations : { ...annotations, cause: Cause.pretty(cause) }
    plain?.[METHODS[logLevel] ?? "debug"]?.(textOf(message), fields)
  })
  return Layer.mergeAll(
    Logger.layer([logger]),
    Layer.succeed(References.MinimumLogLevel, plain === undefined ? "None" : "Debug"),
  )
}
