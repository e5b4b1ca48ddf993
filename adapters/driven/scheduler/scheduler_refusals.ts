// Status and text of a refusal -> error. The agent's errors are bare text, and 500 is no class of its own: a broken job,
// a missing leader and an index conflict all come as 500 and only the text tells. Servers prefix texts on their way
// through each other ("rpc error: ..."), so texts are looked for anywhere in the body.
import * as errors from "../../../domain/scheduler/errors.ts"

type MakeError = (refused: errors.RefusedCall) => errors.SchedulerError

const denied =
  (reason: errors.SchedulerDenied["reason"]): MakeError =>
  (refused) =>
    new errors.SchedulerDenied({ ...refused, reason })

const ANY_TEXT = /^/

/**
 * The agent's own words for what it does not have, by what was asked; with an empty or any other text somebody else
 * answered. Servers may prefix them on their way through each other.
 */
const JOB_NOT_FOUND = /^(rpc error: )*job( ".*")? not found\s*$/is
const ALLOCATION_NOT_FOUND = /^(rpc error: )*(unknown (allocation|node) |alloc(ation)? .*not found|no path to node)/is

const notFound: MakeError = (refused) => {
  const text = refused.operation === "allocationStats" ? ALLOCATION_NOT_FOUND : JOB_NOT_FOUND
  return text.test(refused.body)
    ? new errors.SchedulerNotFound(refused)
    : new errors.ForeignAnswer({ ...refused, applied: "unknown" })
}

/** The first rule that fits decides. In all of them the agent did nothing, unless the error itself says otherwise. */
const RULES: ReadonlyArray<readonly [statuses: ReadonlyArray<number>, text: RegExp, make: MakeError]> = [
  [[403, 500], /registration, dispatch, and scale are disabled/i, denied("registration-disabled")],
  [[401, 403, 500], /ACL token (not found|expired)|failed to parse signed token/i, denied("token")],
  [[500], /Permission denied\s*$/i, denied("permission")],
  [[401], ANY_TEXT, denied("token")],
  [[403], ANY_TEXT, denied("permission")],
  [[404], ANY_TEXT, notFound],
  [[429], ANY_TEXT, (refused) => new errors.SchedulerRateLimited(refused)],
  [[400], /scaling blocked due to active deployment/i, (refused) => new errors.ActiveDeployment(refused)],
  [[500], /Enforcing job modify index/i, (refused) => new errors.JobIndexConflict(refused)],
  [
    [500],
    /No cluster leader|Not ready to serve consistent reads|\bno servers\b/i,
    (refused) => new errors.NoLeader(refused),
  ],
  [[500], /No path to region/i, (refused) => new errors.NoRegion(refused)],
  [
    [500],
    /\d+ errors? occurred|cannot update job|can't be submitted with|read-only|is in nonexistent|nonexistent node pool|job priority must be/i,
    (refused) => new errors.InvalidJob(refused),
  ],
  [
    [500],
    /alloc lookup failed|Invalid UUID|Failed to parse value|job_max_count|missing node ID/i,
    (refused) => new errors.SchedulerRefused(refused),
  ],
]

/**
 * The error that a refusal stands for. What no rule knows is a refusal below 500; from 500 on the agent may have failed
 * halfway.
 *
 * @param answer the call, with the status (300 or more) and the text it was answered with
 */
export const refusalOf = (answer: Omit<errors.RefusedCall, "applied">): errors.SchedulerError => {
  const [, , make] = RULES.find(([statuses, text]) => statuses.includes(answer.status) && text.test(answer.body)) ?? []
  if (make !== undefined) return make({ ...answer, applied: "no" })
  return answer.status < 500
    ? new errors.SchedulerRefused({ ...answer, applied: "no" })
    : new errors.SchedulerFailed({ ...answer, applied: "unknown" })
}
