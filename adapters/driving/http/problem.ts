import type { Forbidden, KeysUnavailable, Unauthenticated } from "../../../domain/identity/errors.ts"
import type { MediaError } from "../../../domain/media/errors.ts"
import type { RecordsError } from "../../../domain/records/errors.ts"
import type { SchedulerError } from "../../../domain/scheduler/errors.ts"
import type { HttpRefusal } from "./http_refusal.ts"
import { describeMedia } from "./media_problem.ts"
import type { Problem } from "./problem_body.ts"
import { describeSchedulerError } from "./scheduler_problem.ts"

/** Every error a route can answer with. A new one does not compile until {@link describe} knows it. */
export type ServiceError =
  | RecordsError
  | SchedulerError
  | MediaError
  | Unauthenticated
  | Forbidden
  | KeysUnavailable
  | HttpRefusal

/** Name of the protection space in `WWW-Authenticate` (RFC 9110 section 11.5). */
const REALM = "portolan"

/** Seconds after which a client may try again while the service is busy, or something behind it is away. */
const RETRY_AFTER_S = "2"

const REFUSALS: Readonly<Record<HttpRefusal["code"], readonly [status: number, title: string]>> = {
  INVALID_HOST: [400, "Invalid host"],
  OVERLOADED: [503, "Overloaded"],
  TOO_MANY_FEEDS: [503, "Too many change feeds"],
  INVALID_QUERY: [400, "Invalid query parameter"],
  INVALID_CONDITION: [400, "Invalid condition"],
  CONDITION_REQUIRED: [428, "Condition required"],
  INVALID_HEADER: [400, "Invalid header"],
  INVALID_JSON: [400, "Invalid JSON"],
  INVALID_IDEMPOTENCY_KEY: [400, "Invalid idempotency key"],
  REQUEST_TIMEOUT: [408, "Request timeout"],
  ROUTE_NOT_FOUND: [404, "Not found"],
  METHOD_NOT_ALLOWED: [405, "Method not allowed"],
  BODY_TOO_LARGE: [413, "Body too large"],
  UNSUPPORTED_MEDIA_TYPE: [415, "Unsupported media type"],
}

const refusalHeaders = ({ code, allow, acceptPatch }: HttpRefusal): Pick<Problem, "headers"> => {
  // Whoever is too slow is not waited for any longer (RFC 9110 section 15.5.9).
  if (code === "REQUEST_TIMEOUT") return { headers: { connection: "close" } }
  if (code === "OVERLOADED" || code === "TOO_MANY_FEEDS") return { headers: { "retry-after": RETRY_AFTER_S } }
  // What a PATCH may be (RFC 5789 sections 2.2 and 3.1).
  if (acceptPatch !== undefined) return { headers: { "accept-patch": acceptPatch } }
  return allow === undefined ? {} : { headers: { allow } }
}

/** The one place that turns an error into a status and a body. */
export const describe = (error: ServiceError): Problem => {
  switch (error._tag) {
    case "InvalidRecord":
      return {
        status: 422,
        code: error.code,
        title: "Invalid record",
        detail: "The record breaks the rules listed in 'errors'",
        errors: error.issues,
      }
    case "InvalidPage":
      return { status: 400, code: error.code, title: "Invalid page", detail: error.message }
    case "InvalidQuery":
      return { status: 400, code: error.code, title: "Invalid query parameter", detail: error.message }
    case "RecordNotFound":
      return { status: 404, code: error.code, title: "Not found", detail: "No such record" }
    case "RecordChanged":
      return {
        status: 412,
        code: error.code,
        title: "Precondition failed",
        detail: "The record is not, or no longer, in the state that the request means: read it again",
      }
    case "NotUnique":
      return {
        status: 409,
        code: error.code,
        title: "Not unique",
        detail: "Another record has the value of the field that 'errors' names",
        errors: [
          {
            pointer: `${error.at === undefined ? "" : `/${error.at}`}/${error.field}`,
            message: "must be unique, and is not",
          },
        ],
      }
    case "KeyReused":
      return {
        status: 422,
        code: error.code,
        title: "Idempotency key reused",
        detail: "The Idempotency-Key was sent before with another body",
      }
    case "KeyInUse":
      return {
        status: 409,
        code: error.code,
        title: "Idempotency key in use",
        detail: "A request with this Idempotency-Key is still under way; try again later",
        headers: { "retry-after": RETRY_AFTER_S },
      }
    case "PositionGone":
      return {
        status: 410,
        code: error.code,
        title: "Position gone",
        detail:
          "What came after this position is no longer kept; read the collection again and follow it without a position",
      }
    case "ChangesUnsupported":
      return {
        status: 501,
        code: error.code,
        title: "Changes unsupported",
        detail: "The store of this service cannot tell the changes of this collection",
      }
    case "StoreUnavailable":
      return {
        status: 503,
        code: error.code,
        title: "Store unavailable",
        detail: "The store cannot be reached now",
        headers: { "retry-after": RETRY_AFTER_S },
      }
    case "Unauthenticated":
      return {
        status: 401,
        code: error.code,
        title: "Unauthenticated",
        detail: error.message,
        headers: {
          // RFC 6750 section 3.1: no error code when no credentials came.
          "www-authenticate":
            error.reason === "missing"
              ? `Bearer realm="${REALM}"`
              : `Bearer realm="${REALM}", error="invalid_token", error_description="${error.message}"`,
          "cache-control": "no-store",
        },
      }
    case "Forbidden":
      return {
        status: 403,
        code: error.code,
        title: "Forbidden",
        detail: error.message,
        headers: {
          "www-authenticate": `Bearer realm="${REALM}", error="insufficient_scope"`,
          "cache-control": "no-store",
        },
      }
    case "KeysUnavailable":
      return {
        status: 503,
        code: error.code,
        title: "Identity provider unavailable",
        detail: "Tokens cannot be judged now: the realm's keys cannot be fetched",
        headers: { "retry-after": RETRY_AFTER_S, "cache-control": "no-store" },
      }
    case "InvalidMedia":
    case "RequestTargetTooLong":
    case "CarouselIncomplete":
    case "OutcomeUnknown":
    case "PublishBusy":
    case "QuotaExhausted":
    case "GraphFailure":
      return describeMedia(error)
    case "InvalidSchedulerArgument":
    case "SchedulerUnreachable":
    case "SchedulerTimeout":
    case "SchedulerConnectionLost":
    case "SchedulerRedirected":
    case "SchedulerDenied":
    case "SchedulerNotFound":
    case "ForeignAnswer":
    case "SchedulerRefused":
    case "ActiveDeployment":
    case "JobIndexConflict":
    case "InvalidJob":
    case "NoLeader":
    case "NoRegion":
    case "SchedulerRateLimited":
    case "SchedulerFailed":
    case "UnreadableAnswer":
      return describeSchedulerError(error)
    case "HttpRefusal": {
      const [status, title] = REFUSALS[error.code]
      return {
        status,
        code: error.code,
        title,
        detail: error.detail,
        ...refusalHeaders(error),
      }
    }
  }
}
