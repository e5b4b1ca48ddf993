import { Context, Effect, Layer, ManagedRuntime } from "effect"
import { type AnyElysia, Elysia } from "elysia"
import { makeAnswerer } from "../adapters/driving/http/answer.ts"
import { makeApp } from "../adapters/driving/http/app.ts"
import { type CollectionSetup, setupCollection } from "../adapters/driving/http/collection_routes.ts"
import { type Front, makeFront } from "../adapters/driving/http/front.ts"
import { makeGuard } from "../adapters/driving/http/guard.ts"
import { healthRoutes, metricsRoutes } from "../adapters/driving/http/operations_routes.ts"
import type { InvalidIdentitySetup } from "../domain/identity/errors.ts"
import { TokenVerifier } from "../domain/identity/token_verifier.ts"
import type { Collection } from "../domain/records/collection.ts"
import { RecordRepository } from "../domain/records/record_repository.ts"
import type { StoreUnavailable } from "../domain/store_unavailable.ts"
import type { Area, AreaParts, StartError } from "./area.ts"
import type { Log } from "./log_output.ts"
import { requestMetrics } from "./request_metrics.ts"
import { VERSION } from "./version.ts"

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
  /** More routes, such as a handler mounted a second time; they guard themselves. */
  readonly extend?: (setups: ReadonlyMap<string, CollectionSetup<object>>, parts: AreaParts) => ReadonlyArray<AnyElysia>
}

export interface Service {
  readonly front: Front
  /** Every route of the public listener: what a walk over all of them goes by. */
  readonly routes: AnyElysia["routes"]
  /** `/health/*` and `/metrics` without a token, for a listener that strangers do not reach. */
  readonly admin: Front
  /** Closes the adapters, background work first. */
  readonly close: () => Promise<void>
}

type Base = RecordRepository | TokenVerifier

/**
 * Builds the service: layers once, then the routes over them.
 *
 * @throws {StartError} when an adapter cannot start, as the rejection of the promise
 */
export const makeService = async (options: ServiceOptions): Promise<Service> => {
  const { log } = options
  const base = Layer.mergeAll(options.repository, options.verifier, options.telemetry ?? Layer.empty)
  // A layer that is named twice (the store under the records and under a journal) is built once.
  const areas = options.areas ?? []
  const layers = areas.reduce((merged, { layer }) => Layer.merge(merged, layer), base as Layer.Layer<Base, StartError>)
  const runtime = ManagedRuntime.make(Layer.provideMerge(layers, log.layer))
  const context = await runtime.context()
  const repository = Context.get(context, RecordRepository)
  const verifier = Context.get(context, TokenVerifier)
  const answerer = makeAnswerer(context, options.telemetry !== undefined)
  const guard = makeGuard(verifier, answerer)
  const metrics = requestMetrics(context)

  const setups = new Map(
    options.collections.map((each) => [each.name, setupCollection(each, { repository, guard, answerer })]),
  )
  const areaRoutes = areas.map(({ routes }) => routes(context, { guard, answerer }))
  const unexpected = (failure: unknown, requestId: string) =>
    log.line("ERROR", "Unexpected failure", {
      requestId,
      failure: failure instanceof Error ? `${failure.name}: ${failure.message}` : String(failure),
    })
  const health = () => healthRoutes(Effect.andThen(repository.ping, verifier.ready), answerer)
  const protectedMetrics = () => new Elysia().use(guard.protect()).use(metricsRoutes(metrics.format, answerer))

  const app = makeApp({
    version: VERSION,
    guard,
    answerer,
    mounts: [
      { prefix: "/api", routes: [...setups.values()].map(({ routes }) => routes) },
      ...areaRoutes.flatMap(({ mounts = [] }) => mounts),
    ],
    open: [
      ...(options.separateAdmin ? [] : [health(), protectedMetrics()]),
      ...areaRoutes.flatMap(({ open = [] }) => open),
      ...(options.extend?.(setups, { guard, answerer }) ?? []),
    ],
    unexpected,
  })
  const admin = makeApp({
    version: VERSION,
    guard,
    answerer,
    mounts: [],
    open: [health(), metricsRoutes(metrics.format, answerer)],
    unexpected,
  })
  return {
    routes: app.routes,
    front: makeFront({
      route: (request) => app.fetch(request),
      admits: guard.admits,
      report: (answered) => {
        metrics.record(answered)
        log.request(answered)
      },
      unexpected,
    }),
    admin: makeFront({
      route: (request) => admin.fetch(request),
      admits: () => false,
      report: () => {},
      unexpected,
    }),
    close: () => {
      metrics.close()
      return runtime.dispose()
    },
  }
}
