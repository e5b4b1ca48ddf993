import { readFile } from "node:fs/promises"
import { Data, Effect } from "effect"
import * as useCases from "../../../application/scheduler/jobs.ts"
import type { Restarts } from "../../../application/scheduler/restarts.ts"
import { waitUntilRunning } from "../../../application/scheduler/wait_until_running.ts"
import type { JobDefinition } from "../../../domain/scheduler/job.ts"
import { parseLossless, stringifyLossless } from "../../../domain/scheduler/lossless_json.ts"
import type { Place, SchedulerPort } from "../../../domain/scheduler/scheduler_port.ts"
import { type Arguments, type Command, type CommandError, type Report, WrongUsage } from "./command.ts"
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
  override get message(): string {
    return `${this.path} ${this.rule}`
  }
}

/** The second step of a restart did not come through. */
class RestartStuck extends Data.TaggedError("RestartStuck")<{ readonly jobId: string; readonly lastError: string }> {
  override get message(): string {
    return `Job '${this.jobId}' was stopped but not brought back: ${this.lastError}`
  }
}

export const PLACE_OPTIONS = { region: { type: "string" }, namespace: { type: "string" } } as const

export const placeOf = ({ options }: Arguments): Place => ({
  region: String(options["region"] ?? ""),
  ...(options["namespace"] === undefined ? {} : { namespace: String(options["namespace"]) }),
})

const readDefinition = (path: string) =>
  Effect.tryPromise({
    try: () => readFile(path === "-" ? "/dev/stdin" : path, "utf8"),
    catch: () => new UnreadableFile({ path, rule: "cannot be read" }),
  }).pipe(
    Effect.flatMap((text) =>
      Effect.try({
        try: () => parseLossless(text) as JobDefinition,
        catch: () => new UnreadableFile({ path, rule: "is not JSON" }),
      }),
    ),
  )

const readWholeNumber = (name: string, text: string): Effect.Effect<number, WrongUsage> =>
  /^\d{1,15}$/.test(text)
    ? Effect.succeed(Number(text))
    : Effect.fail(new WrongUsage({ rule: `${name} must be a whole number` }))

const done = (text: string, json: unknown = null): Report => ({ json, text })

const DEFINITION_FILE = "<file> holds the definition as JSON; - reads standard input."
const RESTART_LOOK_MS = 200

/** Waits until the job's restart is over; fails when it is stuck. */
const untilBack = Effect.fnUntraced(function* (jobId: string) {
  for (;;) {
    const mine = (yield* useCases.unfinishedRestarts).filter((each) => each.jobId === jobId)
    const stuck = mine.find(({ state }) => state === "stuck")
    if (stuck !== undefined) return yield* new RestartStuck({ jobId, lastError: stuck.lastError ?? "no reason known" })
    if (mine.length === 0) return
    yield* Effect.sleep(RESTART_LOOK_MS)
  }
})

const restartTime = (at: number): string => new Date(at).toISOString()

/** `portolan jobs ...`, over the services that `provide` gives. */
export const jobCommands = (provide: SchedulerProviders) => {
  const job = (args: Arguments) => ({ jobId: args.positionals[0] ?? "", ...placeOf(args) })
  const command = (
    name: string,
    rest: Omit<Command, "path" | "options"> & { readonly options?: Command["options"] },
  ): Command => ({
    ...rest,
    path: ["jobs", name],
    options: { ...PLACE_OPTIONS, ...rest.options },
  })
  return {
    get: command("get", {
      summary: "Prints a job's definition",
      positionals: ["job"],
      run: (args) =>
        Effect.map(provide.client(useCases.getDefinition(job(args))), (definition) =>
          done(stringifyLossless(definition, 2), definition),
        ),
    }),
    run: command("run", {
      summary: "Runs a job",
      positionals: ["file"],
      details: [DEFINITION_FILE],
      run: (args) =>
        Effect.gen(function* () {
          const definition = yield* readDefinition(args.positionals[0] ?? "")
          const receipt = yield* provide.client(useCases.runJob(definition, placeOf(args)))
          return done(
            `Submitted ${definition.ID}${receipt.warnings === undefined ? "" : `\n${receipt.warnings.trim()}`}`,
            receipt,
          )
        }),
    }),
    plan: command("plan", {
      summary: "Shows what running a job would change, and changes nothing",
      positionals: ["file"],
      details: [DEFINITION_FILE],
      run: (args) =>
        Effect.gen(function* () {
          const definition = yield* readDefinition(args.positionals[0] ?? "")
          const plan = yield* provide.client(useCases.planJob(definition, placeOf(args)))
          return done(stringifyLossless(plan, 2), plan)
        }),
    }),
    scale: command("scale", {
      summary: "Scales the configured task group of a job",
      positionals: ["job", "count"],
      run: (args) =>
        Effect.gen(function* () {
          const count = yield* readWholeNumber("<count>", args.positionals[1] ?? "")
          const receipt = yield* provide.client(useCases.scaleJob({ ...job(args), count }))
          return done(`Scaled ${job(args).jobId} to ${count}`, receipt)
        }),
    }),
    restart: command("restart", {
      summary: "Restarts a job: scaled to 0, and one second later to 1",
      positionals: ["job"],
      details: ["Waits for both steps. A restart that is broken off is finished by the next start of the service."],
      run: (args) =>
        provide.restarts(
          Effect.gen(function* () {
            const at = job(args)
            yield* useCases.restartJob(at)
            yield* untilBack(at.jobId)
            return done(`Restarted ${at.jobId}`, at)
          }),
        ),
    }),
    restarts: command("restarts", {
      summary: "Lists restarts that are pending or stuck",
      positionals: [],
      run: () =>
        Effect.map(provide.restarts(useCases.unfinishedRestarts), (restarts) =>
          done(
            restarts.length === 0
              ? "None"
              : textTable(
                  ["job", "region", "state", "due", "tries", "last error"],
                  restarts.map((each) => [
                    each.jobId,
                    each.region,
                    each.state,
                    restartTime(each.dueAt),
                    each.attempts,
                    each.lastError,
                  ]),
                ),
            restarts,
          ),
        ),
    }),
    delete: command("delete", {
      summary: "Deletes a job",
      positionals: ["job"],
      options: { purge: { type: "boolean" } },
      details: ["--purge  forget it at once instead of when the scheduler collects garbage"],
      run: (args) =>
        Effect.map(
          provide.client(useCases.deleteJob({ ...job(args), purge: args.options["purge"] === true })),
          (receipt) => done(`Deleted ${job(args).jobId}`, receipt),
        ),
    }),
    wait: command("wait", {
      summary: "Waits until a job runs as many allocations as it wants",
      positionals: ["job"],
      options: { timeout: { type: "string" } },
      details: ["--timeout <value>  seconds to wait at most, 60 when omitted"],
      run: (args) =>
        Effect.gen(function* () {
          const seconds = yield* readWholeNumber("--timeout", String(args.options["timeout"] ?? "60"))
          yield* provide.client(waitUntilRunning(job(args), { timeoutMs: seconds * 1000 }))
          return done(`${job(args).jobId} is running`)
        }),
    }),
  } satisfies Readonly<Record<string, Command>>
}
