// Status and text of a refusal -> error. The agent's errors are bare text, and 500 is no class of its own: a broken job,
// a missing leader and an index conflict all come as 500 and only the text tells. Servers prefix texts on their way
// through each other ("rpc error: ..."), so texts are looked for anywhere in the body.
import * as errors from "../../../domain/scheduler/errors.ts"

/** The fields of an error before its class is known. `applied` is the class's to say. */
type Answer = Omit<errors.RefusedCall, "applied">

interface Rule {
  readonly statuses: ReadonlyArray<number>
  readonly text?: RegExp
  readonly error: (answer: Answer) => errors.SchedulerError
}

const no = (answer: Answer): errors.RefusedCall => ({ ...answer, applied: "no" })

const denied = (reason: errors.SchedulerDenied["reason"]) => (answer: Answer) =>
  new errors.SchedulerDenied({ ...no(answer), reason })

/** The first rule that fits decides. */
const RULES: ReadonlyArray<Rule> = [
  {
    statuses: [403, 500],
    text: /registration, dispatch, and scale are disabled/i,
    error: denied("registration-disabled"),
  },
  {
    statuses: [401, 403, 500],
    text: /ACL token (not found|expired)|failed to parse signed token/i,
    error: denied("token"),
  },
  { statuses: [500], text: /Permission denied\s*$/i, error: denied("permission") },
  { statuses: [401], error: denied("token") },
  { statuses: [403], error: denied("permission") },
  { statuses: [404], error: (answer) => new errors.SchedulerNotFound(no(answer)) },
  { statuses: [429], error: (answer) => new errors.SchedulerRateLimited(no(answer)) },
  {
    statuses: [400],
    text: /scaling blocked due to active deployment/i,
    error: (answer) => new errors.ActiveDeployment(no(answer)),
  },
  {
    statuses: [500],
    text: /Enforcing job modify index/i,
    error: (answer) => new errors.JobIndexConflict(no(answer)),
  },
  {
    statuses: [500],
    text: /No cluster leader|Not ready to serve consistent reads|\bno servers\b/i,
    error: (answer) => new errors.NoLeader(no(answer)),
  },
  { statuses: [500], text: /No path to region/i, error: (answer) => new errors.NoRegion(no(answer)) },
  {
    statuses: [500],
    text: /\d+ errors? occurred|cannot update job|can't be submitted with|read-only|is in nonexistent|nonexistent node pool|job priority must be/i,
    error: (answer) => new errors.InvalidJob(no(answer)),
  },
  {
    statuses: [500],
    text: /alloc lookup failed|Invalid UUID|Failed to parse value|job_max_count|missing node ID/i,
    error: (answer) => new errors.SchedulerRefused(no(answer)),
  },
]

/** The error that an answer with a status of 400 or more stands for. */
export const refusalOf = (answer: Answer): errors.SchedulerError => {
  const rule = RULES.find(({ statuses, text }) => statuses.includes(answer.status) && (text?.test(answer.body) ?? true))
  if (rule !== undefined) return rule.error(answer)
  return answer.status < 500
    ? new errors.SchedulerRefused(no(answer))
    : new errors.SchedulerFailed({ ...answer, applied: "unknown" })
}
