import { Context, Effect, Layer, ManagedRuntime, References, Schedule } from "effect"
import { type AnyElysia, Elysia } from "elysia"
import { OVERLOADED_ROUTE } from "../adapters/driving/http/answered_request.ts"
import { makeApp } from "../adapters/driving/http/app.ts"
import { collectionSchemas } from "../adapters/driving/http/collection_docs.ts"
import { type CollectionSetup, setupCollection } from "../adapters/driving/http/collection_routes.ts"
import { makeCors } from "../adapters/driving/http/cors.ts"
import { makeGuard } from "../adapters/driving/http/guard.ts"
import { makeInFlight } from "../adapters/driving/http/in_flight.ts"
import { makeOpenFeeds } from "../adapters/driving/http/open_feeds.ts"
import { healthRoutes, metricsRoutes } from "../adapters/driving/http/operations_routes.ts"
import { makeRequestSpans } from "../adapters/driving/http/request_span.ts"
import { makeResponder } from "../adapters/driving/http/respond.ts"
import type { InvalidIdentitySetup } from "../domain/identity/errors.ts"
import { TokenVerifier } from "../domain/identity/token_verifier.ts"
import type { Collection } from "../domain/records/collection.ts"
import { RecordRepository } from "../domain/records/record_repository.ts"
import type { StoreUnavailable } from "../domain/store_unavailable.ts"
import { type Area, type AreaParts, areasLayer, BuiltAreas } from "./area.ts"
import type { Fetch } from "./listen.ts"
import type { Log } from "./log_output.ts"
import { metricsText } from "./metrics_text.ts"
import { overloadLog } from "./overload_log.ts"
import { processMetrics } from "./process_metrics.ts"
import { requestMetrics } from "./request_metrics.ts"
import { METRICS_EXPORT_INTERVAL } from "./telemetry.ts"
import { VERSION } from "./version.ts"

/** What a service is made of. */
export interface ServiceOptions {
  readonly log: Log
  readonly collections: ReadonlyArray<Collection<object>>
  readonly repository: Layer.Layer<RecordRepository, StoreUnavailable>
  readonly verifier: Layer.Layer<TokenVerifier, InvalidIdentitySetup>
  /** Tracing and metrics export, when configured. */
  readonly telemetry?: Layer.Layer<never>
  /** The configured areas beside records. */
  readonly areas?: ReadonlyArray<Area>
  /** True when `/health` and `/metrics` have a listener of their own. */
  readonly separateAdmin: boolean
  /** Requests of the public listener that run at a time. */
  readonly maxInFlight: number
  /** Feeds of changes that may be open at a time. */
  readonly maxFeeds: number
  /** Origins whose pages may use the service, or `*` alone for every one; none when omitted. */
  readonly corsOrigins?: ReadonlyArray<string>
  /** A token that the API page fills in for whoever opens it on this machine; none when omitted. */
  readonly pageToken?: string | undefined
  /** More routes, such as a handler mounted a second time; they guard themselves. */
  readonly extend?: (setups: ReadonlyMap<string, CollectionSetup<object>>, parts: AreaParts) => ReadonlyArray<AnyElysia>
}

/** A built service. */
export interface Service {
  /** Answers the requests of the public listener. */
  readonly fetch: Fetch
  /** Ends the open feeds of changes, which would never end by themselves. To be called before the listener stops. */
  readonly endFeeds: () => void
  /** Every route of the public listener: what a walk over all of them goes by. */
  readonly routes: AnyElysia["routes"]
  /** Answers `/health/*` and `/metrics` without a token, for a listener that strangers do not reach. */
  readonly adminFetch: Fetch
  /** Closes the adapters, background work first. */
  readonly close: () => Promise<void>
}

/**
 * Builds the service: layers once, then the routes over them.
 *
 * @throws {StartError} when an adapter cannot start, as the rejection of the promise
 */
export const makeService = async (options: ServiceOptions): Promise<Service> => {
  const { log } = options
  // Without a collector no span is made at all.
  const telemetry = options.telemetry ?? Layer.succeed(References.TracerEnabled, false)
  const base = Layer.merge(options.repository, options.verifier).pipe(Layer.provideMerge(telemetry))
  const runtime = ManagedRuntime.make(
    areasLayer(options.areas ?? []).pipe(Layer.provideMerge(base), Layer.provideMerge(log.layer)),
  )
  const context = await runtime.context()
  const repository = Context.get(context, RecordRepository)
  const verifier = Context.get(context, TokenVerifier)
  const spans = options.telemetry === undefined ? undefined : makeRequestSpans(context)
  const responder = makeResponder(context, spans)
  const guard = makeGuard(verifier, responder)
  const metrics = requestMetrics(context)

  const feeds = makeOpenFeeds(options.maxFeeds)
  const setups = new Map(
    options.collections.map((each) => [each.name, setupCollection(each, { repository, guard, responder, feeds })]),
  )
  const prepare = Effect.forEach(setups.values(), ({ store }) => store.prepare, {
    concurrency: "unbounded",
    discard: true,
  })
  await runtime.runPromise(prepare).catch(async (failure) => {
    await runtime.dispose()
    throw failure
  })
  const areaRoutes = Context.get(context, BuiltAreas).map((routes) => routes(context, { guard, responder, spans }))
  const unexpected = (failure: unknown, requestId: string) =>
    log.line("ERROR", "Unexpected failure", {
      requestId,
      failure: failure instanceof Error ? `${failure.name}: ${failure.message}` : String(failure),
    })
  // Readiness writes to the store: at most once in this time, whoever asks and however often.
  const storeReady = Effect.runSync(Effect.cachedWithTTL(repository.ready, "1 second"))
  const updateProcess = processMetrics(context)
  // The gauges of the areas ask the store: at most once in this time, whoever reads the metrics.
  const measure = Effect.runSync(
    Effect.cachedWithTTL(
      Effect.all([Effect.sync(updateProcess), ...areaRoutes.map((area) => area.measure ?? Effect.void)], {
        discard: true,
      }),
      "1 second",
    ),
  )
  const format = Effect.andThen(measure, metricsText(context))
  // Nobody reads what is exported: it is brought up to date as often as the exporter takes it.
  const measuring =
    options.telemetry === undefined
      ? undefined
      : runtime.runFork(Effect.repeat(measure, Schedule.spaced(METRICS_EXPORT_INTERVAL)))
  const health = () => healthRoutes(VERSION, Effect.andThen(storeReady, verifier.ready), responder)
  const protectedMetrics = () => new Elysia().use(guard.protect()).use(metricsRoutes(format, responder, true))

  const inFlight = makeInFlight(options.maxInFlight)
  const noteOverload = overloadLog(log)

  const app = makeApp({
    version: VERSION,
    schemas: Object.assign(
      {},
      ...options.collections.map(collectionSchemas),
      ...areaRoutes.map((each) => each.schemas),
    ),
    pageToken: options.pageToken,
    guard,
    responder,
    mounts: [
      { prefix: "/api", routes: [...setups.values()].map(({ routes }) => routes) },
      ...areaRoutes.flatMap(({ mounts = [] }) => mounts),
    ],
    open: [
      ...(options.separateAdmin ? [] : [health(), protectedMetrics()]),
      ...areaRoutes.flatMap(({ open = [] }) => open),
      ...(options.extend?.(setups, { guard, responder, spans }) ?? []),
    ],
    ...(options.corsOrigins === undefined ? {} : { cors: makeCors(options.corsOrigins) }),
    isFull: inFlight.isFull,
    report: (answered, request) => {
      metrics.record(answered)
      const traceId = spans?.end(request, answered)
      if (answered.route === OVERLOADED_ROUTE) noteOverload()
      else log.request(answered, traceId)
    },
    unexpected,
  })
  const admin = makeApp({
    version: VERSION,
    schemas: {},
    guard,
    responder,
    mounts: [],
    open: [health(), metricsRoutes(format, responder, false)],
    isFull: () => false,
    report: () => {},
    unexpected,
  })
  return {
    fetch: (request, server) => {
      // Where handlers find it, as if Elysia itself had begun to listen.
      app.server = server
      return inFlight.run(() => app.fetch(request))
    },
    endFeeds: feeds.end,
    routes: app.routes,
    adminFetch: (request) => admin.fetch(request),
    close: async () => {
      measuring?.interruptUnsafe()
      await runtime.dispose()
    },
  }
}
