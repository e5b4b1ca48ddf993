import { Effect, Schedule } from "effect"
import { NotRunning } from "../../domain/scheduler/errors.ts"
import type { JobAt, ScaleStatus } from "../../domain/scheduler/job.ts"
import { SchedulerPort } from "../../domain/scheduler/scheduler_port.ts"

/** Pause between two looks: 50 ms, doubling up to 1 s, as a job starts either soon or late. */
const PAUSES = Schedule.min([Schedule.exponential("50 millis"), Schedule.spaced("1 second")])

/** What keeps a job from running as wanted, or `undefined` when nothing does. */
const shortfall = ({ stopped, groups }: ScaleStatus): string | undefined => {
  if (stopped) return "it is stopped"
  const all = Object.entries(groups)
  if (all.every(([, { desired }]) => desired === 0)) return "every group is scaled to 0"
  const short = all.find(([, { desired, running }]) => running < desired)
  return short && `group '${short[0]}' runs ${short[1].running} of ${short[1].desired}`
}

/**
 * Waits until every group of the job runs as many allocations as it wants.
 *
 * @param options.timeoutMs how long to wait, milliseconds; the job is looked at once more when the time is over
 * @fails {NotRunning} when the time is over, telling what was missing last
 * @fails {SchedulerError} when the job cannot be looked at
 */
export const waitUntilRunning = Effect.fn("waitUntilRunning")(function* (
  at: JobAt,
  { timeoutMs }: { readonly timeoutMs: number },
) {
  const scheduler = yield* SchedulerPort
  const look = Effect.flatMap(scheduler.scaleStatus(at), (status) => {
    const reason = shortfall(status)
    return reason === undefined ? Effect.void : Effect.fail(new NotRunning({ jobId: at.jobId, reason }))
  })
  const lookUntilRunning = Effect.retry(look, { schedule: PAUSES, while: ({ _tag }) => _tag === "NotRunning" })
  yield* Effect.timeoutOrElse(lookUntilRunning, { duration: timeoutMs, orElse: () => look })
})
