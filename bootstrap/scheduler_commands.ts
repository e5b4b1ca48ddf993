import { Effect, Layer, Logger, References } from "effect"
import { allocationCommands } from "../adapters/driving/cli/allocations.ts"
import { jobCommands, type SchedulerProviders } from "../adapters/driving/cli/jobs.ts"
import { InvalidSchedulerSetup } from "../domain/scheduler/errors.ts"
import { InvalidConfiguration, readEnvironment } from "./config.ts"
import { schedulerClient, schedulerServices } from "./scheduler_area.ts"
import { setupMistake } from "./setup_mistake.ts"
import { storeLayer } from "./store.ts"

const unconfigured = new InvalidConfiguration({
  mistakes: [{ variable: "SCHEDULER_URL", rule: "is required by 'jobs' and 'allocations'" }],
})

/** Logs go to standard error: results are on standard output. */
const logging = Layer.mergeAll(
  Logger.layer([Logger.consolePretty()]),
  Layer.succeed(Logger.LogToStderr, true),
  Layer.succeed(References.MinimumLogLevel, "Warn"),
)

/** A setup that can never work is a mistake in the environment. */
const asMistake = <E>(error: E): E | InvalidConfiguration =>
  error instanceof InvalidSchedulerSetup ? setupMistake(error) : error

const provide: SchedulerProviders = {
  client: (program) =>
    Effect.gen(function* () {
      const config = yield* readEnvironment
      if (config.SCHEDULER_URL === undefined) return yield* unconfigured
      return yield* Effect.provide(program, Layer.provideMerge(schedulerClient(config, config.SCHEDULER_URL), logging))
    }).pipe(Effect.mapError(asMistake)),
  restarts: (program) =>
    Effect.gen(function* () {
      const config = yield* readEnvironment
      if (config.SCHEDULER_URL === undefined) return yield* unconfigured
      const services = schedulerServices(config, config.SCHEDULER_URL, storeLayer(config))
      return yield* Effect.provide(program, Layer.provideMerge(services, logging))
    }).pipe(Effect.mapError(asMistake)),
}

export const schedulerCommands = { jobs: jobCommands(provide), allocations: allocationCommands(provide) }
