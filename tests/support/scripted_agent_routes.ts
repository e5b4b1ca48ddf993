// The routes of the agent in memory: request -> state machine -> the JSON a real agent would give.
import { isObject } from "../../domain/json_object.ts"
import type { JobDefinition } from "../../domain/scheduler/job.ts"
import { parseLossless } from "../../domain/scheduler/lossless_json.ts"
import {
  type AgentAllocation,
  type AgentJob,
  type AgentJobs,
  AgentRefusal,
  type WriteReceipt,
} from "./scripted_agent_jobs.ts"

export interface AgentRequest {
  readonly method: string
  /** Path as sent, still encoded. */
  readonly path: string
  readonly query: URLSearchParams
  /** ACL token, as the caller sent it. */
  readonly token?: string
  readonly body: string
}

/** The agent's own bound of a blocking query. */
const WAIT_MAX_MS = 300_000
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000 }

/** A route's answer before it has a status line. */
export interface Found {
  readonly value: unknown
  /** Absent for what the client side of an agent answers: it has no index. */
  readonly index?: number
  /** A read carries the header fields of a query. */
  readonly read: boolean
}

interface Route {
  readonly method: RegExp
  /** On the decoded path, as the agent does: an id may hold slashes. */
  readonly path: RegExp
  readonly answer: (id: string, request: AgentRequest, nowMs: number) => Found
}

const namespaceOf = ({ query }: AgentRequest): string => query.get("namespace") || "default"

const bodyOf = (request: AgentRequest): Readonly<Record<string, unknown>> => {
  if (request.body === "") throw new AgentRefusal(400, "Request body is empty")
  try {
    return parseLossless(request.body) as Readonly<Record<string, unknown>>
  } catch {
    throw new AgentRefusal(400, "unexpected EOF")
  }
}

type Fits = (value: unknown) => boolean

const isText: Fits = (value) => value === null || typeof value === "string"
const isGroup: Fits = (value) =>
  isObject(value) &&
  isText(value["Name"] ?? null) &&
  Number.isSafeInteger(value["Count"] ?? 0) &&
  isUpdate(value["Update"] ?? null)
const isUpdate: Fits = (value) =>
  value === null || (isObject(value) && Number.isSafeInteger(value["MinHealthyTime"] ?? 0))

/** Fields whose types the agent insists on, as far as this one reads them. */
const FIELDS: Readonly<Record<string, Fits>> = {
  ID: isText,
  Name: isText,
  Namespace: isText,
  Region: isText,
  Type: isText,
  JobModifyIndex: (value) => typeof value === "bigint" || Number.isSafeInteger(value ?? 0),
  Stop: (value) => value === null || typeof value === "boolean",
  TaskGroups: (value) => value === null || (Array.isArray(value) && value.every(isGroup)),
}

const submittedJob = (request: AgentRequest): JobDefinition => {
  const { Job } = bodyOf(request)
  if (typeof Job !== "object" || Job === null) throw new AgentRefusal(400, "Job must be specified")
  const job = Job as JobDefinition
  const mistyped = Object.entries(FIELDS).find(([name, fits]) => !fits(job[name] ?? null))?.[0]
  if (mistyped !== undefined)
    throw new AgentRefusal(400, `json: cannot unmarshal a value into Go struct field Job.Job.${mistyped}`)
  if (typeof job.ID !== "string" || job.ID === "") throw new AgentRefusal(400, "Job ID hasn't been provided")
  return job
}

const wrote = (value: WriteReceipt): Found => ({ value, index: value.Index, read: false })

export const waitOf = (text: string | null): number => {
  if (text === null || text === "") return WAIT_MAX_MS
  const [, amount, unit] = /^(\d+)(ms|s|m)$/.exec(text) ?? []
  if (amount === undefined || unit === undefined) throw new AgentRefusal(400, "Invalid wait time")
  return Math.min(Number(amount) * (UNITS_MS[unit] ?? 1), WAIT_MAX_MS)
}

export const minimumIndex = (text: string | null): number => {
  if (text !== null && !/^\d*$/.test(text)) throw new AgentRefusal(400, "Invalid index")
  return Number(text ?? 0)
}

/** The routes of one agent over its jobs. */
export const routesOf = (jobs: AgentJobs, options: { readonly nodeId: string; readonly startMs: number }) => {
  const jobOf = (id: string, request: AgentRequest): AgentJob => {
    const job = jobs.find(namespaceOf(request), id)
    if (job === undefined) throw new AgentRefusal(404, "job not found")
    return job
  }
  const statusOf = (allocation: AgentAllocation, nowMs: number): string =>
    allocation.stopped ? "complete" : nowMs < allocation.createdMs + options.startMs ? "pending" : "running"

  const describeAllocation = (allocation: AgentAllocation, nowMs: number) => {
    const [namespace = "default", jobId = ""] = allocation.jobKey.split("\n")
    return {
      ID: allocation.ID,
      Namespace: namespace,
      JobID: jobId,
      TaskGroup: allocation.group,
      NodeID: options.nodeId,
      ClientStatus: statusOf(allocation, nowMs),
      DesiredStatus: allocation.stopped ? "stop" : "run",
      CreateIndex: allocation.createIndex,
      ModifyIndex: allocation.modifyIndex,
      CreateTime: BigInt(allocation.createdMs) * 1_000_000n,
      Job: jobs.jobs.get(allocation.jobKey)?.definition ?? null,
    }
  }

  const scaleStatus = (job: AgentJob, nowMs: number) => ({
    JobCreateIndex: job.definition["CreateIndex"],
    JobID: job.definition.ID,
    JobModifyIndex: job.definition["ModifyIndex"],
    JobStopped: job.definition.Stop,
    Namespace: job.definition.Namespace,
    TaskGroups: Object.fromEntries(
      (job.definition.TaskGroups ?? []).map((group) => {
        const placed = jobs.running(job, group.Name)
        const running = placed.filter((each) => statusOf(each, nowMs) === "running").length
        const status = {
          Desired: group.Count,
          Events: jobs.scalingEvents(job, group.Name),
          Healthy: nowMs < job.deployedMs ? 0 : running,
          Placed: placed.length,
          Running: running,
          Unhealthy: 0,
        }
        return [group.Name, status] as const
      }),
    ),
  })

  const usage = (nowMs: number) => ({
    ResourceUsage: {
      CpuStats: { Measured: ["Percent"], Percent: 0.14159538847117795, TotalTicks: 3.256693934837093 },
      DeviceStats: [],
      MemoryStats: { Cache: 1744896, Measured: ["RSS", "Cache"], RSS: 1486848, Swap: 0, Usage: 0 },
    },
    Tasks: {},
    Timestamp: BigInt(nowMs) * 1_000_000n,
  })

  const routes: ReadonlyArray<Route> = [
    {
      method: /^GET$/,
      path: /^\/\.well-known\/jwks\.json$/,
      answer: () => ({
        value: { keys: [{ use: "sig", kty: "RSA", kid: options.nodeId, alg: "RS256" }] },
        index: jobs.index,
        read: true,
      }),
    },
    {
      method: /^(POST|PUT)$/,
      path: /^\/v1\/jobs$/,
      answer: (_id, request, nowMs) => wrote(jobs.register(submittedJob(request), namespaceOf(request), nowMs)),
    },
    {
      method: /^(POST|PUT)$/,
      path: /^\/v1\/job\/(.+)\/plan$/s,
      answer: (id, request) => {
        const job = submittedJob(request)
        if (job.ID !== id) throw new AgentRefusal(400, "Job ID does not match")
        const before = jobs.find(namespaceOf(request), id)
        return {
          value: {
            Annotations: null,
            CreatedEvals: null,
            Diff: {
              ID: id,
              Type: before === undefined ? "Added" : "Edited",
              Fields: null,
              Objects: null,
              TaskGroups: null,
            },
            FailedTGAllocs: null,
            JobModifyIndex: before?.definition.JobModifyIndex ?? 0,
            NextPeriodicLaunch: null,
            Warnings: "",
          },
          index: jobs.index,
          read: false,
        }
      },
    },
    {
      method: /^(POST|PUT)$/,
      path: /^\/v1\/job\/(.+)\/scale$/s,
      answer: (id, request, nowMs) => {
        const { Count, Target, JobModifyIndex } = bodyOf(request)
        if (Count !== undefined && Count !== null && !Number.isSafeInteger(Count))
          throw new AgentRefusal(
            400,
            `json: cannot unmarshal number ${Count} into Go struct field ScalingRequest.Count of type int64`,
          )
        const { Group } = (Target ?? {}) as { readonly Group?: string }
        return wrote(
          jobs.scale(
            { namespace: namespaceOf(request), jobId: id },
            {
              group: Group ?? "",
              ...(typeof Count === "number" ? { count: Count } : {}),
              ...(typeof JobModifyIndex === "number" && JobModifyIndex !== 0 ? { ifIndex: JobModifyIndex } : {}),
            },
            nowMs,
          ),
        )
      },
    },
    {
      method: /^GET$/,
      path: /^\/v1\/job\/(.+)\/scale$/s,
      answer: (id, request, nowMs) => ({
        value: scaleStatus(jobOf(id, request), nowMs),
        index: jobs.index,
        read: true,
      }),
    },
    {
      method: /^GET$/,
      path: /^\/v1\/job\/(.+)$/s,
      answer: (id, request) => {
        const { definition } = jobOf(id, request)
        return { value: definition, index: Number(definition["ModifyIndex"]), read: true }
      },
    },
    {
      method: /^DELETE$/,
      path: /^\/v1\/job\/(.+)$/s,
      answer: (id, request, nowMs) => {
        const purge = request.query.get("purge") ?? ""
        if (!/^(true|false|)$/.test(purge))
          throw new AgentRefusal(
            500,
            `Failed to parse value of "purge" (${purge}) as a bool: strconv.ParseBool: parsing "${purge}": invalid syntax`,
          )
        return wrote(jobs.deregister(namespaceOf(request), id, purge === "true", nowMs))
      },
    },
    {
      method: /^GET$/,
      path: /^\/v1\/client\/allocation\/(.+)\/stats$/s,
      answer: (id, _request, nowMs) => {
        if (!UUID.test(id)) throw new AgentRefusal(500, "alloc lookup failed: index error: UUID must be 36 characters")
        if (!jobs.allocations.some((each) => each.ID === id)) throw new AgentRefusal(404, `Unknown allocation "${id}"`)
        return { value: usage(nowMs), read: false }
      },
    },
    {
      method: /^GET$/,
      path: /^\/v1\/node\/(.+)\/allocations$/s,
      answer: (id, _request, nowMs) => {
        const here = options.nodeId.startsWith(id) ? jobs.allocations : []
        return {
          value: here.map((each) => describeAllocation(each, nowMs)),
          index: Math.max(1, ...here.map((each) => each.modifyIndex)),
          read: true,
        }
      },
    },
  ]
  return routes
}
