import { Context, Effect, Layer, type Scope } from "effect"
import type { AnyElysia } from "elysia"
import type { Mount } from "../adapters/driving/http/app.ts"
import type { Guard } from "../adapters/driving/http/guard.ts"
import type { Schemas } from "../adapters/driving/http/problem_docs.ts"
import type { RequestSpans } from "../adapters/driving/http/request_span.ts"
import type { Responder } from "../adapters/driving/http/respond.ts"
import type { InvalidIdentitySetup } from "../domain/identity/errors.ts"
import type { InvalidMediaSetup } from "../domain/media/errors.ts"
import type { InvalidSchedulerSetup } from "../domain/scheduler/errors.ts"
import type { StoreUnavailable } from "../domain/store_unavailable.ts"

/** Errors that keep the service from starting. */
export type StartError = StoreUnavailable | InvalidIdentitySetup | InvalidSchedulerSetup | InvalidMediaSetup

/** What an area's routes are made with. */
export interface AreaParts {
  readonly guard: Guard
  readonly responder: Responder
  /** The spans of requests, when somebody collects them. */
  readonly spans: RequestSpans | undefined
}

/** What an area serves: routes behind the token check under a prefix, or routes that guard themselves. */
export interface AreaRoutes {
  readonly mounts?: ReadonlyArray<Mount>
  readonly open?: ReadonlyArray<AnyElysia>
  /** Brings the area's gauges up to date; run before the metrics are read. */
  readonly measure?: Effect.Effect<void>
  /** What the operations of its routes refer to in the OpenAPI document. */
  readonly schemas?: Schemas
}

/** Makes an area's routes, once the context of the whole service is there. */
type MakeRoutes = (service: Context.Context<never>, parts: AreaParts) => AreaRoutes

/**
 * An area of the service beside records, present only when it is configured. What its services are is its own business:
 * building them, until the scope closes, gives its routes over them.
 */
export interface Area {
  readonly build: Effect.Effect<MakeRoutes, StartError, Scope.Scope>
}

/**
 * Makes an area.
 *
 * @param layer the area's services
 * @param routes makes the routes; its context holds the area's services and those of the whole service
 */
export const makeArea = <R>(
  layer: Layer.Layer<R, StartError>,
  routes: (context: Context.Context<R>, parts: AreaParts) => AreaRoutes,
): Area => ({
  build: Effect.map(Layer.build(layer), (own) => (service, parts) => routes(Context.merge(service, own), parts)),
})

/** The configured areas, their services built. */
export class BuiltAreas extends Context.Service<BuiltAreas, ReadonlyArray<MakeRoutes>>()(
  "portolan/bootstrap/BuiltAreas",
) {}

/**
 * Builds areas one after the other. A layer that is built already, such as the store, is not built again.
 *
 * @fails {StartError} when an area cannot start
 */
export const areasLayer = (areas: ReadonlyArray<Area>): Layer.Layer<BuiltAreas, StartError> =>
  Layer.effect(BuiltAreas, Effect.all(areas.map(({ build }) => build)))
