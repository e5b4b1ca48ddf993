import { Data, Deferred, Effect, Exit, Layer, Tracer } from "effect"
import * as joseVerifier from "../adapters/driven/token_verifier/jose.ts"
import { done } from "../adapters/driving/cli/command.ts"
import { spanLines, traceTree } from "../adapters/driving/cli/trace_tree.ts"
import { products } from "../domain/records/products.ts"
import type { StartError } from "./area.ts"
import { readEnvironment } from "./config.ts"
import { DEMO_JOB, demoSchedulerArea } from "./demo_areas.ts"
import { makeDemoRealm } from "./demo_realm.ts"
import { discreetTracer } from "./discreet_tracer.ts"
import { listen } from "./listen.ts"
import { makeLog } from "./log_output.ts"
import { makeService } from "./service.ts"
import { storeOf } from "./store.ts"

/** The span that a restart ends with. */
const LAST_SPAN = "restart.second_step"

/** How long the whole restart may take; it waits one second between its steps. */
const PATIENCE = "30 seconds"

/** The restart of the demo was refused, which only a defect can do. */
class RestartRefused extends Data.TaggedError("RestartRefused")<{ readonly status: number }> {
  readonly code = "RESTART_REFUSED"
  override get message(): string {
    return `The demo's scheduler refused the restart with status ${this.status}`
  }
}

/** A tracer that keeps its spans, and tells when the last one of the restart has ended. */
const keepingTracer = (spans: Array<Tracer.Span>, over: () => void): Tracer.Tracer =>
  Tracer.make({
    span: (options) => {
      const span = Tracer.nativeTracer.span(options)
      spans.push(span)
      const end = span.end.bind(span)
      span.end = (endTime, exit) => {
        end(endTime, exit)
        if (span.name === LAST_SPAN) over()
      }
      return span
    },
  })

/**
 * `portolan demo trace`: restarts the job of a demo in this process, and prints the trace of it: the request, the journal, the
 * scheduler, and the step behind the caller.
 */
export const traceRestart = Effect.gen(function* () {
  const config = yield* readEnvironment
  const { publicKey, token } = yield* Effect.promise(makeDemoRealm)
  const spans: Array<Tracer.Span> = []
  const over = yield* Deferred.make<void>()
  const tracer = discreetTracer(keepingTracer(spans, () => Deferred.doneUnsafe(over, Exit.void)))
  const service = yield* Effect.acquireRelease(
    Effect.tryPromise({
      try: () =>
        makeService({
          log: makeLog({ ...config, LOG_LEVEL: "error" }, { write: () => {}, flush: () => {} }),
          collections: [products],
          repository: storeOf("memory"),
          verifier: joseVerifier.layer({ keys: publicKey }),
          areas: [demoSchedulerArea(config)],
          telemetry: Layer.succeed(Tracer.Tracer, tracer),
          separateAdmin: false,
          maxInFlight: 1,
          maxFeeds: 1,
        }),
      catch: (failure) => failure as StartError,
    }),
    (service) => Effect.promise(() => service.close()),
  )
  const { jobId, region } = DEMO_JOB
  const { url } = yield* Effect.acquireRelease(
    Effect.sync(() => listen(service.fetch, { hostname: "127.0.0.1", port: 0 })),
    (listener) => Effect.promise(() => listener.stop()),
  )
  const { status } = yield* Effect.promise(() =>
    fetch(`${url}/scheduler/jobs/${jobId}/restart?region=${region}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
    }),
  )
  if (status !== 202) return yield* new RestartRefused({ status })
  yield* Effect.timeout(Deferred.await(over), PATIENCE)
  const [first] = spans
  const lines = spanLines(spans.filter(({ traceId }) => traceId === first?.traceId))
  return done(
    { traceId: first?.traceId, spans: lines },
    `One restart of the job '${jobId}' in memory: trace ${first?.traceId}`,
    "",
    traceTree(lines),
  )
}).pipe(Effect.scoped)
