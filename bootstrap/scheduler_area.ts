import { Layer } from "effect"
import * as httpScheduler from "../adapters/driven/scheduler/http.ts"
import { makeResponder } from "../adapters/driving/http/respond.ts"
import { SCHEDULER_SCHEMAS } from "../adapters/driving/http/scheduler_docs.ts"
import { schedulerRoutes } from "../adapters/driving/http/scheduler_routes.ts"
import * as restarts from "../application/scheduler/restarts.ts"
import type { InvalidSchedulerSetup } from "../domain/scheduler/errors.ts"
import type { RestartJournal } from "../domain/scheduler/restart_journal.ts"
import { RESTART_RULES } from "../domain/scheduler/restart_plan.ts"
import type { SchedulerPort } from "../domain/scheduler/scheduler_port.ts"
import { type Area, makeArea, type StartError } from "./area.ts"
import { measureRestarts } from "./area_gauges.ts"
import type { Config } from "./config.ts"
import type { Store } from "./store.ts"
import { tracedScheduler } from "./watched_ports.ts"

/** How long the end of the service waits for second steps of restarts, within the time a supervisor usually grants. */
const RESTART_GRACE = "8 seconds"

/** The client of the agent that the configuration names, without restarts. */
export const schedulerClient = (config: Config, baseUrl: string): Layer.Layer<SchedulerPort, InvalidSchedulerSetup> =>
  httpScheduler.layer({
    baseUrl,
    scaleGroup: config.SCHEDULER_SCALE_GROUP,
    debug: config.SCHEDULER_LOG_LEVEL === "debug",
    ...(config.SCHEDULER_TOKEN === undefined ? {} : { token: config.SCHEDULER_TOKEN }),
  })

/** A scheduler, and restarts over it with their journal. */
export const restartsOver = <E1, E2>(
  scheduler: Layer.Layer<SchedulerPort, E1>,
  journal: Layer.Layer<RestartJournal, E2>,
): Layer.Layer<SchedulerPort | restarts.Restarts, E1 | E2> =>
  restarts
    .layer(RESTART_RULES, RESTART_GRACE)
    .pipe(Layer.provideMerge(tracedScheduler(scheduler)), Layer.provide(journal))

/** The scheduler's client and restarts. The journal lives in the store. */
export const schedulerServices = (config: Config, baseUrl: string, store: Store) =>
  restartsOver(schedulerClient(config, baseUrl), store)

/**
 * The scheduler's routes over its services.
 *
 * @param roles realm roles, any one of which may use them
 */
export const schedulerAreaOver = (
  services: Layer.Layer<SchedulerPort | restarts.Restarts, StartError>,
  roles: ReadonlyArray<string>,
): Area =>
  makeArea(services, (context, { guard, spans }) => ({
    mounts: [
      {
        prefix: "/scheduler",
        routes: [schedulerRoutes({ guard, responder: makeResponder(context, spans), roles })],
      },
    ],
    measure: measureRestarts(context),
    schemas: SCHEDULER_SCHEMAS,
  }))

/** The scheduler area of the configured agent. */
export const schedulerArea = (config: Config, baseUrl: string, store: Store): Area =>
  schedulerAreaOver(schedulerServices(config, baseUrl, store), config.SCHEDULER_ROLES)
