import { Data } from "effect"
import type { Usage } from "./usage.ts"

/** What was asked of the graph; some answers mean different things for different questions. */
export type GraphOperation = "create" | "status" | "publish" | "limit" | "app-token" | "probe"

/** The classes of failure, each with its own cure. After `Network` no answer arrived; all others are answers. */
export type FailureKind =
  | "Blocked"
  | "DailyQuota"
  | "NotReady"
  | "ContainerGone"
  | "MediaFetch"
  | "MediaRejected"
  | "InvalidInput"
  | "StatusUnavailable"
  | "ServerTransient"
  | "Throttled"
  | "TokenInvalid"
  | "Permission"
  | "Protocol"
  | "Unrecognised"
  | "Network"

/** What a person can do about it. */
const ADVICE: Readonly<Record<FailureKind, string>> = {
  Blocked: "the account is restricted or the action is blocked; look at the account before trying again",
  DailyQuota: "the publish quota of the last 24 hours is used up",
  NotReady: "the media is still being processed",
  ContainerGone: "the container expired or is unknown; create it again",
  MediaFetch: "the platform cannot fetch the media: check robots rules, authorization, redirects and content type",
  MediaRejected: "the platform cannot use the file",
  InvalidInput: "the request is not acceptable; check the named parameter, the account id and the API version",
  StatusUnavailable: "the platform cannot read the container now; this says nothing about the token",
  ServerTransient: "the platform failed for the moment",
  Throttled: "the platform's rate limit is reached",
  TokenInvalid: "the token or the app secret is not accepted; authenticate again",
  Permission: "the token lacks a permission",
  Protocol: "the answer is not what the graph documents",
  Unrecognised: "an error this client does not know",
  Network: "no usable answer arrived",
}

/** `DailyQuota` as `DAILY_QUOTA`. */
const snake = (kind: FailureKind): string => kind.replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase()

/** The graph refused, failed, or did not answer. Texts of the server are scrubbed of secrets and shortened. */
export class GraphFailure extends Data.TaggedError("GraphFailure")<{
  readonly kind: FailureKind
  readonly operation: GraphOperation
  /** Whether the graph can have acted on the request. */
  readonly applied: "no" | "unknown"
  /** HTTP status of the answer; absent when none arrived. */
  readonly status?: number | undefined
  /** The platform's own `code` and `error_subcode`. */
  readonly graphCode?: number | undefined
  readonly subcode?: number | undefined
  /** The platform's words, scrubbed and shortened. */
  readonly text?: string | undefined
  /** Support reference of the platform, `fbtrace_id`. */
  readonly traceId?: string | undefined
  /** Milliseconds after which the call may be made again, when known. */
  readonly retryAfterMs?: number | undefined
  /** What the answer said about the platform's budget. */
  readonly usage?: Usage | undefined
}> {
  get code(): string {
    return `GRAPH_${snake(this.kind)}`
  }
  override get message(): string {
    const numbers = [this.graphCode, this.subcode].filter((part) => part !== undefined).join("/")
    const from = [this.status === undefined ? "" : `status ${this.status}`, numbers && `code ${numbers}`]
    const known = from.filter((part) => part !== "").join(", ")
    const text = this.text === undefined ? "" : `: ${this.text}`
    return `Graph ${this.operation} failed${known && ` (${known})`}: ${ADVICE[this.kind]}${text}`
  }
}

interface Rule {
  /** `undefined` matches every code. */
  readonly code?: number | readonly [from: number, to: number]
  /** A number, `null` for "none came", or `undefined` for any. */
  readonly subcode?: number | null
  readonly on?: ReadonlyArray<GraphOperation>
  readonly kind: FailureKind
}

const each = (kind: FailureKind, pairs: ReadonlyArray<readonly [code: number, subcode: number]>): ReadonlyArray<Rule> =>
  pairs.map(([code, subcode]) => ({ code, subcode, kind }))

/**
 * The first match counts. Of one code, the rules with a subcode come first, because they can mean the opposite: 4 alone is
 * a rate limit that passes, 4 with subcode 2207051 is a block.
 */
const RULES: ReadonlyArray<Rule> = [
  { subcode: 2207051, kind: "Blocked" },
  { code: 368, kind: "Blocked" },
  ...each("Blocked", [[25, 2207050]]),
  ...each("DailyQuota", [[9, 2207042]]),
  { code: 9007, kind: "NotReady" },
  ...each("ContainerGone", [
    [24, 2207006],
    [24, 2207008],
    [-2, 2207020],
  ]),
  { code: 9004, kind: "MediaFetch" },
  ...each("MediaFetch", [[-2, 2207003]]),
  { code: 352, kind: "MediaRejected" },
  { code: 36000, kind: "MediaRejected" },
  { code: 36001, kind: "MediaRejected" },
  { code: 36003, kind: "MediaRejected" },
  { subcode: 2207077, kind: "MediaRejected" },
  { subcode: 2207082, kind: "MediaRejected" },
  { subcode: 2207085, kind: "MediaRejected" },
  { code: 36004, kind: "InvalidInput" },
  // On the token endpoint code 1 and 101 mean a wrong app id or secret.
  { code: 1, on: ["app-token"], kind: "TokenInvalid" },
  { code: 101, on: ["app-token"], kind: "TokenInvalid" },
  ...each("InvalidInput", [
    [1, 2207057],
    [110, 2207018],
  ]),
  // Reading containers fails so during an outage in which creating and publishing still work.
  { code: 100, subcode: 33, on: ["status"], kind: "StatusUnavailable" },
  { code: 100, kind: "InvalidInput" },
  { code: 506, kind: "InvalidInput" },
  { code: 2500, kind: "InvalidInput" },
  ...each("ServerTransient", [
    [-1, 2207001],
    [-1, 2207032],
    [-1, 2207053],
  ]),
  { code: 1, subcode: null, kind: "ServerTransient" },
  { code: 2, kind: "ServerTransient" },
  { code: 4, kind: "Throttled" },
  { code: 17, kind: "Throttled" },
  { code: 32, kind: "Throttled" },
  { code: 341, kind: "Throttled" },
  { code: 613, kind: "Throttled" },
  { code: [80000, 80099], kind: "Throttled" },
  { code: 190, kind: "TokenInvalid" },
  { code: 102, kind: "TokenInvalid" },
  { code: 3, kind: "Permission" },
  { code: 10, kind: "Permission" },
  { code: [200, 299], kind: "Permission" },
]

const matches = (rule: Rule, operation: GraphOperation, code: number, subcode: number | undefined): boolean =>
  (rule.on?.includes(operation) ?? true) &&
  (rule.code === undefined ||
    (typeof rule.code === "number" ? rule.code === code : rule.code[0] <= code && code <= rule.code[1])) &&
  (rule.subcode === undefined || (rule.subcode ?? undefined) === subcode)

/** What an answer says about its failure, already parsed and scrubbed. */
export interface Evidence {
  readonly operation: GraphOperation
  /** HTTP status. It decides last: nearly every refusal of the graph is a 400. */
  readonly status: number
  readonly code?: number | undefined
  readonly subcode?: number | undefined
  /** The platform's `is_transient`. Only `true` counts, and last: it sends `false` with faults that do pass. */
  readonly transient?: boolean | undefined
}

const byStatus = (status: number): FailureKind | undefined => {
  if (status === 429) return "Throttled"
  return status >= 500 ? "ServerTransient" : undefined
}

/** The class of a failure: by code and subcode first, then by the status, then by the transient mark. */
export const classify = ({ operation, status, code, subcode, transient }: Evidence): FailureKind => {
  if (code === undefined) return byStatus(status) ?? "Protocol"
  const rule = RULES.find((each) => matches(each, operation, code, subcode))
  return rule?.kind ?? byStatus(status) ?? (transient === true ? "ServerTransient" : "Unrecognised")
}

/** Classes whose answer leaves open whether the graph acted. */
const OPEN: ReadonlySet<FailureKind> = new Set(["ServerTransient", "Protocol", "Unrecognised", "Network"])

/**
 * Subcodes that leave it open in a class that does not: 2207051 was seen on posts that had gone live, and 2207008 is "a
 * temporary error publishing a container", of which the document does not say that no post was made.
 *
 * @see https://developers.facebook.com/docs/instagram-platform/instagram-graph-api/reference/error-codes
 */
const OPEN_SUBCODES: ReadonlySet<number | undefined> = new Set([2207051, 2207008])

/** Whether the graph can have acted, for a failure it answered. */
export const appliedBy = (kind: FailureKind, subcode: number | undefined): "no" | "unknown" =>
  OPEN.has(kind) || OPEN_SUBCODES.has(subcode) ? "unknown" : "no"
