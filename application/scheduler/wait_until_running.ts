import { Clock, Effect } from "effect"
import { NotRunning } from "../../domain/scheduler/errors.ts"
import type { JobAt, ScaleStatus } from "../../domain/scheduler/job.ts"
import { SchedulerPort } from "../../domain/scheduler/scheduler_port.ts"

/** Pause between two looks, milliseconds: doubling, as a job starts either soon or late. */
const PAUSE_MS = { first: 50, longest: 1000 }

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
 * @param options.timeoutMs how long to wait, milliseconds
 * @fails {NotRunning} when the time is over, telling what was missing last
 * @fails {SchedulerError} when the job cannot be looked at
 */
export const waitUntilRunning = Effect.fn("waitUntilRunning")(function* (
  at: JobAt,
  { timeoutMs }: { readonly timeoutMs: number },
) {
  const scheduler = yield* SchedulerPort
  const deadline = (yield* Clock.currentTimeMillis) + timeoutMs
  for (let pause = PAUSE_MS.first; ; pause = Math.min(pause * 2, PAUSE_MS.longest)) {
    const missing = shortfall(yield* scheduler.scaleStatus(at))
    if (missing === undefined) return
    const left = deadline - (yield* Clock.currentTimeMillis)
    if (left <= 0) return yield* new NotRunning({ jobId: at.jobId, reason: missing })
    yield* Effect.sleep(Math.min(pause, left))
  }
})
