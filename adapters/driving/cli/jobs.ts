import { readFile } from "node:fs/promises"
import { Data, Effect, Schedule } from "effect"
import * as useCases from "../../../application/scheduler/jobs.ts"
import type { Restarts } from "../../../application/scheduler/restarts.ts"
import { waitUntilRunning } from "../../../application/scheduler/wait_until_running.ts"
import type { JobAt, JobDefinition } from "../../../domain/scheduler/job.ts"
import { parseLossless, stringifyLossless } from "../../../domain/scheduler/lossless_json.ts"
import type { RestartRecord } from "../../../domain/scheduler/restart_journal.ts"
import type { Place, SchedulerPort } from "../../../domain/scheduler/scheduler_port.ts"
import { type Arguments, type Command, type CommandError, WrongUsage } from "./command.ts"
import { textTable } from "./text_table.ts"

/** Gives a program the services that the configuration describes. Restarts bring the journal with them. */
export interface SchedulerProviders {
  readonly client: <A, E extends CommandError>(
    program: Effect.Effect<A, E, SchedulerPort>,
  ) => Effect.Effect<A, CommandError>
  readonly restarts: <A, E extends CommandError>(
    program: Effect.Effect<A, E, SchedulerPort | Restarts>,
  ) => Effect.Effect<A, CommandError>
}

/** A file that is not what its command reads. */
class UnreadableFile extends Data.TaggedError("UnreadableFile")<{ readonly path: string; readonly rule: string }> {
  readonly code = "UNREADABLE_FILE"
  override get message(): string {
    return `${this.path} ${this.rule}`
  }
}

/** The second step of a restart did not come through. */
class RestartStuck extends Data.TaggedError("RestartStuck")<{ readonly jobId: string; readonly lastError: string }> {
  readonly code = "RESTART_STUCK"
  override get message(): string {
    return `Job '${this.jobId}' was stopped but not brought back: ${this.lastError}`
  }
}

/** Options of every command that asks the scheduler. */
export const PLACE_OPTIONS = { region: { type: "string" }, namespace: { type: "string" } } as const

/** The place that the options name. */
export const placeOf = ({ options }: Arguments): Place => ({
  region: String(options["region"] ?? ""),
  ...(options["namespace"] === undefined ? {} : { namespace: String(options["namespace"]) }),
})

const jobAt = (args: Arguments): JobAt => ({ jobId: args.positionals[0] ?? "", ...placeOf(args) })

const readDefinition = Effect.fnUntraced(function* ({ positionals: [path = ""] }: Arguments) {
  const text = yield* Effect.tryPromise({
    try: () => readFile(path === "-" ? "/dev/stdin" : path, "utf8"),
    catch: () => new UnreadableFile({ path, rule: "cannot be read" }),
  })
  return yield* Effect.try({
    try: () => parseLossless(text) as JobDefinition,
    catch: () => new UnreadableFile({ path, rule: "is not JSON" }),
  })
})

const readWholeNumber = (name: string, text: string): Effect.Effect<number, WrongUsage> =>
  /^\d{1,15}$/.test(text)
    ? Effect.succeed(Number(text))
    : Effect.fail(new WrongUsage({ rule: `${name} must be a whole number` }))

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

const DEFINITION_FILE = "<file> holds the definition as JSON; - reads standard input."

/** `portolan jobs ...`, over the services that `provide` gives. */
export const jobCommands = (provide: SchedulerProviders) => {
  /** A command whose `run` gives a value for programs and a text for people. */
  const command = <A>(
    name: string,
    summary: string,
    positionals: ReadonlyArray<string>,
    run: (args: Arguments) => Effect.Effect<readonly [value: A, text: string], CommandError>,
    more: Partial<Command> = {},
  ): Command => ({
    ...more,
    path: ["jobs", name],
    summary,
    positionals,
    options: { ...PLACE_OPTIONS, ...more.options },
    run: (args) => Effect.map(run(args), ([json, text]) => ({ json, text })),
  })

  const get = command("get", "Prints a job's definition", ["job"], (args) =>
    Effect.map(provide.client(useCases.getDefinition(jobAt(args))), (job) => [job, stringifyLossless(job, 2)]),
  )

  const runJob = Effect.fnUntraced(function* (args: Arguments) {
    const definition = yield* readDefinition(args)
    const receipt = yield* provide.client(useCases.runJob(definition, placeOf(args)))
    const warnings = receipt.warnings === undefined ? "" : `\n${receipt.warnings.trim()}`
    return [receipt, `Submitted ${definition.ID}${warnings}`] as const
  })
  const run = command("run", "Runs a job", ["file"], runJob, { details: [DEFINITION_FILE] })

  const planJob = Effect.fnUntraced(function* (args: Arguments) {
    const plan = yield* provide.client(useCases.planJob(yield* readDefinition(args), placeOf(args)))
    return [plan, stringifyLossless(plan, 2)] as const
  })
  const plan = command("plan", "Shows what running a job would change, and changes nothing", ["file"], planJob, {
    details: [DEFINITION_FILE],
  })

  const scaleJob = Effect.fnUntraced(function* (args: Arguments) {
    const count = yield* readWholeNumber("<count>", args.positionals[1] ?? "")
    const receipt = yield* provide.client(useCases.scaleJob({ ...jobAt(args), count }))
    return [receipt, `Scaled ${jobAt(args).jobId} to ${count}`] as const
  })
  const scale = command("scale", "Scales the configured task group of a job", ["job", "count"], scaleJob)

  const restartJob = (args: Arguments) => {
    const at = jobAt(args)
    const program = Effect.flatMap(useCases.restartJob(at), untilBack)
    return Effect.as(provide.restarts(program), [at, `Restarted ${at.jobId}`] as const)
  }
  const restart = command("restart", "Restarts a job: scaled to 0, and one second later to 1", ["job"], restartJob, {
    details: ["Waits for both steps. A restart that is broken off is finished by the next start of the service."],
  })

  const restarts = command("restarts", "Lists restarts that are pending or stuck", [], () =>
    Effect.map(provide.restarts(useCases.unfinishedRestarts), (all) => [all, restartTable(all)]),
  )

  const deleteJob = (args: Arguments) => {
    const at = { ...jobAt(args), purge: args.options["purge"] === true }
    return Effect.map(provide.client(useCases.deleteJob(at)), (receipt) => [receipt, `Deleted ${at.jobId}`] as const)
  }
  const remove = command("delete", "Deletes a job", ["job"], deleteJob, {
    options: { purge: { type: "boolean" } },
    details: ["--purge  forget it at once instead of when the scheduler collects garbage"],
  })

  const waitForJob = Effect.fnUntraced(function* (args: Arguments) {
    const seconds = yield* readWholeNumber("--timeout", String(args.options["timeout"] ?? "60"))
    yield* provide.client(waitUntilRunning(jobAt(args), { timeoutMs: seconds * 1000 }))
    return [null, `${jobAt(args).jobId} is running`] as const
  })
  const wait = command("wait", "Waits until a job runs as many allocations as it wants", ["job"], waitForJob, {
    options: { timeout: { type: "string" } },
    details: ["--timeout <value>  seconds to wait at most, 60 when omitted"],
  })

  return { get, run, plan, scale, restart, restarts, delete: remove, wait }
}
