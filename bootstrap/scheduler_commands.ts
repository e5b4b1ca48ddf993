import { Effect, Layer, Logger, References } from "effect"
import { allocationCommands } from "../adapters/driving/cli/allocations.ts"
import { jobCommands, type SchedulerProviders } from "../adapters/driving/cli/jobs.ts"
import { InvalidSchedulerSetup } from "../domain/scheduler/errors.ts"
import { InvalidConfiguration, readEnvironment } from "./config.ts"
import { schedulerArea, schedulerClient, schedulerMistake } from "./scheduler_area.ts"
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
  error instanceof InvalidSchedulerSetup ? new InvalidConfiguration({ mistakes: [schedulerMistake(error)] }) : error

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
      const area = schedulerArea(config, storeLayer(config))
      if (area === undefined) return yield* unconfigured
      return yield* Effect.provide(program, Layer.provideMerge(area.layer, logging))
    }).pipe(Effect.mapError(asMistake)),
}

export const schedulerCommands = { jobs: jobCommands(provide), allocations: allocationCommands(provide) }
