import { Effect } from "effect"
import { type Integer, modifyIndexOf } from "../../domain/scheduler/job.ts"
import type { RestartRecord } from "../../domain/scheduler/restart_journal.ts"
import { keepsIndexToItself, type Sight, sightOf, sightOfFailure } from "../../domain/scheduler/restart_plan.ts"
import type { SchedulerPort } from "../../domain/scheduler/scheduler_port.ts"

/** What the steps of a restart ask the agent. */
export const makeRestartRequests = (scheduler: SchedulerPort["Service"]) => ({
  /**
   * The job's modify index, or undefined when there is none to insist on. It comes from the definition: what the agent calls
   * the modify index in a job's status changes with the state of its allocations.
   */
  indexOf: (record: RestartRecord) =>
    scheduler.getDefinition(record).pipe(
      // About an id that ends like a route the agent answers with something else, or with another job.
      Effect.map(({ value }) => (value.ID === record.jobId ? modifyIndexOf(value) : undefined)),
      Effect.catchIf(keepsIndexToItself, () => Effect.succeed(undefined)),
    ),

  /**
   * Scales the restart's group.
   *
   * @param ifIndex only when the job is still at this modify index
   */
  scaleTo: ({ jobId, region, namespace, group }: RestartRecord, count: number, ifIndex?: Integer) =>
    scheduler.scaleJob({
      jobId,
      region,
      group,
      count,
      ...(namespace === undefined ? {} : { namespace }),
      ...(ifIndex === undefined ? {} : { ifIndex }),
    }),

  /**
   * Looks how the restart's group stands. It asks for the job's status, not for its definition: the agent has a route of
   * its own for that whatever the job's id ends in, and a right for it that comes with the right to scale.
   */
  look: (record: RestartRecord): Effect.Effect<Sight> =>
    Effect.match(scheduler.scaleStatus(record), {
      onSuccess: (status) => sightOf(status, record.group),
      onFailure: sightOfFailure,
    }),
})

/** The requests of restarts to one agent. */
export type RestartRequests = ReturnType<typeof makeRestartRequests>
