import { Effect } from "effect"
import { InvalidSchedulerArgument, type SchedulerError } from "./errors.ts"
import { problemWithCount, problemWithDefinition, problemWithId, problemWithJobAt, problemWithPlace } from "./job.ts"
import type { BlockingQuery, SchedulerPort } from "./scheduler_port.ts"

/** Longest blocking query, milliseconds: an agent may add a sixteenth, and Bun ends a connection silent for 300 s. */
const WAIT_MS_MAX = 240_000

const problemWithPoll = (poll: BlockingQuery | undefined) =>
  poll === undefined || (poll.waitMs >= 0 && poll.waitMs <= WAIT_MS_MAX)
    ? undefined
    : new InvalidSchedulerArgument({ argument: "waitMs", rule: `must be 0 to ${WAIT_MS_MAX}` })

/** The call, or the problem with its arguments when there is one. */
const unless = <A>(
  problem: InvalidSchedulerArgument | undefined,
  call: () => Effect.Effect<A, SchedulerError>,
): Effect.Effect<A, SchedulerError> => (problem === undefined ? call() : Effect.fail(problem))

/**
 * The same port, with arguments checked before the adapter sees them: what breaks a rule of the domain fails with
 * `InvalidSchedulerArgument`, and nothing is sent. Every adapter wraps itself in this.
 */
export const checked = (port: SchedulerPort["Service"]): SchedulerPort["Service"] => ({
  ...port,
  getDefinition: (at, poll) =>
    unless(problemWithJobAt(at) ?? problemWithPoll(poll), () => port.getDefinition(at, poll)),
  runJob: (definition, place) =>
    unless(problemWithDefinition(definition) ?? problemWithPlace(place), () => port.runJob(definition, place)),
  planJob: (definition, place) =>
    unless(problemWithDefinition(definition) ?? problemWithPlace(place), () => port.planJob(definition, place)),
  scaleJob: (to) => unless(problemWithJobAt(to) ?? problemWithCount(to.count), () => port.scaleJob(to)),
  deleteJob: (at) => unless(problemWithJobAt(at), () => port.deleteJob(at)),
  scaleStatus: (at) => unless(problemWithJobAt(at), () => port.scaleStatus(at)),
  allocationStats: (at) =>
    unless(problemWithId("allocationId", at.allocationId) ?? problemWithPlace(at), () => port.allocationStats(at)),
  getAllocations: (at, poll) =>
    unless(problemWithId("nodeId", at.nodeId) ?? problemWithPlace(at) ?? problemWithPoll(poll), () =>
      port.getAllocations(at, poll),
    ),
})
