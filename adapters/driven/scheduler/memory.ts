import { Effect, Layer, Option, Stream, SubscriptionRef } from "effect"
import { checked } from "../../../domain/scheduler/checked_scheduler.ts"
import * as errors from "../../../domain/scheduler/errors.ts"
import { groupCount, type JobAt, type JobDefinition } from "../../../domain/scheduler/job.ts"
import { parseLossless, stringifyLossless } from "../../../domain/scheduler/lossless_json.ts"
import * as port from "../../../domain/scheduler/scheduler_port.ts"

/** What a scheduler in memory starts with. */
export interface MemorySchedulerOptions {
  /** Task group that scaling targets (specification 4.3 rule 1). */
  readonly scaleGroup: string
  /** Id of the only node; `memory` when omitted. */
  readonly nodeId?: string
}

const keyOf = ({ region, namespace, jobId }: JobAt): string => `${region}/${namespace ?? "default"}/${jobId}`

/** A copy, so that a caller who changes his definition does not change ours. */
const copyOf = (definition: JobDefinition) => parseLossless(stringifyLossless(definition)) as JobDefinition

/** The fields of an error. No protocol lies between caller and scheduler, so the method only says where it was refused. */
const refusal = (operation: errors.Operation, id: string, body: string) =>
  ({ operation, method: "MEMORY", path: id, status: 404, body, applied: "no" }) as const

/** The groups of a job: how many instances each wants, all of which run unless the job is stopped. */
const countsOf = (job: JobDefinition) =>
  (job.TaskGroups ?? []).map(({ Name: group }) => {
    const desired = groupCount(job, group) ?? 0
    return { group, desired, running: job.Stop === true ? 0 : desired }
  })

const allocationsOf = ([key, job]: readonly [key: string, job: JobDefinition]) =>
  countsOf(job).flatMap(({ group, running }) =>
    Array.from({ length: running }, (_, instance) => {
      const state = { ClientStatus: "running", DesiredStatus: "run" }
      return { ID: `${key}/${group}/${instance}`, JobID: job.ID, TaskGroup: group, ...state }
    }),
  )

const make = Effect.fnUntraced(function* ({ scaleGroup, nodeId = "memory" }: MemorySchedulerOptions) {
  const jobs = new Map<string, JobDefinition>()
  const changes: Array<port.EventBatch> = []
  /** How many changes there were, which is the index of the latest; whoever waits hears of each. */
  const latest = yield* SubscriptionRef.make(0)

  const commit = Effect.fnUntraced(function* (at: JobAt, changed: JobDefinition, Type: string) {
    const Index = changes.length + 1
    const Job: JobDefinition = { ...changed, JobModifyIndex: Index }
    jobs.set(keyOf(at), Job)
    changes.push({ Index, Events: [{ Topic: "Job", Type, Key: Job.ID, Payload: { Job } }] })
    yield* SubscriptionRef.set(latest, Index)
    return { jobModifyIndex: Index, evaluationId: `evaluation-${Index}` }
  })

  const find = Effect.fnUntraced(function* (operation: errors.Operation, at: JobAt) {
    const job = jobs.get(keyOf(at))
    return job ?? (yield* new errors.SchedulerNotFound(refusal(operation, at.jobId, "job not found")))
  })

  /** What `look` finds: at once without a poll, else once it is newer than the poll's index or the time is over. */
  const polled = <A, E>(poll: port.BlockingQuery | undefined, look: Effect.Effect<port.Snapshot<A>, E>) =>
    poll === undefined
      ? look
      : SubscriptionRef.changes(latest).pipe(
          Stream.mapEffect(() => look),
          Stream.filter(({ index = 0 }) => index > poll.index),
          Stream.runHead,
          Effect.timeoutOption(poll.waitMs),
          Effect.flatMap((newer) =>
            Option.match(Option.flatten(newer), { onNone: () => look, onSome: Effect.succeed }),
          ),
        )

  return checked({
    endpoint: "memory:",
    writeTimeoutMs: 0,
    clusterKeys: Effect.succeed([]),
    scaleGroup,
    getDefinition: (at, poll) =>
      polled(
        poll,
        Effect.map(find("getDefinition", at), (job) => ({ value: copyOf(job), index: job.JobModifyIndex ?? 0 })),
      ),
    runJob: (definition, { region, namespace }) => {
      const job: JobDefinition = { Namespace: namespace ?? "default", Stop: false, ...copyOf(definition) }
      return commit({ jobId: job.ID, region, namespace: job.Namespace ?? "default" }, job, "JobRegistered")
    },
    planJob: (definition, place) =>
      Effect.sync(() => {
        const before = jobs.get(keyOf({ ...place, jobId: definition.ID }))
        return { JobModifyIndex: before?.JobModifyIndex ?? 0, Diff: { Type: before ? "Edited" : "Added" } }
      }),
    scaleJob: Effect.fnUntraced(function* (to) {
      const job = yield* find("scaleJob", to)
      if (groupCount(job, to.group) === undefined)
        return yield* new errors.SchedulerRefused(refusal("scaleJob", to.jobId, "the job has no such task group"))
      if (to.ifIndex !== undefined && to.ifIndex !== job.JobModifyIndex)
        return yield* new errors.JobIndexConflict(refusal("scaleJob", to.jobId, "the job was changed meanwhile"))
      const groups = (job.TaskGroups ?? []).map((each) =>
        each.Name === to.group ? { ...each, Count: to.count } : each,
      )
      return yield* commit(to, { ...job, TaskGroups: groups }, "JobRegistered")
    }),
    deleteJob: Effect.fnUntraced(function* (at) {
      const job = jobs.get(keyOf(at))
      if (job === undefined) return { evaluationId: "" }
      const receipt = yield* commit(at, { ...job, Stop: true }, "JobDeregistered")
      if (at.purge) jobs.delete(keyOf(at))
      return receipt
    }),
    scaleStatus: (at) =>
      Effect.map(find("scaleStatus", at), (job) => ({
        stopped: job.Stop === true,
        groups: Object.fromEntries(countsOf(job).map(({ group, ...counts }) => [group, counts])),
      })),
    allocationStats: ({ allocationId }) =>
      [...jobs].flatMap(allocationsOf).some(({ ID }) => ID === allocationId)
        ? Effect.succeed({ MemoryStats: { RSS: 0 }, CpuStats: { Percent: 0 } })
        : Effect.fail(new errors.SchedulerNotFound(refusal("allocationStats", allocationId, "unknown allocation"))),
    getAllocations: (at, poll) =>
      polled(
        poll,
        Effect.sync(() => {
          const here = at.nodeId === nodeId ? [...jobs].flatMap(allocationsOf) : []
          return { value: { NomadAllocations: here }, index: changes.length }
        }),
      ),
    events: ({ topics, index = 0 }) =>
      SubscriptionRef.changes(latest).pipe(
        Stream.mapAccum(
          () => Number(index) || changes.length + 1,
          (next, newest) => [Math.max(next, newest + 1), changes.slice(next - 1, newest)],
        ),
        Stream.filter(
          ({ Events: [event] }) =>
            topics.length === 0 || topics.includes("Job") || topics.includes(`Job:${event?.["Key"]}`),
        ),
      ),
  })
})

/** A scheduler that lives in this process: its jobs run nowhere, and are gone with it. For tests and for trying out. */
export const layer = (options: MemorySchedulerOptions): Layer.Layer<port.SchedulerPort> =>
  Layer.effect(port.SchedulerPort, make(options))
