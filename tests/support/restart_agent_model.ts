// A scheduler's agent as a network shows it: it takes its time, loses answers, refuses, and somebody else answers for it.
// One job, on virtual time.
import { Deferred, Effect } from "effect"
import * as errors from "../../domain/scheduler/errors.ts"
import type { JobDefinition, JobReceipt, ScaleStatus } from "../../domain/scheduler/job.ts"
import type { JobScaling, Snapshot } from "../../domain/scheduler/scheduler_port.ts"

/** Deadlines of the client, milliseconds: those of the adapter over HTTP. */
export const DEADLINE_MS = { read: 10_000, write: 45_000 }

/** The job. */
export const JOB = { jobId: "web", region: "" } as const

/** The group that restarts scale. */
export const GROUP = "restreamer"

/** What becomes of one request. */
export interface Fate {
  readonly end:
    | "answered"
    | "done, answer lost"
    | "done, foreign 404"
    | "foreign 404"
    | "lost on the way"
    | "not reached"
    | "failed"
    | "active deployment"
    | "denied"
  /** How long it takes until the agent acts, 0 to 60 s, and from then on until the answer is there, milliseconds. */
  readonly actsAfterMs: number
  readonly answersAfterMs: number
}

/** What a person does to the job. */
export type Change = { readonly count: number } | "stop" | "purge"

const ORDINARY: Fate = { end: "answered", actsAfterMs: 0, answersAfterMs: 0 }

const where = (operation: errors.Operation) => ({ operation, method: "MODEL", path: "job" }) as const

const failureOf = (operation: errors.Operation, { end }: Fate): errors.SchedulerError | undefined => {
  const [no, unknown] = [
    { ...where(operation), applied: "no" } as const,
    { ...where(operation), applied: "unknown" } as const,
  ]
  const said = (status: number) => ({ status, body: "said the model" })
  switch (end) {
    case "answered":
      return undefined
    case "done, answer lost":
    case "lost on the way":
      return new errors.SchedulerConnectionLost(unknown)
    case "done, foreign 404":
    case "foreign 404":
      return new errors.ForeignAnswer({ ...unknown, ...said(404) })
    case "not reached":
      return new errors.SchedulerUnreachable({ ...no, reason: "connection" })
    case "failed":
      return new errors.SchedulerFailed({ ...unknown, ...said(500) })
    case "active deployment":
      return new errors.ActiveDeployment({ ...no, ...said(400) })
    case "denied":
      return new errors.SchedulerDenied({ ...no, ...said(403), reason: "permission" })
  }
}

/** Makes an agent whose job is at `count`. Requests meet the given fates in turn, and after them ordinary ones. */
export const makeAgentModel = (count: number, fates: ReadonlyArray<Fate>) => {
  const job = { there: true, stopped: false, count, index: 1, changedBy: "operator" as "operator" | "restart" }
  const left = [...fates]
  let standing = ORDINARY
  let underWay = 0
  let keptToItself = false
  let refusedZeros = 0

  const notFound = (operation: errors.Operation) =>
    new errors.SchedulerNotFound({ ...where(operation), applied: "no", status: 404, body: "job not found" })

  const scale = (to: JobScaling): Effect.Effect<JobReceipt, errors.SchedulerError> => {
    if (!job.there) return Effect.fail(notFound("scaleJob"))
    if (to.ifIndex !== undefined && to.ifIndex !== job.index) {
      if (to.count === 0) refusedZeros += 1
      return Effect.fail(
        new errors.JobIndexConflict({ ...where("scaleJob"), applied: "no", status: 500, body: "conflicting" }),
      )
    }
    // Who scales to the count that the job has changes its index alone.
    const changedBy = to.count > 0 && to.count === job.count ? job.changedBy : "restart"
    Object.assign(job, { count: to.count, index: job.index + 1, changedBy })
    return Effect.succeed({ jobModifyIndex: job.index })
  }

  const status = (): Effect.Effect<ScaleStatus, errors.SchedulerError> =>
    job.there
      ? Effect.succeed({ stopped: job.stopped, groups: { [GROUP]: { desired: job.count, running: job.count } } })
      : Effect.fail(notFound("scaleStatus"))

  const definition = (): Effect.Effect<Snapshot<JobDefinition>, errors.SchedulerError> =>
    job.there
      ? Effect.succeed({ value: { ID: JOB.jobId, Name: JOB.jobId, JobModifyIndex: job.index } })
      : Effect.fail(notFound("getDefinition"))

  /** A request, from its sending on the agent's and the network's business: its caller may die or give up. */
  const request = Effect.fnUntraced(function* <A>(
    operation: errors.Operation,
    deadlineMs: number,
    act: () => Effect.Effect<A, errors.SchedulerError>,
  ) {
    const fate = left.shift() ?? (operation === "scaleJob" ? standing : ORDINARY)
    const answer = yield* Deferred.make<A, errors.SchedulerError>()
    const failure = failureOf(operation, fate)
    if (operation === "getDefinition" && (failure?._tag === "SchedulerDenied" || failure?._tag === "ForeignAnswer"))
      keptToItself = true
    const acts = fate.end === "answered" || fate.end === "done, answer lost" || fate.end === "done, foreign 404"
    underWay += 1
    yield* Effect.gen(function* () {
      yield* Effect.sleep(fate.actsAfterMs)
      const acted = yield* Effect.exit(acts ? act() : Effect.die("not done"))
      underWay -= 1
      yield* Effect.sleep(fate.answersAfterMs)
      yield* failure === undefined ? Deferred.done(answer, acted) : Deferred.fail(answer, failure)
    }).pipe(Effect.forkDetach)
    return yield* Effect.timeoutOrElse(Deferred.await(answer), {
      duration: deadlineMs,
      orElse: () => Effect.fail(new errors.SchedulerTimeout({ ...where(operation), applied: "unknown" })),
    })
  })

  return {
    job,
    /** True while a request that was sent may still have an effect. */
    isBusy: () => underWay > 0,
    /** The next request meets this fate. */
    meet: (fate: Fate): void => void left.unshift(fate),
    /** Every later scaling ends like this. */
    scalingsEnd: (end: Fate["end"]): void => {
      standing = { ...ORDINARY, end }
    },
    scaleJob: (to: JobScaling) => request("scaleJob", DEADLINE_MS.write, () => scale(to)),
    scaleStatus: request("scaleStatus", DEADLINE_MS.read, status),
    getDefinition: request("getDefinition", DEADLINE_MS.read, definition),
    /** Scalings to 0 that insisted on an index which the job had left. */
    refusedZeros: () => refusedZeros,
    /** True once it did not tell somebody the job's modify index who might not know it. */
    keptIndexToItself: () => keptToItself,
    change: (change: Change): void => {
      Object.assign(job, { index: job.index + 1, changedBy: "operator" })
      if (change === "purge") job.there = false
      else if (change === "stop") job.stopped = true
      else Object.assign(job, { there: true, stopped: false, count: change.count })
    },
  }
}

/** The agent of one run. */
export type AgentModel = ReturnType<typeof makeAgentModel>
