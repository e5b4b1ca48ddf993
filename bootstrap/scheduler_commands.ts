import { Effect, Layer } from "effect"
import type { SchedulerProviders } from "../adapters/driving/cli/jobs.ts"
import { InvalidSchedulerSetup } from "../domain/scheduler/errors.ts"
import { type Config, InvalidConfiguration, readEnvironment } from "./config.ts"
import { makeLog } from "./log_output.ts"
import { schedulerClient, schedulerServices } from "./scheduler_area.ts"
import { setupMistake } from "./setup_mistake.ts"
import { storeLayer } from "./store.ts"

/** Warnings and errors go to standard error, masked: results are on standard output. */
const logging = (config: Config) =>
  makeLog({ ...config, LOG_LEVEL: "warn" }, { write: (line) => process.stderr.write(`${line}\n`), flush: () => {} })
    .layer

/** Runs a program with the services that the environment describes. A setup that can never work is a mistake in it. */
const withServices =
  <Services, LayerError>(services: (config: Config, agentUrl: string) => Layer.Layer<Services, LayerError>) =>
  <A, E>(program: Effect.Effect<A, E, Services>) =>
    Effect.gen(function* () {
      const config = yield* readEnvironment
      if (config.SCHEDULER_URL === undefined)
        return yield* new InvalidConfiguration({
          mistakes: [{ variable: "SCHEDULER_URL", rule: "is required by 'jobs' and 'allocations'" }],
        })
      return yield* Effect.provide(program, Layer.provideMerge(services(config, config.SCHEDULER_URL), logging(config)))
    }).pipe(Effect.mapError((error) => (error instanceof InvalidSchedulerSetup ? setupMistake(error) : error)))

/** What `portolan jobs` and `portolan allocations` run with: the scheduler that the environment describes. */
export const provide: SchedulerProviders = {
  client: withServices(schedulerClient),
  restarts: withServices((config, agentUrl) => schedulerServices(config, agentUrl, storeLayer(config))),
}
