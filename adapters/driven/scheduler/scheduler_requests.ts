// Operation of the port -> request to the agent (seed 4.3). Pure; reading answers is in scheduler_answers.ts.
import type { Operation } from "../../../domain/scheduler/errors.ts"
import type { Integer, JobAt, JobDefinition } from "../../../domain/scheduler/job.ts"
import { stringifyLossless } from "../../../domain/scheduler/lossless_json.ts"
import type { BlockingQuery, EventSubscription, Place } from "../../../domain/scheduler/scheduler_port.ts"

/** One request to the agent, relative to its base URL. */
export interface SchedulerRequest {
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

type Parameters = ReadonlyArray<readonly [name: string, value: Integer | string | boolean]>

/** Not `URLSearchParams`, which writes a blank as `+`: paths and queries are encoded alike, blanks as `%20`. */
const queryOf = (parameters: Parameters): string =>
  parameters.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join("&")

const placeParameters = ({ region, namespace }: Place): Parameters =>
  namespace === undefined
    ? [["region", region]]
    : [
        ["region", region],
        ["namespace", namespace],
      ]

const get = (operation: Operation, path: string, place: Place, poll?: BlockingQuery): SchedulerRequest => {
  const blocking: Parameters =
    poll === undefined
      ? []
      : [
          ["index", poll.index],
          ["wait", `${poll.waitMs}ms`],
        ]
  const query = queryOf([...placeParameters(place), ...blocking])
  return { operation, method: "GET", path, query, waitMs: poll?.waitMs ?? 0 }
}

const post = (operation: Operation, path: string, place: Place, body: unknown): SchedulerRequest => ({
  operation,
  method: "POST",
  path,
  query: queryOf(placeParameters(place)),
  body: stringifyLossless(body),
  waitMs: 0,
})

/** The agent decodes the path before it looks at it, so an id is one segment whatever it holds. */
const jobPath = (jobId: string): string => `/v1/job/${encodeURIComponent(jobId)}`

/** Reads a job's definition. */
export const getDefinition = (at: JobAt, poll?: BlockingQuery) => get("getDefinition", jobPath(at.jobId), at, poll)

/** Reads how a job's groups stand. */
export const scaleStatus = (at: JobAt) => get("scaleStatus", `${jobPath(at.jobId)}/scale`, at)

/** Submits a job. The definition goes inside `Job`, whole; the agent reads a bare definition as no job at all. */
export const runJob = (definition: JobDefinition, place: Place) =>
  post("runJob", "/v1/jobs", place, { Job: definition })

/** Asks what submitting a job would change. */
export const planJob = (definition: JobDefinition, place: Place) =>
  post("planJob", `${jobPath(definition.ID)}/plan`, place, { Job: definition, Diff: true })

/** Scales one group; the body holds nothing else unless an index is insisted on (contract section 3, row "bodies"). */
export const scaleJob = (to: JobAt & { readonly group: string; readonly count: number; readonly ifIndex?: Integer }) =>
  post("scaleJob", `${jobPath(to.jobId)}/scale`, to, {
    Count: to.count,
    Target: { Group: to.group },
    ...(to.ifIndex === undefined ? {} : { JobModifyIndex: to.ifIndex }),
  })

/** Stops a job, or removes it with `purge`. */
export const deleteJob = (at: JobAt & { readonly purge: boolean }): SchedulerRequest => ({
  operation: "deleteJob",
  method: "DELETE",
  path: jobPath(at.jobId),
  query: queryOf([["purge", at.purge], ...placeParameters(at)]),
  waitMs: 0,
})

/** Reads what an allocation uses. */
export const allocationStats = (at: Place & { readonly allocationId: string }) =>
  get("allocationStats", `/v1/client/allocation/${encodeURIComponent(at.allocationId)}/stats`, at)

/** Lists the allocations of a node. */
export const getAllocations = (at: Place & { readonly nodeId: string }, poll?: BlockingQuery) =>
  get("getAllocations", `/v1/node/${encodeURIComponent(at.nodeId)}/allocations`, at, poll)

/** Opens the event stream. */
export const events = (subscription: EventSubscription): SchedulerRequest => ({
  operation: "events",
  method: "GET",
  path: "/v1/event/stream",
  query: queryOf([
    ...placeParameters(subscription),
    ["index", subscription.index ?? 0],
    ...subscription.topics.map((topic) => ["topic", topic] as const),
  ]),
  waitMs: 0,
})
