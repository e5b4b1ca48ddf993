import type { CarouselIncomplete, MediaError } from "../../../domain/media/errors.ts"
import type { FailureKind, GraphFailure } from "../../../domain/media/graph_failure.ts"
import type { Problem } from "./problem_body.ts"

/** Status and title of every class of failure. Our token being refused is not the caller's fault: 502, never 401. */
export const GRAPH: Readonly<Record<FailureKind, readonly [status: number, title: string]>> = {
  Blocked: [502, "Blocked by the platform"],
  DailyQuota: [429, "Publish quota used up"],
  NotReady: [409, "Not ready"],
  ContainerGone: [404, "Container gone"],
  MediaFetch: [422, "Media not reachable"],
  MediaRejected: [422, "Media rejected"],
  InvalidInput: [422, "Refused by the platform"],
  StatusUnavailable: [503, "State unavailable"],
  ServerTransient: [503, "Platform failed"],
  Throttled: [503, "Rate limit reached"],
  TokenInvalid: [502, "Platform refuses the service's token"],
  Permission: [502, "Platform denies a permission"],
  Protocol: [502, "Unreadable answer"],
  Unrecognised: [502, "Unknown failure"],
  Network: [503, "Platform unreachable"],
}

const retryAfter = (ms: number | undefined): { readonly headers?: Readonly<Record<string, string>> } =>
  ms === undefined ? {} : { headers: { "retry-after": String(Math.max(1, Math.ceil(ms / 1000))) } }

const RETRY_AFTER_MS = 2_000

const graphProblem = (error: GraphFailure): Problem => {
  const [status, title] = GRAPH[error.kind]
  const { graphCode, subcode, traceId } = error
  return {
    status,
    code: error.code,
    title,
    // The platform's words are for whoever can change the request; a failure of ours or of the platform has none.
    detail: status < 500 ? error.message : `${title}; the service's log knows it by the request id`,
    ...retryAfter(error.retryAfterMs ?? (status === 503 ? RETRY_AFTER_MS : undefined)),
    extra: {
      ...(graphCode === undefined ? {} : { graphCode }),
      ...(subcode === undefined ? {} : { graphSubcode: subcode }),
      ...(traceId === undefined ? {} : { graphTraceId: traceId }),
    },
  }
}

/** The status of the failure that must be cured first: the caller's own mistakes last. */
const worst = ({ failed }: CarouselIncomplete): number =>
  Math.max(422, ...failed.map(({ error }) => describeMedia(error).status))

/** A media error as a client is told of it. */
export const describeMedia = (error: MediaError): Problem => {
  switch (error._tag) {
    case "InvalidMedia":
      return {
        status: 422,
        code: error.code,
        title: "Invalid media request",
        detail: "The request breaks the rules listed in 'errors'",
        errors: error.issues,
      }
    case "RequestTargetTooLong":
      return { status: 422, code: error.code, title: "Request target too long", detail: error.message }
    case "CarouselIncomplete":
      return {
        status: worst(error),
        code: error.code,
        title: "Carousel incomplete",
        detail: "No carousel was made; send the created units again as items of kind 'existing'",
        extra: {
          created: error.created,
          failed: error.failed.map((each) => {
            const { code, detail } = describeMedia(each.error)
            return { index: each.index, code, detail }
          }),
          skipped: error.skipped,
        },
      }
    case "OutcomeUnknown":
      return {
        status: 502,
        code: error.code,
        title: "Outcome unknown",
        detail: "Whether the container was published is unknown; look at the account before trying again",
        extra: { containerId: error.containerId, seen: error.seen },
      }
    case "PublishBusy":
      return {
        status: 409,
        code: error.code,
        title: "Already being published",
        detail: "Another request is publishing this; ask again later",
        ...retryAfter(error.retryAfterMs),
      }
    case "QuotaExhausted":
      return {
        status: 429,
        code: error.code,
        title: "Publish quota used up",
        detail: error.message,
        ...retryAfter(error.retryAfterMs),
      }
    case "GraphFailure":
      return graphProblem(error)
  }
}
