// A scheduler whose scalings a test can refuse, over the scheduler in memory, with what was asked and what was logged.
import { Context, Effect, Exit, Layer, Logger, References, Scope } from "effect"
import * as memoryJournal from "../../../adapters/driven/restart_journal/memory.ts"
import * as memoryScheduler from "../../../adapters/driven/scheduler/memory.ts"
import { Restarts, layer as restartsLayer } from "../../../application/scheduler/restarts.ts"
import * as errors from "../../../domain/scheduler/errors.ts"
import { groupCount, type Integer, type JobAt, type JobDefinition } from "../../../domain/scheduler/job.ts"
import { RestartJournal } from "../../../domain/scheduler/restart_journal.ts"
import { RESTART_RULES, type RestartRules } from "../../../domain/scheduler/restart_plan.ts"
import { SchedulerPort } from "../../../domain/scheduler/scheduler_port.ts"

const GROUP = "restreamer"

/** A job with the group that restarts scale. */
export const sampleJob = (id: string, count = 1): JobDefinition => ({
  ID: id,
  Name: id,
  TaskGroups: [{ Name: GROUP, Count: count, Tasks: [] }],
})

const call = (count: number) =>
  ({ operation: "scaleJob", method: "POST", path: "/v1/job/web/scale", count, applied: "unknown" }) as const
const answered = { ...call(0), status: 400, body: "said the agent" }

export const REFUSALS = {
  denied: new errors.SchedulerDenied({ ...answered, status: 403, applied: "no", reason: "permission" }),
  refused: new errors.SchedulerRefused({ ...answered, applied: "no" }),
  failed: new errors.SchedulerFailed({ ...answered, status: 500 }),
  deployment: new errors.ActiveDeployment({ ...answered, applied: "no" }),
  foreign: new errors.ForeignAnswer({ ...answered, status: 404 }),
  notFound: new errors.SchedulerNotFound({ ...answered, status: 404, applied: "no" }),
  unreadable: new errors.UnreadableAnswer({ ...answered, status: 200, applied: "no", rule: "is not a job" }),
  unreachable: new errors.SchedulerUnreachable({ ...call(0), applied: "no", reason: "connection" }),
  timeout: new errors.SchedulerTimeout(call(0)),
  lost: new errors.SchedulerConnectionLost(call(0)),
  halfDone: new errors.SchedulerFailed({ ...answered, status: 500, body: "leadership lost while committing log" }),
} as const

/** What happens to one scaling: nothing special, a refusal, or a refusal after the agent did it. */
type Fate = "done" | { readonly refused: errors.SchedulerError } | { readonly doneButFailed: errors.SchedulerError }

/** Builds the world, with the sample job `web` at 1. */
export const makeWorld = Effect.fnUntraced(function* () {
  const logs: Array<{ readonly level: string; readonly text: string }> = []
  const logger = Logger.make<unknown, void>(({ logLevel, message }) => {
    logs.push({ level: logLevel, text: (Array.isArray(message) ? message : [message]).join(" ") })
  })
  const logging = Layer.merge(Logger.layer([logger]), Layer.succeed(References.MinimumLogLevel, "Info"))
  const context = yield* Layer.build(Layer.mergeAll(memoryScheduler.layer({ scaleGroup: GROUP }), memoryJournal.layer))
  const inner = Context.get(context, SchedulerPort)
  /** Counts of the scalings the agent was asked for, in order. */
  const scalings: Array<number> = []
  /** The index that each of them insisted on. */
  const insisted: Array<Integer | undefined> = []
  /** Fates of the next scalings, one each; "done" after them. */
  const fates: Array<Fate> = []
  /** Fates of the next looks at a job; undefined is an ordinary one. */
  const lookFates: Array<errors.SchedulerError | undefined> = []
  let looks = 0
  /** Fates of the next questions for the job's index. */
  const indexFates: Array<errors.SchedulerError> = []
  const scheduler = SchedulerPort.of({
    ...inner,
    scaleJob: (to) =>
      Effect.suspend(() => {
        scalings.push(to.count)
        insisted.push(to.ifIndex)
        const fate = fates.shift() ?? "done"
        if (fate === "done") return inner.scaleJob(to)
        if ("refused" in fate) return Effect.fail(fate.refused)
        return Effect.andThen(inner.scaleJob(to), Effect.fail(fate.doneButFailed))
      }),
    getDefinition: (at) =>
      Effect.suspend(() => {
        const fate = indexFates.shift()
        return fate === undefined ? inner.getDefinition(at) : Effect.fail(fate)
      }),
    scaleStatus: (at) =>
      Effect.suspend(() => {
        looks += 1
        const fate = lookFates.shift()
        return fate === undefined ? inner.scaleStatus(at) : Effect.fail(fate)
      }),
  })
  // Later instances see it: what a shared journal makes the service do is done here too.
  const journal = RestartJournal.of({ ...Context.get(context, RestartJournal), shared: true })
  yield* inner.runJob(sampleJob("web"), { region: "" })

  /** Starts an instance of the service on the same agent and journal. */
  const start = Effect.fnUntraced(function* (
    rules: Partial<RestartRules> = {},
    address: Partial<Pick<SchedulerPort["Service"], "endpoint" | "clusterKeys">> = {},
  ) {
    const scope = yield* Scope.make()
    let gone = false
    // A crashed instance neither sends nor writes any more.
    const alive = <A, E>(work: Effect.Effect<A, E>): Effect.Effect<A, E> =>
      Effect.suspend(() => (gone ? Effect.never : work))
    const own = SchedulerPort.of({
      ...scheduler,
      ...address,
      scaleJob: (to) => alive(scheduler.scaleJob(to)),
      getDefinition: (at) => alive(scheduler.getDefinition(at)),
      scaleStatus: (at) => alive(scheduler.scaleStatus(at)),
    })
    const ownJournal = RestartJournal.of({
      ...journal,
      open: (record, lease) => alive(journal.open(record, lease)),
      update: (record, lease) => alive(journal.update(record, lease)),
      close: (id, owner) => alive(journal.close(id, owner)),
      renew: (id, lease) => alive(journal.renew(id, lease)),
      release: (owner) => (gone ? Effect.void : journal.release(owner)),
      claim: (at, now, lease) => alive(journal.claim(at, now, lease)),
    })
    const layers = restartsLayer({ ...RESTART_RULES, ...rules }, "8 seconds").pipe(
      Layer.provide(Layer.succeed(SchedulerPort, own)),
      Layer.provide(Layer.succeed(RestartJournal, ownJournal)),
      Layer.provideMerge(logging),
    )
    const built = yield* Layer.buildWithScope(layers, scope)
    const { restart, unfinished } = Context.get(built, Restarts)
    return {
      // What runs behind a call logs where the call does.
      restarts: { restart: (job: JobAt) => Effect.provide(restart(job), logging), unfinished },
      /** Ends it in order. */
      stop: Scope.close(scope, Exit.void),
      /** Ends it as a crash would: nothing is drained, nothing is given back. */
      crash: Effect.sync(() => {
        gone = true
      }),
    }
  })
  const count = (jobId = "web") =>
    Effect.map(inner.getDefinition({ jobId, region: "" }), ({ value }) => groupCount(value, GROUP))
  return {
    scheduler: inner,
    journal,
    scalings,
    insisted,
    looks: () => looks,
    fates,
    lookFates,
    indexFates,
    logs,
    count,
    start,
  }
})
