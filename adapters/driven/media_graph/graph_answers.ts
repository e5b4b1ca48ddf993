import { Effect, Redacted } from "effect"
import { isObject } from "../../../domain/json_object.ts"
import {
  appliedBy,
  classify,
  type FailureKind,
  GraphFailure,
  type GraphOperation,
} from "../../../domain/media/graph_failure.ts"
import type {
  ContainerState,
  ContainerStatus,
  GraphAnswer,
  PublishingLimit,
} from "../../../domain/media/media_graph_port.ts"
import type { Scrub } from "../../../domain/media/secrets.ts"
import { readUsage } from "../../../domain/media/usage.ts"

/** An answer as it arrived. */
export interface ReceivedAnswer {
  readonly status: number
  readonly text: string
  readonly headers: Headers
}

/** Ids are longer than a double holds: such an integer is kept as its digits. */
const keepDigits = (_name: string, value: unknown, context?: { readonly source?: string }): unknown =>
  typeof value === "number" && !Number.isSafeInteger(value) && /^\d+$/.test(context?.source ?? "")
    ? context?.source
    : value

// The content type decides nothing: the graph also sends JSON as text/javascript, and proxies send HTML with status 200.
const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text, keepDigits)
  } catch {
    return undefined
  }
}

const integerOf = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isSafeInteger(value) ? value : undefined

const TRACE_ID = /^[A-Za-z0-9_-]{1,64}$/

const secondsToMs = (text: string | null): number | undefined =>
  text !== null && /^\d{1,6}$/.test(text.trim()) ? Number(text) * 1000 : undefined

interface Complaint {
  readonly kind: FailureKind
  readonly code?: number | undefined
  readonly subcode?: number | undefined
  readonly text: string
  readonly traceId?: string | undefined
}

/** What an answer complains of: in the graph's `error`, in the `debug_info` of its upload hosts, or by its status alone. */
const complaintOf = (
  operation: GraphOperation,
  { status, text }: ReceivedAnswer,
  body: unknown,
): Complaint | undefined => {
  if (isObject(body) && isObject(body["error"])) {
    const { code, error_subcode, is_transient, message, error_user_msg, fbtrace_id } = body["error"]
    const evidence = { code: integerOf(code), subcode: integerOf(error_subcode), transient: is_transient === true }
    return {
      ...evidence,
      kind: classify({ operation, status, ...evidence }),
      text: [message, error_user_msg].filter((each) => typeof each === "string").join(" "),
      traceId: typeof fbtrace_id === "string" && TRACE_ID.test(fbtrace_id) ? fbtrace_id : undefined,
    }
  }
  if (isObject(body) && isObject(body["debug_info"])) {
    const { retriable, message } = body["debug_info"]
    const kind = retriable === true ? "ServerTransient" : "MediaRejected"
    return { kind, text: typeof message === "string" ? message : "" }
  }
  if (status >= 200 && status < 300 && !(isObject(body) && "error" in body)) return undefined
  return { kind: classify({ operation, status }), text }
}

/**
 * Reads an answer, or says how it failed.
 *
 * @param scrub removes the call's secrets from the server's texts
 * @param read gives the value, or `undefined` when the answer lacks it
 * @fails {GraphFailure} of kind Protocol when the answer cannot be read, else of the kind the graph's error says
 */
export const readAnswer = <A>(
  operation: GraphOperation,
  answer: ReceivedAnswer,
  scrub: Scrub,
  read: (body: unknown, scrub: Scrub) => A | undefined,
): Effect.Effect<GraphAnswer<A>, GraphFailure> => {
  const body = parsed(answer.text)
  const usage = readUsage({
    app: answer.headers.get("x-app-usage"),
    business: answer.headers.get("x-business-use-case-usage"),
  })
  const complaint = complaintOf(operation, answer, body)
  const value = complaint === undefined ? read(body, scrub) : undefined
  if (value !== undefined) return Effect.succeed({ value, usage })
  // An answer with a token that could not be read may still hold it, so none of its text is shown.
  const unreadable: Complaint = { kind: "Protocol", text: operation === "app-token" ? "" : answer.text }
  const { kind, code: graphCode, subcode, text, traceId } = complaint ?? unreadable
  const retryAfterMs = (usage.regainMs || undefined) ?? secondsToMs(answer.headers.get("retry-after"))
  return Effect.fail(
    new GraphFailure({
      kind,
      operation,
      applied: appliedBy(kind, subcode),
      status: answer.status,
      usage,
      graphCode,
      subcode,
      text: scrub(text) || undefined,
      traceId,
      retryAfterMs: kind === "Throttled" ? retryAfterMs : undefined,
    }),
  )
}

const ID = /^[A-Za-z0-9_-]{1,64}$/

/** The id in an answer: of a container that was created, or of a post. */
export const readId = (body: unknown): string | undefined => {
  const id = isObject(body) ? body["id"] : undefined
  const text = typeof id === "number" && Number.isSafeInteger(id) && id > 0 ? String(id) : id
  return typeof text === "string" && ID.test(text) ? text : undefined
}

const STATES: Readonly<Record<string, ContainerState>> = {
  IN_PROGRESS: "in-progress",
  FINISHED: "finished",
  ERROR: "error",
  EXPIRED: "expired",
  PUBLISHED: "published",
}

/**
 * A container's state. The platform may leave `status_code` out beside `status: "Error: ..."`; a code this client does not
 * know is the state `unknown`.
 */
export const readStatus =
  (containerId: string) =>
  (body: unknown, scrub: Scrub): ContainerStatus | undefined => {
    if (!isObject(body)) return undefined
    const { status_code: code, status } = body
    if (typeof code !== "string" && typeof status !== "string") return undefined
    const words = typeof status === "string" ? status : ""
    const known = typeof code === "string" && Object.hasOwn(STATES, code) ? STATES[code] : undefined
    const subcode = /error code (\d{1,9})/i.exec(words)?.[1]
    return {
      containerId,
      state: known ?? (typeof code !== "string" && /^error\b/i.test(words) ? "error" : "unknown"),
      ...(words === "" ? {} : { detail: scrub(words) }),
      ...(subcode === undefined ? {} : { subcode: Number(subcode) }),
    }
  }

/** The publish quota: the first row of `data`. */
export const readLimit = (body: unknown): PublishingLimit | undefined => {
  const rows = isObject(body) ? body["data"] : undefined
  const row: unknown = Array.isArray(rows) ? rows[0] : undefined
  const used = isObject(row) ? integerOf(row["quota_usage"]) : undefined
  if (!isObject(row) || used === undefined) return undefined
  const config = isObject(row["config"]) ? row["config"] : {}
  const total = integerOf(config["quota_total"])
  const periodS = integerOf(config["quota_duration"])
  return { used, ...(total === undefined ? {} : { total }), ...(periodS === undefined ? {} : { periodS }) }
}

/** The app token, redacted from here on. */
export const readToken = (body: unknown): Redacted.Redacted | undefined => {
  const token = isObject(body) ? body["access_token"] : undefined
  return typeof token === "string" && token !== "" ? Redacted.make(token) : undefined
}
