import { Effect, Redacted } from "effect"
import type { Container } from "../../../domain/media/container.ts"
import { encodeComponent, encodeQuery, type Parameter } from "../../../domain/media/encoding.ts"
import { RequestTargetTooLong } from "../../../domain/media/errors.ts"
import type { GraphAddress } from "../../../domain/media/graph_address.ts"
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
  CreationCall,
  GraphAnswer,
  PublishingLimit,
  RequestPreview,
} from "../../../domain/media/media_graph_port.ts"
import { maskUrl } from "../../../domain/media/media_url.ts"
import { parametersOf } from "../../../domain/media/parameters.ts"
import { REDACTED, type Scrub } from "../../../domain/media/secrets.ts"
import { readUsage } from "../../../domain/media/usage.ts"

/** How parameters and token travel. The seed's way is the query; the graph accepts the others as well. */
export interface Placement {
  readonly parameters: "query" | "form"
  readonly token: "query" | "header"
}

/** A request as it leaves; `query` and `body` are encoded. */
export interface WireRequest {
  readonly operation: GraphOperation
  readonly method: "GET" | "POST"
  readonly path: string
  readonly query: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Names of the parameters, for the log. */
  readonly names: ReadonlyArray<string>
}

const HEADERS = { accept: "application/json" }

const targetOf = ({ path, query }: WireRequest): string => (query === "" ? path : `${path}?${query}`)

/** Bytes of the request target; it is ASCII. */
export const targetBytes = (request: WireRequest): number => targetOf(request).length

const pathOf = ({ prefix, apiVersion }: GraphAddress, ...segments: ReadonlyArray<string>): string =>
  [prefix, apiVersion, ...segments.map(encodeComponent)].join("/").replace(/^(?!\/)/, "/")

/** Puts the parameters and, last, the token where they belong. */
const placed = (
  request: Pick<WireRequest, "operation" | "method" | "path">,
  parameters: ReadonlyArray<Parameter>,
  token: Redacted.Redacted | undefined,
  placement: Placement,
): WireRequest => {
  const inHeader = token !== undefined && placement.token === "header"
  const shown: ReadonlyArray<Parameter> =
    token === undefined || inHeader ? parameters : [...parameters, ["access_token", Redacted.value(token)]]
  const text = encodeQuery(shown)
  const asForm = placement.parameters === "form" && request.method === "POST"
  return {
    ...request,
    query: asForm ? "" : text,
    headers: {
      ...HEADERS,
      ...(inHeader ? { authorization: `Bearer ${Redacted.value(token)}` } : {}),
      ...(asForm ? { "content-type": "application/x-www-form-urlencoded" } : {}),
    },
    ...(asForm ? { body: text } : {}),
    names: shown.map(([name]) => name),
  }
}

/**
 * `POST /{version}/{account}/media` with the parameters of seed 2.3.
 *
 * @fails {RequestTargetTooLong} when servers would refuse the request line
 */
export const creation = (
  { accountId, container }: CreationCall,
  address: GraphAddress,
  token: Redacted.Redacted,
  options: { readonly placement: Placement; readonly targetBytesMax: number },
): Effect.Effect<WireRequest, RequestTargetTooLong> => {
  const line = { operation: "create", method: "POST", path: pathOf(address, accountId, "media") } as const
  const request = placed(line, parametersOf(container), token, options.placement)
  const bytes = targetBytes(request)
  return bytes > options.targetBytesMax
    ? Effect.fail(new RequestTargetTooLong({ bytes, bytesMax: options.targetBytesMax }))
    : Effect.succeed(request)
}

/** A creation with masked addresses, to be shown. */
const masked = (call: CreationCall): CreationCall => {
  const container = { ...call.container } as Record<string, unknown>
  for (const name of ["imageUrl", "videoUrl", "coverUrl"])
    if (typeof container[name] === "string") container[name] = maskUrl(container[name])
  return { ...call, container: container as unknown as Container }
}

const shown = (encoded: string): string => encoded.replaceAll(encodeComponent(REDACTED), REDACTED)

/** What {@link creation} would send, secrets masked. @fails {RequestTargetTooLong} as it does */
export const preview = Effect.fnUntraced(function* (
  call: CreationCall,
  address: GraphAddress,
  token: Redacted.Redacted,
  options: Parameters<typeof creation>[3],
) {
  const real = yield* creation(call, address, token, options)
  const free = { ...options, targetBytesMax: Number.POSITIVE_INFINITY }
  const request = yield* creation(masked(call), address, Redacted.make(REDACTED), free)
  const seen: RequestPreview = {
    method: "POST",
    target: shown(targetOf(request)),
    targetBytes: targetBytes(real),
    ...(request.body === undefined ? {} : { body: shown(request.body) }),
  }
  return seen
})

/** Requests with a version and a token; parameters in the order given. */
export const versioned = (
  request: {
    readonly operation: GraphOperation
    readonly method: "GET" | "POST"
    readonly path: ReadonlyArray<string>
  },
  parameters: ReadonlyArray<Parameter>,
  address: GraphAddress,
  token: Redacted.Redacted,
  placement: Placement,
): WireRequest => {
  const { operation, method } = request
  return placed({ operation, method, path: pathOf(address, ...request.path) }, parameters, token, placement)
}

/** Seed 4.6: no version, no access token; id and secret in the query. */
export const appToken = (
  { prefix }: GraphAddress,
  app: { readonly appId: string; readonly appSecret: Redacted.Redacted },
): WireRequest =>
  placed(
    { operation: "app-token", method: "GET", path: `${prefix}/oauth/access_token` },
    [
      ["client_id", app.appId],
      ["client_secret", Redacted.value(app.appSecret)],
      ["grant_type", "client_credentials"],
    ],
    undefined,
    { parameters: "query", token: "query" },
  )

export const STATUS_FIELDS: Parameter = ["fields", "status_code,status"]
export const LIMIT_FIELDS: Parameter = ["fields", "quota_usage,config"]

/** An answer as it arrived. */
export interface WireAnswer {
  readonly status: number
  readonly text: string
  readonly header: (name: string) => string | undefined
}

type Json = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

/** Ids are longer than a double holds: such an integer is kept as its digits. */
const keepDigits = (_name: string, value: unknown, context?: { readonly source?: string }): unknown =>
  typeof value === "number" && !Number.isSafeInteger(value) && /^\d+$/.test(context?.source ?? "")
    ? context?.source
    : value

// The content type is not asked: the graph sends JSON as text/javascript too, and proxies send HTML with status 200.
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

const secondsToMs = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,6}$/.test(text.trim()) ? Number(text) * 1000 : undefined

interface Complaint {
  readonly kind: FailureKind
  readonly code?: number | undefined
  readonly subcode?: number | undefined
  readonly text?: string | undefined
  readonly traceId?: string | undefined
}

/** Two envelopes: the graph's `error`, and `debug_info` of its upload hosts. */
const complaintOf = (operation: GraphOperation, { status, text }: WireAnswer, body: unknown): Complaint | undefined => {
  if (isObject(body) && isObject(body["error"])) {
    const { code, error_subcode, is_transient, message, error_user_msg, fbtrace_id } = body["error"]
    const evidence = { code: integerOf(code), subcode: integerOf(error_subcode), transient: is_transient === true }
    const said = [message, error_user_msg].filter((each): each is string => typeof each === "string" && each !== "")
    return {
      ...evidence,
      kind: classify({ operation, status, ...evidence }),
      ...(said.length === 0 ? {} : { text: said.join(" ") }),
      ...(typeof fbtrace_id === "string" && TRACE_ID.test(fbtrace_id) ? { traceId: fbtrace_id } : {}),
    }
  }
  if (isObject(body) && isObject(body["debug_info"])) {
    const { retriable, message } = body["debug_info"]
    return {
      kind: retriable === true ? "ServerTransient" : "MediaRejected",
      ...(typeof message === "string" ? { text: message } : {}),
    }
  }
  if (status >= 200 && status < 300 && !(isObject(body) && "error" in body)) return undefined
  return { kind: classify({ operation, status }), text }
}

/**
 * Reads an answer, or says how it failed.
 *
 * @param read gives the value, or `undefined` when the answer lacks it
 * @fails {GraphFailure} whose texts are scrubbed
 */
export const readAnswer = <A>(
  operation: GraphOperation,
  answer: WireAnswer,
  scrub: Scrub,
  read: (body: unknown) => A | undefined,
): Effect.Effect<GraphAnswer<A>, GraphFailure> => {
  const body = parsed(answer.text)
  const usage = readUsage({
    app: answer.header("x-app-usage"),
    business: answer.header("x-business-use-case-usage"),
  })
  const complaint = complaintOf(operation, answer, body)
  const value = complaint === undefined ? read(body) : undefined
  if (value !== undefined) return Effect.succeed({ value, usage })
  // An unreadable token answer may still hold the token: nothing of it is shown.
  const { kind, code, subcode, text, traceId }: Complaint = complaint ?? {
    kind: "Protocol" as const,
    ...(operation === "app-token" ? {} : { text: answer.text }),
  }
  const said = text === undefined ? "" : scrub(text)
  const regainMs = usage.regainMs === 0 ? undefined : usage.regainMs
  const retryAfterMs = kind === "Throttled" ? (regainMs ?? secondsToMs(answer.header("retry-after"))) : undefined
  return Effect.fail(
    new GraphFailure({
      kind,
      operation,
      applied: appliedBy(kind, subcode),
      status: answer.status,
      usage,
      ...(code === undefined ? {} : { graphCode: code }),
      ...(subcode === undefined ? {} : { subcode }),
      ...(said === "" ? {} : { text: said }),
      ...(traceId === undefined ? {} : { traceId }),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    }),
  )
}

const ID = /^[A-Za-z0-9_-]{1,64}$/

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

/** `status_code` may be missing beside `status: "Error: ..."`; a code nobody knows is "not ready", never a failure. */
export const readStatus =
  (containerId: string, scrub: Scrub) =>
  (body: unknown): ContainerStatus | undefined => {
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

export const readToken = (body: unknown): Redacted.Redacted | undefined => {
  const token = isObject(body) ? body["access_token"] : undefined
  return typeof token === "string" && token !== "" ? Redacted.make(token) : undefined
}
