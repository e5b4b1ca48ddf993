// The HTTP adapter of the graph as a test sets it up, and everything it logs and traces while it is watched.
import { expect } from "bun:test"
import { Cause, Effect, Exit, Layer, Logger, Redacted, References, type Scope, Tracer } from "effect"
import type { GraphConnection } from "../../adapters/driven/media_graph/graph_exchange.ts"
import * as http from "../../adapters/driven/media_graph/http.ts"
import { makeGraphAddress } from "../../domain/media/graph_address.ts"
import { MediaGraphPort } from "../../domain/media/media_graph_port.ts"
import { leakIn, TOKEN } from "./secrets.ts"

/** The adapter over HTTP at this address. */
export const graphOverHttp = (graphUrl: string, options: Partial<GraphConnection> = {}) =>
  Layer.unwrap(
    Effect.map(Effect.orDie(makeGraphAddress({ graphUrl, apiVersion: "v25.0" })), (address) =>
      http.layer({
        address,
        accessToken: Effect.succeed(Redacted.make(TOKEN)),
        timeoutMs: 60_000,
        targetBytesMax: 15_000,
        placement: { parameters: "query", token: "query" },
        ...options,
      }),
    ),
  )

/** The port through it. */
export const graphAt = (url: string, options: Partial<GraphConnection> = {}) =>
  Effect.provide(MediaGraphPort, graphOverHttp(url, options))

/** Runs a program; no secret may be in its failure, nor in anything it logged or traced, which is given back. */
export const watched = async <A, E>(program: Effect.Effect<A, E, Scope.Scope>) => {
  const seen: Array<unknown> = []
  const spans: Array<Tracer.NativeSpan> = []
  const logger = Logger.make<unknown, void>(({ message, cause, fiber }) => {
    seen.push(message, Cause.pretty(cause), fiber.getRef(References.CurrentLogAnnotations))
  })
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      spans.push(span)
      return span
    },
  })
  const exit = await Effect.runPromiseExit(
    program.pipe(
      Effect.scoped,
      Effect.withTracer(tracer),
      Effect.provide(Layer.merge(Logger.layer([logger]), Layer.succeed(References.MinimumLogLevel, "Trace"))),
    ),
  )
  seen.push(...spans.map(({ name, attributes, events }) => ({ name, attributes: [...attributes], events })))
  for (const each of seen) expect(leakIn(each)).toBeUndefined()
  if (Exit.isFailure(exit)) {
    expect(leakIn(Cause.pretty(exit.cause))).toBeUndefined()
    expect(leakIn(Bun.inspect(exit.cause, { depth: 10 }))).toBeUndefined()
  }
  return { exit, log: seen }
}
