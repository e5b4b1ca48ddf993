import { Layer } from "effect"
import * as httpScheduler from "../adapters/driven/scheduler/http.ts"
import * as restarts from "../application/scheduler/restarts.ts"
import type { InvalidSchedulerSetup } from "../domain/scheduler/errors.ts"
import { RESTART_RULES } from "../domain/scheduler/restart_plan.ts"
import type { SchedulerPort } from "../domain/scheduler/scheduler_port.ts"
import type { Config, Mistake, VariableName } from "./config.ts"
import type { SchedulerArea } from "./service.ts"
import type { Store } from "./store.ts"

/** How long the end of the service waits for second steps of restarts, within the time a supervisor usually grants. */
const RESTART_GRACE = "8 seconds"

export const schedulerClient = (config: Config, baseUrl: string): Layer.Layer<SchedulerPort, InvalidSchedulerSetup> =>
  httpScheduler.layer({
    baseUrl,
    scaleGroup: config.SCHEDULER_SCALE_GROUP,
    debug: config.SCHEDULER_LOG_LEVEL === "debug",
    ...(config.SCHEDULER_TOKEN === undefined ? {} : { token: config.SCHEDULER_TOKEN }),
  })

/** The scheduler's client and restarts, when an agent is configured. The journal lives in the store. */
export const schedulerArea = (config: Config, store: Store): SchedulerArea | undefined => {
  if (config.SCHEDULER_URL === undefined) return undefined
  const client = schedulerClient(config, config.SCHEDULER_URL)
  const layer = restarts.layer(RESTART_RULES, RESTART_GRACE).pipe(Layer.provideMerge(client), Layer.provide(store))
  return { layer, roles: config.SCHEDULER_ROLES }
}

const VARIABLE_OF: Readonly<Record<string, VariableName>> = {
  baseUrl: "SCHEDULER_URL",
  token: "SCHEDULER_TOKEN",
  scaleGroup: "SCHEDULER_SCALE_GROUP",
}

/** A scheduler setup that can never work, as a mistake in the variable it came from. */
export const schedulerMistake = ({ option, rule }: InvalidSchedulerSetup): Mistake => ({
  variable: VARIABLE_OF[option] ?? "SCHEDULER_URL",
  rule,
})
