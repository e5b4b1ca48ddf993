// The library's scheduler face: `import { createScheduler } from "portolan/scheduler"`. Promises outside, Effect inside.
import { Context, Effect, Layer, Redacted, References, Stream } from "effect"
import * as memoryJournal from "../adapters/driven/restart_journal/memory.ts"
import * as httpScheduler from "../adapters/driven/scheduler/http.ts"
import { checkOptions, type HttpSchedulerOptions } from "../adapters/driven/scheduler/http_options.ts"
import * as jobs from "../application/scheduler/jobs.ts"
import * as restarts from "../application/scheduler/restarts.ts"
import { waitUntilRunning } from "../application/scheduler/wait_until_running.ts"
import type { NomadAllocations } from "../domain/scheduler/allocation.ts"
import type { InvalidSchedulerSetup } from "../domain/scheduler/errors.ts"
import type { Integer, JobDefinition, JobPlan } from "../domain/scheduler/job.ts"
import type { ResourceUsage } from "../domain/scheduler/resource_usage.ts"
import type { RestartJournal, RestartRecord } from "../domain/scheduler/restart_journal.ts"
import { RESTART_RULES, type RestartRules } from "../domain/scheduler/restart_plan.ts"
import {
  type BlockingQuery,
  type EventBatch,
  SchedulerPort,
  type Snapshot,
} from "../domain/scheduler/scheduler_port.ts"
import type { StoreUnavailable } from "../domain/store_unavailable.ts"
import { loggerLayer, type StructuredLogger } from "./library_logger.ts"
import { libraryRuntime } from "./library_runtime.ts"

export type { TlsOptions } from "../adapters/driven/http_exchange.ts"
export type { Allocation, NomadAllocations } from "../domain/scheduler/allocation.ts"
export * from "../domain/scheduler/errors.ts"
export type { Integer, JobDefinition, JobPlan, TaskGroup } from "../domain/scheduler/job.ts"
export { parseLossless, stringifyLossless } from "../domain/scheduler/lossless_json.ts"
export { memoryBytes, type ResourceUsage } from "../domain/scheduler/resource_usage.ts"
export type { RestartRecord } from "../domain/scheduler/restart_journal.ts"
export type { RestartRules } from "../domain/scheduler/restart_plan.ts"
export type { BlockingQuery as Poll, EventBatch, Snapshot } from "../domain/scheduler/scheduler_port.ts"
export type { StructuredLogger } from "./library_logger.ts"

/** Task group that scaling and restarting target when none is given (specification 2.2). */
const SCALE_GROUP = "restreamer"
/** How long {@link Scheduler.close} waits for second steps of restarts: the pause and a change's usual time. */
const GRACE = "8 seconds"

/** How to reach an agent, and what a client does beyond one request a call. Only `baseUrl` is required. */
export interface SchedulerOptions extends Omit<HttpSchedulerOptions, "token" | "scaleGroup" | "debug"> {
  /** ACL token, sent as `X-Scheduler-Token` and `X-Nomad-Token`. */
  readonly token?: string
  /** Task group that `scaleJob` and `restartJob` target; `restreamer` when omitted. */
  readonly scaleGroup?: string
  /** Silent when omitted. */
  readonly logger?: StructuredLogger
  /** `debug` logs every HTTP exchange, secrets masked. */
  readonly logLevel?: "debug"
  /** Namespace of every call; the agent's default when omitted. */
  readonly namespace?: string
  /**
   * SQLite file of the restart journal, so that a restart survives the process. Without it a process that is killed in
   * the second between the two steps leaves the job at 0.
   */
  readonly journalPath?: string
  /** How restarts behave beyond specification 4.3; {@link RESTART_RULES} for what is omitted. */
  readonly restart?: Partial<RestartRules>
}

/**
 * A client of one scheduler agent. Every method rejects with one of the exported error classes, which have a `code`.
 *
 * `region` is always sent; the empty string is the agent's own.
 */
export interface Scheduler extends AsyncDisposable {
  readonly getDefinition: (jobId: string, region?: string) => Promise<JobDefinition>
  readonly runJob: (definition: JobDefinition, region?: string) => Promise<void>
  readonly scaleJob: (jobId: string, count: number, region?: string) => Promise<void>
  /** Resolves once the scale to 0 is done; the scale back to 1 follows one second later, its error only logged. */
  readonly restartJob: (jobId: string, region?: string) => Promise<void>
  readonly deleteJob: (jobId: string, region?: string, purge?: boolean) => Promise<void>
  readonly allocationStats: (allocationId: string, region?: string) => Promise<ResourceUsage>
  readonly getAllocations: (nodeId: string, region?: string) => Promise<NomadAllocations>

  readonly planJob: (definition: JobDefinition, region?: string) => Promise<JobPlan>
  readonly pollDefinition: (jobId: string, region: string, poll: BlockingQuery) => Promise<Snapshot<JobDefinition>>
  readonly pollAllocations: (nodeId: string, region: string, poll: BlockingQuery) => Promise<Snapshot<NomadAllocations>>
  /** Rejects with `NotRunning` when the job does not run as wanted after `timeoutMs` milliseconds. */
  readonly waitUntilRunning: (jobId: string, region: string, wait: { readonly timeoutMs: number }) => Promise<void>
  /** Endless; connects again by itself. `topics` are as `Job:web` or `Deployment`. Leaving the loop ends it. */
  readonly events: (
    region?: string,
    from?: { readonly topics?: ReadonlyArray<string>; readonly index?: Integer },
  ) => AsyncIterable<EventBatch>
  /** Restarts that are not over, and those that are stuck; with a journal, also those of other clusters in it. */
  readonly unfinishedRestarts: () => Promise<ReadonlyArray<RestartRecord>>
  /** Waits for second steps of restarts, then lets go of everything. */
  readonly close: () => Promise<void>
}

const journalLayer = (path: string | undefined): Layer.Layer<RestartJournal, StoreUnavailable> =>
  path === undefined
    ? memoryJournal.layer
    : // Loaded only when asked for: not every runtime has SQLite without a warning.
      Layer.unwrap(
        Effect.promise(async () => {
          const journal = await import("../adapters/driven/restart_journal/sqlite.ts")
          const database = await import("../adapters/driven/sqlite_database.ts")
          return Layer.provide(journal.layer, database.layer({ path }))
        }),
      )

type Services = SchedulerPort | restarts.Restarts

const clientOptions = ({ token, scaleGroup, logLevel, ...others }: SchedulerOptions): HttpSchedulerOptions => ({
  ...others,
  scaleGroup: scaleGroup ?? SCALE_GROUP,
  debug: logLevel === "debug",
  ...(token === undefined ? {} : { token: Redacted.make(token) }),
})

const layersOf = (options: SchedulerOptions): Layer.Layer<Services, InvalidSchedulerSetup | StoreUnavailable> =>
  restarts.layer({ ...RESTART_RULES, ...options.restart }, GRACE).pipe(
    Layer.provideMerge(httpScheduler.layer(clientOptions(options))),
    Layer.provide(journalLayer(options.journalPath)),
    Layer.provideMerge(loggerLayer(options.logger)),
    // No exporter is set up for a library's user: spans would be made and thrown away.
    Layer.provideMerge(Layer.succeed(References.TracerEnabled, false)),
  )

/**
 * Makes a client. Nothing is sent before the first call, unless a journal is given and an earlier process left a restart
 * in it: that one is finished. With a journal the client keeps the process alive until it is closed.
 *
 * @throws {InvalidSchedulerSetup} naming the option that can never work
 */
export const createScheduler = (options: SchedulerOptions): Scheduler => {
  Effect.runSync(checkOptions(clientOptions(options)))
  const { run, context, close } = libraryRuntime(layersOf(options))
  // A call that finds the journal closed opens it, or fails with the reason; this only starts what the journal holds.
  if (options.journalPath !== undefined) context().catch(() => {})
  const { namespace } = options
  const place = (region = "") => (namespace === undefined ? { region } : { region, namespace })
  const silently = (program: Effect.Effect<unknown, unknown, Services>) => run(Effect.asVoid(program))
  return {
    getDefinition: (jobId, region) => run(jobs.getDefinition({ jobId, ...place(region) })),
    runJob: (definition, region) => silently(jobs.runJob(definition, place(region))),
    scaleJob: (jobId, count, region) => silently(jobs.scaleJob({ jobId, count, ...place(region) })),
    restartJob: (jobId, region) => silently(jobs.restartJob({ jobId, ...place(region) })),
    deleteJob: (jobId, region, purge = false) => silently(jobs.deleteJob({ jobId, purge, ...place(region) })),
    allocationStats: (allocationId, region) => run(jobs.allocationStats({ allocationId, ...place(region) })),
    getAllocations: (nodeId, region) => run(jobs.getAllocations({ nodeId, ...place(region) })),
    planJob: (definition, region) => run(jobs.planJob(definition, place(region))),
    pollDefinition: (jobId, region, poll) => run(jobs.pollDefinition({ jobId, ...place(region) }, poll)),
    pollAllocations: (nodeId, region, poll) => run(jobs.pollAllocations({ nodeId, ...place(region) }, poll)),
    waitUntilRunning: (jobId, region, wait) => run(waitUntilRunning({ jobId, ...place(region) }, wait)),
    events: async function* (region, from = {}) {
      const services = await context()
      const { events } = Context.get(services, SchedulerPort)
      const subscription = { topics: from.topics ?? [], index: from.index ?? 0, ...place(region) }
      yield* Stream.toAsyncIterableWith(events(subscription), services)
    },
    unfinishedRestarts: () => run(jobs.unfinishedRestarts),
    close,
    [Symbol.asyncDispose]: close,
  }
}
