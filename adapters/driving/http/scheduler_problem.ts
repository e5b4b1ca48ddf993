import type { SchedulerError } from "../../../domain/scheduler/errors.ts"
import type { Problem } from "./problem_body.ts"

const RETRY_LATER = { "retry-after": "2" } as const

/** Whether a failed change took effect is the first thing its caller wants to know. */
const effect = (error: SchedulerError): string =>
  "applied" in error && error.applied === "unknown" ? "; whether the request took effect is not known" : ""

const unavailable = (error: SchedulerError, detail: string): Problem => ({
  status: 503,
  code: error.code,
  title: "Scheduler unavailable",
  detail: `${detail}${effect(error)}`,
  headers: RETRY_LATER,
})

const badAnswer = (error: SchedulerError, detail: string): Problem => ({
  status: 502,
  code: error.code,
  title: "Bad answer from the scheduler",
  detail: `${detail}${effect(error)}`,
})

const refused = (code: string, detail: string): Problem => ({
  status: 422,
  code,
  title: "The scheduler refuses",
  detail,
})

/** What the scheduler's failures look like from outside (specification 13). A refusal keeps the scheduler's text. */
export const describeSchedulerError = (error: SchedulerError): Problem => {
  switch (error._tag) {
    case "InvalidSchedulerArgument":
      return { status: 422, code: error.code, title: "Invalid argument", detail: error.message }
    case "SchedulerNotFound":
      return {
        status: 404,
        code: error.code,
        title: "Not found",
        detail: "The scheduler knows no such job, allocation or node",
      }
    case "SchedulerRefused":
    case "ActiveDeployment":
    case "JobIndexConflict":
    case "InvalidJob":
    case "NoRegion":
      return refused(error.code, error.body.trim())
    case "SchedulerUnreachable":
      return unavailable(error, "The scheduler cannot be reached now")
    case "SchedulerTimeout":
      return unavailable(error, "The scheduler did not answer in time")
    case "SchedulerConnectionLost":
      return unavailable(error, "The connection to the scheduler broke")
    case "NoLeader":
      return unavailable(error, "The scheduler has no leader now")
    case "SchedulerRateLimited":
      return unavailable(error, "The scheduler is busy")
    case "SchedulerDenied":
      return badAnswer(error, "The scheduler does not accept this service's token for the request")
    case "SchedulerRedirected":
      return badAnswer(error, "The scheduler's address answers with a redirect")
    case "ForeignAnswer":
      return badAnswer(error, "The answer is not the scheduler's")
    case "SchedulerFailed":
      return badAnswer(error, "The scheduler failed")
    case "UnreadableAnswer":
      return badAnswer(error, `The scheduler's answer ${error.rule}`)
  }
}
