import { Context, Layer, ManagedRuntime } from "effect"
import { type AnyElysia, Elysia } from "elysia"
import { type Answerer, makeAnswerer } from "../adapters/driving/http/answer.ts"
import { type Mount, makeApp } from "../adapters/driving/http/app.ts"
import { type CollectionSetup, setupCollection } from "../adapters/driving/http/collection_routes.ts"
import { type Front, makeFront } from "../adapters/driving/http/front.ts"
import { type Guard, makeGuard } from "../adapters/driving/http/guard.ts"
import { type MediaServices, mediaRoutes } from "../adapters/driving/http/media_routes.ts"
import { healthRoutes, metricsRoutes } from "../adapters/driving/http/operations_routes.ts"
import { schedulerRoutes } from "../adapters/driving/http/scheduler_routes.ts"
import type { Restarts } from "../application/scheduler/restarts.ts"
import type { InvalidIdentitySetup } from "../domain/identity/errors.ts"
import { TokenVerifier } from "../domain/identity/token_verifier.ts"
import type { InvalidMediaSetup } from "../domain/media/errors.ts"
import type { Collection } from "../domain/records/collection.ts"
import type { StoreUnavailable } from "../domain/records/errors.ts"
import { RecordRepository } from "../domain/records/record_repository.ts"
import type { InvalidSchedulerSetup } from "../domain/scheduler/errors.ts"
import type { SchedulerPort } from "../domain/scheduler/scheduler_port.ts"
import type { Log } from "./log_output.ts"
import { requestMetrics } from "./request_metrics.ts"
import { VERSION } from "./version.ts"

/** Errors that keep the service from starting. */
export type StartError = StoreUnavailable | InvalidIdentitySetup | InvalidSchedulerSetup | InvalidMediaSetup

export interface SchedulerArea {
  readonly layer: Layer.Layer<SchedulerPort | Restarts, InvalidSchedulerSetup | StoreUnavailable>
  readonly roles: ReadonlyArray<string>
}

export interface MediaArea {
  readonly layer: Layer.Layer<MediaServices, InvalidMediaSetup | StoreUnavailable>
  readonly roles: ReadonlyArray<string>
  readonly accountId: string | undefined
}

export interface ServiceOptions {
  readonly log: Log
  readonly collections: ReadonlyArray<Collection<object>>
  readonly repository: Layer.Layer<RecordRepository, StoreUnavailable>
  readonly verifier: Layer.Layer<TokenVerifier, InvalidIdentitySetup>
  /** Tracing and metrics export, when configured. */
  readonly telemetry?: Layer.Layer<never>
  /** The scheduler's agent and who may use it, when one is configured. */
  readonly scheduler?: SchedulerArea
  /** The graph and who may use it, when one is configured. */
  readonly media?: MediaArea
  /** True when `/health` and `/metrics` have a listener of their own. */
  readonly separateAdmin: boolean
  /** More routes, such as a handler mounted a second time; they guard themselves. */
  readonly extend?: (
    setups: ReadonlyMap<string, CollectionSetup<object>>,
    parts: { readonly guard: Guard; readonly answerer: Answerer },
  ) => ReadonlyArray<AnyElysia>
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

/** The routes of the scheduler; its services are in the context exactly when its area is configured. */
const schedulerMount = ({ roles }: SchedulerArea, context: Context.Context<never>, guard: Guard): Mount => {
  const answerer = makeAnswerer(context as Context.Context<SchedulerPort | Restarts>)
  return { prefix: "/scheduler", routes: [schedulerRoutes({ guard, answerer, roles })] }
}

/** The routes of the media area; its services, too, are in the context exactly when it is configured. */
const mediaOf = (
  { roles, accountId }: MediaArea,
  context: Context.Context<never>,
  guard: Guard,
  answerer: Answerer,
): AnyElysia => mediaRoutes({ services: context as Context.Context<MediaServices>, guard, answerer, roles, accountId })

/**
 * Builds the service: layers once, then the routes over them.
 *
 * @throws {StartError} when an adapter cannot start, as the rejection of the promise
 */
export const makeService = async (options: ServiceOptions): Promise<Service> => {
  const { log } = options
  const base = Layer.mergeAll(options.repository, options.verifier, options.telemetry ?? Layer.empty)
  // A layer that is named twice (the store under the records and under a journal) is built once.
  const layers = Layer.mergeAll(base, options.scheduler?.layer ?? Layer.empty, options.media?.layer ?? Layer.empty)
  const runtime = ManagedRuntime.make(Layer.provideMerge(layers, log.layer))
  const context = await runtime.context()
  const repository = Context.get(context, RecordRepository)
  const answerer = makeAnswerer(context)
  const guard = makeGuard(Context.get(context, TokenVerifier), answerer)
  const metrics = requestMetrics(context)

  const setups = new Map(
    options.collections.map((each) => [each.name, setupCollection(each, { repository, guard, answerer })]),
  )
  const unexpected = (failure: unknown, requestId: string) =>
    log.line("ERROR", "Unexpected failure", {
      requestId,
      failure: failure instanceof Error ? `${failure.name}: ${failure.message}` : String(failure),
    })
  const health = () => healthRoutes(repository.ping, answerer)
  const protectedMetrics = () => new Elysia().use(guard.protect()).use(metricsRoutes(metrics.format, answerer))

  const app = makeApp({
    version: VERSION,
    guard,
    answerer,
    mounts: [
      { prefix: "/api", routes: [...setups.values()].map(({ routes }) => routes) },
      ...(options.scheduler === undefined ? [] : [schedulerMount(options.scheduler, context, guard)]),
    ],
    open: [
      ...(options.separateAdmin ? [] : [health(), protectedMetrics()]),
      ...(options.media === undefined ? [] : [mediaOf(options.media, context, guard, answerer)]),
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
      unexpected: (failure, { id }) => unexpected(failure, id),
    }),
    admin: makeFront({
      route: (request) => admin.fetch(request),
      admits: () => false,
      report: () => {},
      unexpected: (failure, { id }) => unexpected(failure, id),
    }),
    close: () => runtime.dispose(),
  }
}
