import { type Cause, Data } from "effect"
import type { StoreUnavailable } from "../store_unavailable.ts"

/** The operations of {@link SchedulerPort} that talk to the agent. */
export type Operation =
  | "getDefinition"
  | "runJob"
  | "planJob"
  | "scaleJob"
  | "deleteJob"
  | "scaleStatus"
  | "allocationStats"
  | "getAllocations"
  | "events"
  | "clusterKeys"

/** One call that went wrong. `path` is without query, and no field ever holds a secret. */
export interface FailedCall {
  readonly operation: Operation
  readonly method: string
  readonly path: string
  /** Whether the agent can have done what was asked. */
  readonly applied: "no" | "unknown"
}

/** A call the agent answered with a refusal; `body` is its text, at most 4 KiB. */
export interface RefusedCall extends FailedCall {
  readonly status: number
  readonly body: string
}

const where = (call: FailedCall): string => `${call.operation} (${call.method} ${call.path})`
const refusal = (call: RefusedCall): string => `${where(call)}: ${call.status} ${call.body.trim()}`

/** An argument that could never be sent; nothing was. */
export class InvalidSchedulerArgument extends Data.TaggedError("InvalidSchedulerArgument")<{
  readonly argument: string
  readonly rule: string
}> {
  readonly code = "INVALID_SCHEDULER_ARGUMENT"
  override get message(): string {
    return `'${this.argument}' ${this.rule}`
  }
}

/** An option the client can never work with; found when the client is made. */
export class InvalidSchedulerSetup extends Data.TaggedError("InvalidSchedulerSetup")<{
  readonly option: string
  readonly rule: string
}> {
  readonly code = "INVALID_SCHEDULER_SETUP"
  override get message(): string {
    return `Scheduler option '${this.option}' ${this.rule}`
  }
}

/** No connection, or no trusted one: nothing was sent. */
export class SchedulerUnreachable extends Data.TaggedError("SchedulerUnreachable")<
  FailedCall & { readonly reason: "connection" | "tls" }
> {
  readonly code = "SCHEDULER_UNREACHABLE"
  override get message(): string {
    return `${where(this)}: no ${this.reason === "tls" ? "trusted TLS " : ""}connection to the agent`
  }
}

/** An error of which only tag, code and fields are its own. Named, so that declarations can be written without the body. */
type ErrorClass<Tag extends string, Code extends string, Fields> = new (
  fields: Fields,
) => Cause.YieldableError & Fields & { readonly _tag: Tag; readonly code: Code }

/** Base of the errors of a call that brought no answer, or none to use. */
const failedCall = <const Tag extends string, const Code extends string>(
  tag: Tag,
  code: Code,
  text: string,
): ErrorClass<Tag, Code, FailedCall> =>
  class extends Data.TaggedError(tag)<FailedCall> {
    readonly code = code
    override get message(): string {
      return `${where(this)}: ${text}`
    }
  }

/** The whole exchange, body included, took longer than its deadline. */
export class SchedulerTimeout extends failedCall(
  "SchedulerTimeout",
  "SCHEDULER_TIMEOUT",
  "no complete answer within the deadline",
) {}

/** The connection broke before the answer was complete. */
export class SchedulerConnectionLost extends failedCall(
  "SchedulerConnectionLost",
  "SCHEDULER_CONNECTION_LOST",
  "the connection broke before the answer was complete",
) {}

/** The agent pointed elsewhere; redirects are never followed, they would carry the token away. */
export class SchedulerRedirected extends failedCall(
  "SchedulerRedirected",
  "SCHEDULER_REDIRECTED",
  "the agent answered with a redirect, which is not followed",
) {}

/** The agent does not accept our token, or not for this. */
export class SchedulerDenied extends Data.TaggedError("SchedulerDenied")<
  RefusedCall & { readonly reason: "permission" | "token" | "registration-disabled" }
> {
  readonly code = "SCHEDULER_DENIED"
  override get message(): string {
    return refusal(this)
  }
}

/** Base of the errors that carry the agent's refusal and nothing else. */
const refusedCall = <const Tag extends string, const Code extends string>(
  tag: Tag,
  code: Code,
): ErrorClass<Tag, Code, RefusedCall> =>
  class extends Data.TaggedError(tag)<RefusedCall> {
    readonly code = code
    override get message(): string {
      return refusal(this)
    }
  }

/** No such job, allocation or node. */
export class SchedulerNotFound extends refusedCall("SchedulerNotFound", "SCHEDULER_NOT_FOUND") {}

/**
 * A 404 that is not the agent's word on what was asked: a proxy's own page, or another route of the agent. It says nothing
 * about the job, allocation or node.
 */
export class ForeignAnswer extends Data.TaggedError("ForeignAnswer")<RefusedCall> {
  readonly code = "SCHEDULER_FOREIGN_ANSWER"
  override get message(): string {
    return `${where(this)}: the answer ${this.status} is not the agent's word on this`
  }
}

/** The agent refuses the request as it is. */
export class SchedulerRefused extends refusedCall("SchedulerRefused", "SCHEDULER_REFUSED") {}

/** The job cannot be scaled while a deployment of it runs. */
export class ActiveDeployment extends refusedCall("ActiveDeployment", "ACTIVE_DEPLOYMENT") {}

/** The job was changed since the index that the request insisted on. */
export class JobIndexConflict extends refusedCall("JobIndexConflict", "JOB_INDEX_CONFLICT") {}

/** The agent found the definition invalid. It says so with status 500; repeating is useless. */
export class InvalidJob extends refusedCall("InvalidJob", "INVALID_JOB") {}

/** The servers have no leader now; nothing was changed, a later try may succeed. */
export class NoLeader extends refusedCall("NoLeader", "NO_LEADER") {}

/** The agent knows no way to this region. */
export class NoRegion extends refusedCall("NoRegion", "NO_REGION") {}

/** Too many connections from here; the request was not read. */
export class SchedulerRateLimited extends refusedCall("SchedulerRateLimited", "SCHEDULER_RATE_LIMITED") {}

/** The agent, or a proxy before it, failed. */
export class SchedulerFailed extends refusedCall("SchedulerFailed", "SCHEDULER_FAILED") {}

/** A successful answer that does not have the promised shape; `body` is its beginning, at most 256 characters. */
export class UnreadableAnswer extends Data.TaggedError("UnreadableAnswer")<RefusedCall & { readonly rule: string }> {
  readonly code = "UNREADABLE_ANSWER"
  override get message(): string {
    return `${where(this)}: the answer ${this.rule}`
  }
}

/** Everything a call to the agent can fail with. */
export type SchedulerError =
  | InvalidSchedulerArgument
  | SchedulerUnreachable
  | SchedulerTimeout
  | SchedulerConnectionLost
  | SchedulerRedirected
  | SchedulerDenied
  | SchedulerNotFound
  | ForeignAnswer
  | SchedulerRefused
  | ActiveDeployment
  | JobIndexConflict
  | InvalidJob
  | NoLeader
  | NoRegion
  | SchedulerRateLimited
  | SchedulerFailed
  | UnreadableAnswer

/**
 * True when the same call may succeed later, because the agent was out of reach, busy, failing or without a leader,
 * or because somebody else answered for it.
 *
 * An active deployment ends as well, but how long to wait for that is the rule of a restart.
 */
export const isPassing = (error: SchedulerError): boolean => {
  switch (error._tag) {
    case "SchedulerUnreachable":
    case "SchedulerTimeout":
    case "SchedulerConnectionLost":
    case "ForeignAnswer":
    case "NoLeader":
    case "SchedulerRateLimited":
    case "SchedulerFailed":
      return true
    default:
      return false
  }
}

/** Everything a restart can fail with: the first step, or the journal that has to be written before it. */
export type RestartError = SchedulerError | StoreUnavailable

/** The job was not running in time. */
export class NotRunning extends Data.TaggedError("NotRunning")<{ readonly jobId: string; readonly reason: string }> {
  readonly code = "JOB_NOT_RUNNING"
  override get message(): string {
    return `Job '${this.jobId}' is not running: ${this.reason}`
  }
}
