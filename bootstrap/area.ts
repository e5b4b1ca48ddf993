import type { Context, Layer } from "effect"
import type { AnyElysia } from "elysia"
import type { Mount } from "../adapters/driving/http/app.ts"
import type { Guard } from "../adapters/driving/http/guard.ts"
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
  /** True when somebody collects spans. */
  readonly traced: boolean
}

/** What an area serves: routes behind the token check under a prefix, or routes that guard themselves. */
export interface AreaRoutes {
  readonly mounts?: ReadonlyArray<Mount>
  readonly open?: ReadonlyArray<AnyElysia>
}

/**
 * An area of the service beside records, present only when it is configured: its services, and its routes over them. What
 * the services are is the area's own business, so the type does not say.
 */
export interface Area {
  readonly layer: Layer.Layer<never, StartError>
  readonly routes: (context: Context.Context<never>, parts: AreaParts) => AreaRoutes
}

/** @param routes made once the layer is built: its services are then in the context */
export const makeArea = <R>(
  layer: Layer.Layer<R, StartError>,
  routes: (context: Context.Context<R>, parts: AreaParts) => AreaRoutes,
): Area => ({ layer: layer as unknown as Area["layer"], routes: routes as unknown as Area["routes"] })
