// Operation of the port -> request to the agent (specification 4.3). Pure; reading answers is in scheduler_answers.ts.
import type { JsonObject } from "../../../domain/json_object.ts"
import type { Operation } from "../../../domain/scheduler/errors.ts"
import type { Integer, JobAt, JobDefinition } from "../../../domain/scheduler/job.ts"
import { stringifyLossless } from "../../../domain/scheduler/lossless_json.ts"
import type {
  AllocationAt,
  BlockingQuery,
  EventSubscription,
  JobDeletion,
  JobScaling,
  NodeAt,
  Place,
} from "../../../domain/scheduler/scheduler_port.ts"

/** One request to the agent, relative to its base URL. */
export interface SchedulerRequest {
  readonly operation: Operation
  readonly method: "GET" | "POST" | "DELETE"
  /** Encoded path from the agent's root on. */
  readonly path: string
  /** Encoded query without `?`; always holds `region`, also an empty one (specification 4.3). */
  readonly query: string
  readonly body?: string
  /** How long the agent may hold the request, milliseconds; 0 but for blocking queries. */
  readonly waitMs: number
}

type Value = Integer | string | boolean

/**
 * A query of the parameters that are there, repeated ones in an array. Not `URLSearchParams`, which writes a blank as `+`:
 * paths and queries are encoded alike, a blank as `%20`.
 */
const queryOf = (parameters: Readonly<Record<string, Value | ReadonlyArray<Value> | undefined>>): string =>
  Object.entries(parameters)
    .flatMap(([name, value]) =>
      [value ?? []].flat().map((each: Value) => `${name}=${encodeURIComponent(String(each))}`),
    )
    .join("&")

const get = (operation: Operation, path: string, { region, namespace }: Place, poll?: BlockingQuery) => {
  const wait = poll === undefined ? undefined : `${poll.waitMs}ms`
  const query = queryOf({ region, namespace, index: poll?.index, wait })
  return { operation, method: "GET", path, query, waitMs: poll?.waitMs ?? 0 } satisfies SchedulerRequest
}

const post = (operation: Operation, path: string, { region, namespace }: Place, content: JsonObject) => {
  const [query, body] = [queryOf({ region, namespace }), stringifyLossless(content)]
  return { operation, method: "POST", path, query, body, waitMs: 0 } satisfies SchedulerRequest
}

/** The agent decodes the path before it looks at it, so an id is one segment whatever it holds. */
const jobPath = (jobId: string): string => `/v1/job/${encodeURIComponent(jobId)}`

/** Reads a job's definition. */
export const getDefinition = (at: JobAt, poll?: BlockingQuery) => get("getDefinition", jobPath(at.jobId), at, poll)

/** True for an id that ends like a route: asked for its definition, the agent answers on that route, about another job. */
export const endsLikeARoute = (jobId: string): boolean =>
  /\/(evaluate|allocations|evaluations|periodic\/force|plan|summary|dispatch|dispatch\/payload|versions|revert|deployments?|stable|scale|services|submission|actions?|tag)$/.test(
    jobId,
  )

/** Reads how a job's groups stand. */
export const scaleStatus = (at: JobAt) => get("scaleStatus", `${jobPath(at.jobId)}/scale`, at)

/** Submits a job. The definition goes inside `Job`, whole; the agent reads a bare definition as no job at all. */
export const runJob = (definition: JobDefinition, place: Place) =>
  post("runJob", "/v1/jobs", place, { Job: definition })

/** Asks what submitting a job would change. */
export const planJob = (definition: JobDefinition, place: Place) =>
  post("planJob", `${jobPath(definition.ID)}/plan`, place, { Job: definition, Diff: true })

/** Scales one group; the body holds nothing else unless an index is insisted on (specification 13, row "bodies"). */
export const scaleJob = ({ group, count, ifIndex, ...at }: JobScaling) =>
  post("scaleJob", `${jobPath(at.jobId)}/scale`, at, {
    Count: count,
    Target: { Group: group },
    JobModifyIndex: ifIndex,
  })

/** Stops a job, or removes it with `purge`. */
export const deleteJob = ({ jobId, purge, region, namespace }: JobDeletion) => {
  const query = queryOf({ purge, region, namespace })
  return { operation: "deleteJob", method: "DELETE", path: jobPath(jobId), query, waitMs: 0 } satisfies SchedulerRequest
}

/** Reads what an allocation uses. */
export const allocationStats = (at: AllocationAt) =>
  get("allocationStats", `/v1/client/allocation/${encodeURIComponent(at.allocationId)}/stats`, at)

/** Lists the allocations of a node. */
export const getAllocations = (at: NodeAt, poll?: BlockingQuery) =>
  get("getAllocations", `/v1/node/${encodeURIComponent(at.nodeId)}/allocations`, at, poll)

/** Opens the event stream. */
export const events = ({ region, namespace, index = 0, topics }: EventSubscription) => {
  const query = queryOf({ region, namespace, index, topic: topics })
  return { operation: "events", method: "GET", path: "/v1/event/stream", query, waitMs: 0 } satisfies SchedulerRequest
}

/** Reads the public keys with which the cluster signs: every token may, also none, and no two clusters share one. */
export const clusterKeys = get("clusterKeys", "/.well-known/jwks.json", { region: "" })
