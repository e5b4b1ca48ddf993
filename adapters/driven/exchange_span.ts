import { Clock, Effect, Exit } from "effect"

/**
 * Runs an exchange in a client span. The query is left out, which may hold secrets; so are headers and bodies.
 *
 * @see OpenTelemetry semantic conventions for HTTP clients
 */
export const inExchangeSpan = <A extends { readonly status: number }, E, R>(
  { method, url }: { readonly method: string; readonly url: string },
  exchange: Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    const { origin, pathname, hostname, port, protocol } = new URL(url)
    const span = yield* Effect.makeSpan(method, {
      kind: "client",
      attributes: {
        "http.request.method": method,
        "url.full": origin + pathname,
        "server.address": hostname,
        "server.port": Number(port) || (protocol === "https:" ? 443 : 80),
      },
    })
    return yield* Effect.onExit(exchange, (exit) =>
      Effect.map(Clock.currentTimeNanos, (now) => {
        if (Exit.isFailure(exit)) return span.end(now, exit)
        const { status } = exit.value
        span.attribute("http.response.status_code", status)
        // What the server itself calls a failure is one for the span; the caller judges the answer.
        span.end(now, status < 400 ? exit : Exit.fail({ _tag: String(status) }))
      }),
    )
  })
