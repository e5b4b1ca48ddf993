import { readFile } from "node:fs/promises"
import { Data, Effect, Schedule } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as useCases from "../../../application/scheduler/jobs.ts"
import type { Restarts } from "../../../application/scheduler/restarts.ts"
import { waitUntilRunning } from "../../../application/scheduler/wait_until_running.ts"
import type { JobAt, JobDefinition } from "../../../domain/scheduler/job.ts"
import { parseLossless, stringifyLossless } from "../../../domain/scheduler/lossless_json.ts"
import type { RestartRecord } from "../../../domain/scheduler/restart_journal.ts"
import type { Place, SchedulerPort } from "../../../domain/scheduler/scheduler_port.ts"
import { type CommandError, type CommandGroup, command, done, optionalText, positive, toggle } from "./command.ts"
import { textTable } from "./text_table.ts"
import { UnreadableFile } from "./unreadable_file.ts"

/** Gives a program the services that the configuration describes. Restarts bring the journal with them. */
export interface SchedulerProviders {
  readonly client: <A, E extends CommandError>(
    program: Effect.Effect<A, E, SchedulerPort>,
  ) => Effect.Effect<A, CommandError>
  readonly restarts: <A, E extends CommandError>(
    program: Effect.Effect<A, E, SchedulerPort | Restarts>,
  ) => Effect.Effect<A, CommandError>
}

/** The second step of a restart did not come through. */
class RestartStuck extends Data.TaggedError("RestartStuck")<{ readonly jobId: string; readonly lastError: string }> {
  readonly code = "RESTART_STUCK"
  override get message(): string {
    return `Job '${this.jobId}' was stopped but not brought back: ${this.lastError}`
  }
}

/** Flags of every command that asks the scheduler. */
export const PLACE = {
  region: Flag.String("region").pipe(
    Flag.withDescription("region to ask for; the agent's own when omitted"),
    Flag.withDefault(""),
  ),
  namespace: optionalText("namespace", "namespace to ask for; the token's own when omitted"),
}

/** The place that the flags name. */
export const placeOf = ({ region, namespace }: Command.Command.Config.Infer<typeof PLACE>): Place => ({
  region,
  ...(namespace === undefined ? {} : { namespace }),
})

const AT = { jobId: Argument.String("job"), ...PLACE }

const jobAt = (input: Command.Command.Config.Infer<typeof AT>): JobAt => ({ jobId: input.jobId, ...placeOf(input) })

const SUBMISSION = {
  file: Argument.String("file").pipe(Argument.withDescription("definition as JSON; - reads standard input")),
  ...PLACE,
}

const readDefinition = Effect.fnUntraced(function* (path: string) {
  const text = yield* Effect.tryPromise({
    try: () => readFile(path === "-" ? "/dev/stdin" : path, "utf8"),
    catch: () => new UnreadableFile({ path, rule: "cannot be read" }),
  })
  return yield* Effect.try({
    try: () => parseLossless(text) as JobDefinition,
    catch: () => new UnreadableFile({ path, rule: "is not JSON" }),
  })
})

/** Waits until the restart of this id is over; fails when it is stuck. */
const untilBack = (restartId: string) =>
  Effect.flatMap(useCases.unfinishedRestarts, (restarts) => {
    const mine = restarts.find(({ id }) => id === restartId)
    return mine?.state === "stuck"
      ? Effect.fail(new RestartStuck({ jobId: mine.jobId, lastError: mine.lastError ?? "no reason known" }))
      : Effect.succeed(mine === undefined)
  }).pipe(Effect.repeat({ schedule: Schedule.spaced("200 millis"), until: (isBack) => isBack }))

const restartTable = (restarts: ReadonlyArray<RestartRecord>): string =>
  restarts.length === 0
    ? "None"
    : textTable(
        ["job", "region", "state", "due", "tries", "agent", "last error"],
        restarts.map(({ jobId, region, state, dueAt, attempts, endpoint, lastError }) => [
          jobId,
          region,
          state,
          new Date(dueAt).toISOString(),
          attempts,
          endpoint,
          lastError,
        ]),
      )

/** `portolan jobs ...`, over the services that `provide` gives. */
export const jobCommands = (provide: SchedulerProviders): CommandGroup<"jobs"> => {
  const get = command("get", {
    summary: "Prints a job's definition",
    config: AT,
    examples: ["jobs get video/one", "jobs get video/one --region eu --json"],
    run: (input) =>
      Effect.map(provide.client(useCases.getDefinition(jobAt(input))), (job) => done(job, stringifyLossless(job, 2))),
  })

  const run = command("run", {
    summary: "Runs a job",
    config: SUBMISSION,
    examples: ["jobs run job.json"],
    run: Effect.fnUntraced(function* (input) {
      const definition = yield* readDefinition(input.file)
      const receipt = yield* provide.client(useCases.runJob(definition, placeOf(input)))
      const warnings = receipt.warnings === undefined ? "" : `\n${receipt.warnings.trim()}`
      return done(receipt, `Submitted ${definition.ID}${warnings}`)
    }),
  })

  const plan = command("plan", {
    summary: "Shows what running a job would change, and changes nothing",
    config: SUBMISSION,
    examples: ["jobs plan job.json"],
    run: Effect.fnUntraced(function* (input) {
      const shown = yield* provide.client(useCases.planJob(yield* readDefinition(input.file), placeOf(input)))
      return done(shown, stringifyLossless(shown, 2))
    }),
  })

  const scale = command("scale", {
    summary: "Scales the configured task group of a job",
    config: { ...AT, count: Argument.Int("count") },
    examples: ["jobs scale video/one 3"],
    run: (input) =>
      Effect.map(provide.client(useCases.scaleJob({ ...jobAt(input), count: input.count })), (receipt) =>
        done(receipt, `Scaled ${input.jobId} to ${input.count}`),
      ),
  })

  const restart = command("restart", {
    summary: "Restarts a job: scaled to 0, and one second later to 1",
    config: AT,
    details: ["Waits for both steps. A restart that is broken off is finished by the next start of the service."],
    examples: ["jobs restart video/one"],
    run: (input) =>
      Effect.as(
        provide.restarts(Effect.flatMap(useCases.restartJob(jobAt(input)), untilBack)),
        done(jobAt(input), `Restarted ${input.jobId}`),
      ),
  })

  const restarts = command("restarts", {
    summary: "Lists restarts that are pending or stuck",
    config: {},
    examples: ["jobs restarts"],
    run: () => Effect.map(provide.restarts(useCases.unfinishedRestarts), (all) => done(all, restartTable(all))),
  })

  const remove = command("delete", {
    summary: "Deletes a job",
    config: { ...AT, purge: toggle("purge", "forget it at once instead of when the scheduler collects garbage") },
    examples: ["jobs delete video/one --purge"],
    run: (input) =>
      Effect.map(provide.client(useCases.deleteJob({ ...jobAt(input), purge: input.purge })), (receipt) =>
        done(receipt, `Deleted ${input.jobId}`),
      ),
  })

  const wait = command("wait", {
    summary: "Waits until a job runs as many allocations as it wants",
    config: {
      ...AT,
      timeout: positive(Flag.Int("timeout"), "seconds to wait at most").pipe(Flag.withDefault(60)),
    },
    examples: ["jobs wait video/one --timeout 120"],
    run: (input) =>
      Effect.as(
        provide.client(waitUntilRunning(jobAt(input), { timeoutMs: input.timeout * 1000 })),
        done(null, `${input.jobId} is running`),
      ),
  })

  return Command.make("jobs").pipe(
    Command.withDescription("Inspects, runs, scales, restarts and deletes jobs of the scheduler"),
    Command.withSubcommands([get, run, plan, scale, restart, restarts, remove, wait]),
  )
}
