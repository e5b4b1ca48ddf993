// What goes over the wire, and nothing else: operation -> request. Reading answers is in wire_answers.ts.
import type { Operation } from "../../../domain/scheduler/errors.ts"
import type { Integer, JobAt, JobDefinition } from "../../../domain/scheduler/job.ts"
import { stringifyLossless } from "../../../domain/scheduler/lossless_json.ts"
import type { BlockingQuery, EventSubscription, Place } from "../../../domain/scheduler/scheduler_port.ts"

/** One request to the agent, relative to its base URL. */
export interface WireRequest {
  readonly operation: Operation
  readonly method: "GET" | "POST" | "DELETE"
  /** Encoded path from `/v1` on. */
  readonly path: string
  /** Encoded query without `?`; always holds `region`, also an empty one (seed 4.3). */
  readonly query: string
  readonly body?: string
  /** How long the agent may hold the request, milliseconds; 0 but for blocking queries. */
  readonly waitMs: number
}

/** One parameter of a query. */
const pair = (name: string, value: Integer | string | boolean): string => `${name}=${encodeURIComponent(String(value))}`

const placeQuery = ({ region, namespace }: Place): string =>
  namespace === undefined ? pair("region", region) : `${pair("region", region)}&${pair("namespace", namespace)}`

const pollQuery = (poll: BlockingQuery | undefined): string =>
  poll === undefined ? "" : `&${pair("index", poll.index)}&${pair("wait", `${poll.waitMs}ms`)}`

const get = (operation: Operation, path: string, place: Place, poll?: BlockingQuery): WireRequest => ({
  operation,
  method: "GET",
  path,
  query: placeQuery(place) + pollQuery(poll),
  waitMs: poll?.waitMs ?? 0,
})

const post = (operation: Operation, path: string, place: Place, body: unknown): WireRequest => ({
  operation,
  method: "POST",
  path,
  query: placeQuery(place),
  body: stringifyLossless(body),
  waitMs: 0,
})

/** The agent decodes the path before it looks at it, so an id is one segment whatever it holds. */
const job = (jobId: string): string => `/v1/job/${encodeURIComponent(jobId)}`

export const getDefinition = (at: JobAt, poll?: BlockingQuery) => get("getDefinition", job(at.jobId), at, poll)

export const scaleStatus = (at: JobAt) => get("scaleStatus", `${job(at.jobId)}/scale`, at)

/** The definition goes inside `Job`, whole; the agent reads a bare definition as no job at all. */
export const runJob = (definition: JobDefinition, place: Place) =>
  post("runJob", "/v1/jobs", place, { Job: definition })

export const planJob = (definition: JobDefinition, place: Place) =>
  post("planJob", `${job(definition.ID)}/plan`, place, { Job: definition, Diff: true })

export const scaleJob = (
  to: JobAt & { readonly group: string; readonly count: number; readonly ifIndex?: Integer },
): WireRequest =>
  post("scaleJob", `${job(to.jobId)}/scale`, to, {
    Count: to.count,
    Target: { Group: to.group },
    ...(to.ifIndex === undefined ? {} : { JobModifyIndex: to.ifIndex }),
  })

export const deleteJob = (at: JobAt & { readonly purge: boolean }): WireRequest => ({
  operation: "deleteJob",
  method: "DELETE",
  path: job(at.jobId),
  query: `${pair("purge", at.purge)}&${placeQuery(at)}`,
  waitMs: 0,
})

export const allocationStats = (at: Place & { readonly allocationId: string }) =>
  get("allocationStats", `/v1/client/allocation/${encodeURIComponent(at.allocationId)}/stats`, at)

export const getAllocations = (at: Place & { readonly nodeId: string }, poll?: BlockingQuery) =>
  get("getAllocations", `/v1/node/${encodeURIComponent(at.nodeId)}/allocations`, at, poll)

export const events = (subscription: EventSubscription): WireRequest => ({
  operation: "events",
  method: "GET",
  path: "/v1/event/stream",
  query: [
    placeQuery(subscription),
    pair("index", subscription.index ?? 0),
    ...subscription.topics.map((topic) => pair("topic", topic)),
  ].join("&"),
  waitMs: 0,
})

/** The agent's address, taken apart once. */
export interface AgentAddress {
  /** Scheme, host and path prefix, without a trailing slash or `/v1`. */
  readonly url: string
  readonly unixSocket?: string
  /** `Authorization` header for a proxy before the agent, when the URL named a user. */
  readonly authorization?: string
}

/**
 * Reads a base URL: `http(s)://host[:port][/prefix][/v1]` or `unix:///path/of/the.sock`.
 *
 * @returns the broken rule instead, when it is none; it does not repeat the text, which may hold a password
 */
export const readAddress = (baseUrl: string): AgentAddress | { readonly rule: string } => {
  if (!URL.canParse(baseUrl)) return { rule: "must be an absolute URL" }
  const url = new URL(baseUrl)
  if (url.search !== "" || url.hash !== "") return { rule: "must have no query and no fragment" }
  if (url.protocol === "unix:")
    return url.pathname.length > 1
      ? { url: "http://localhost", unixSocket: decodeURIComponent(url.pathname) }
      : { rule: "must name the socket's path" }
  if (url.protocol !== "http:" && url.protocol !== "https:") return { rule: "must begin with http, https or unix" }
  const prefix = url.pathname.replace(/\/+$/, "").replace(/\/v1$/, "").replace(/\/+$/, "")
  if (url.username === "" && url.password === "") return { url: url.origin + prefix }
  const user = new TextEncoder().encode(`${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`)
  return { url: url.origin + prefix, authorization: `Basic ${btoa(String.fromCharCode(...user))}` }
}
