import { Data, Effect, Fiber } from "effect"
import type { Config } from "./config.ts"
import { type Listener, listen, type Place } from "./listen.ts"
import type { Log, LogOutput } from "./log_output.ts"
import type { Service } from "./service.ts"

/** The listener's address cannot be bound. */
export class AddressUnavailable extends Data.TaggedError("AddressUnavailable")<{
  readonly host: string
  readonly port: number
  readonly reason: string
}> {
  readonly code = "ADDRESS_UNAVAILABLE"
  override get message(): string {
    return `Cannot listen on ${this.host}:${this.port}: ${this.reason}`
  }
}

/** How another port is chosen, by the variable that names this one. */
const OTHER_PORT = {
  PORT: "set PORT or --port to another one, or to 0 for a free one",
  ADMIN_PORT: "set ADMIN_PORT to another one, or to 0 for a free one",
} as const

const bind = (
  fetch: Service["fetch"],
  variable: keyof typeof OTHER_PORT,
  { hostname: host, port, ...rest }: Place,
): Effect.Effect<Listener, AddressUnavailable> =>
  Effect.try({
    try: () => listen(fetch, { hostname: host, port, ...rest }),
    catch: (failure) => {
      const busy = failure instanceof Error && "code" in failure && failure.code === "EADDRINUSE"
      return new AddressUnavailable({
        host,
        port,
        reason: busy ? `the port is in use; ${OTHER_PORT[variable]}` : "the address cannot be bound on this machine",
      })
    },
  })

/** Resolves at the first SIGTERM or SIGINT; a second one ends the process at once. */
const stopSignal = Effect.callback<string>((resume) => {
  const onSignal = (signal: NodeJS.Signals) => {
    process.once("SIGTERM", () => process.exit(143))
    process.once("SIGINT", () => process.exit(130))
    resume(Effect.succeed(signal))
  }
  process.once("SIGTERM", onSignal)
  process.once("SIGINT", onSignal)
})

/**
 * Serves until told to stop, then stops gracefully: running requests finish, background work is drained, adapters
 * close, the log is written out.
 *
 * @param announce called with the public address once it answers
 */
export const serveUntilStopped = (
  config: Config,
  service: Service,
  log: Log,
  output: LogOutput,
  announce: (url: string) => void,
): Effect.Effect<void, AddressUnavailable> =>
  Effect.gen(function* () {
    const listeners: Array<Listener> = []
    listeners.push(
      yield* bind(service.fetch, "PORT", { hostname: config.HOST, port: config.PORT, reusePort: config.REUSE_PORT }),
    )
    if (config.ADMIN_PORT !== undefined)
      listeners.push(yield* bind(service.adminFetch, "ADMIN_PORT", { hostname: config.HOST, port: config.ADMIN_PORT }))
    const [publicListener, adminListener] = listeners
    // Before anybody is told the address: who reads it may send a signal at once.
    const told = yield* Effect.forkChild(stopSignal, { startImmediately: true })
    log.line("INFO", "Listening", {
      url: publicListener?.url,
      ...(adminListener === undefined ? {} : { adminUrl: adminListener.url }),
      store: config.STORE,
    })
    announce(publicListener?.url ?? "")
    const signal = yield* Fiber.join(told)
    log.line("INFO", "Stopping", { signal })
    service.endFeeds()
    yield* Effect.promise(() => Promise.all(listeners.map((listener) => listener.stop())))
  }).pipe(
    Effect.ensuring(
      Effect.promise(async () => {
        await service.close()
        log.line("INFO", "Stopped")
        output.flush()
      }),
    ),
  )
