// What an agent remembers and decides, as a state machine: jobs, their versions, deployments, allocations and events.
// Rules and texts are those of a real agent (tests/fixtures/nomad/).
import type { Integer, JobDefinition, TaskGroup } from "../../domain/scheduler/job.ts"
import type { EventBatch } from "../../domain/scheduler/scheduler_port.ts"

/** A refusal as the agent words it. */
export class AgentRefusal extends Error {
  readonly status: number
  constructor(status: number, text: string) {
    super(text)
    this.status = status
  }
}

export interface AgentAllocation {
  readonly ID: string
  readonly jobKey: string
  readonly group: string
  readonly createdMs: number
  readonly createIndex: number
  modifyIndex: number
  stopped: boolean
}

interface ScalingEvent {
  readonly Count: number
  readonly PreviousCount: number
  readonly Time: bigint
  readonly EvalID: string
  readonly CreateIndex: number
}

export interface AgentJob {
  readonly definition: JobDefinition
  /** Until when a deployment of the job runs, milliseconds since 1970. */
  deployedMs: number
  readonly scalings: Map<string, ReadonlyArray<ScalingEvent>>
}

export interface WriteReceipt {
  readonly EvalCreateIndex: number
  readonly EvalID: string
  readonly Index: number
  readonly JobModifyIndex: number
  readonly KnownLeader: boolean
  readonly LastContact: 0
  readonly NextToken: ""
  readonly Warnings?: ""
  readonly VolumeEvalID?: ""
  readonly VolumeEvalIndex?: 0
}

const NANOSECONDS = 1_000_000n
/** `min_healthy_time` of an update block that names none: how long a deployment takes at least. */
const MIN_HEALTHY_MS = 10_000

const keyOf = (namespace: string, jobId: string): string => `${namespace}\n${jobId}`

/** Running allocations of a group that the node has room for, and allocations it keeps at all: the oldest go first. */
const ROOM = 1000
const KEPT_MAX = 5000

/** Milliseconds of a deployment of the job. */
const deploymentMs = (job: JobDefinition): number => {
  const wanted = (job.TaskGroups ?? []).filter((group) => (group.Count ?? 1) > 0)
  if ((job["Type"] ?? "service") !== "service" || wanted.length === 0) return 0
  return Math.max(
    ...wanted.map((group) => {
      const update = group["Update"] as { readonly MinHealthyTime?: number } | null | undefined
      return update?.MinHealthyTime === undefined ? MIN_HEALTHY_MS : update.MinHealthyTime / 1e6
    }),
  )
}

const validate = (job: JobDefinition): void => {
  const mistakes = [
    ...(/\s/.test(job.ID) ? ["Job ID contains a space"] : []),
    ...(Array.isArray(job.TaskGroups) && job.TaskGroups.length > 0 ? [] : ["Missing job task groups"]),
    ...(job.TaskGroups ?? []).flatMap(({ Name }, at) => (Name ? [] : [`Job task group ${at + 1} missing name`])),
  ]
  if (mistakes.length > 0)
    throw new AgentRefusal(
      500,
      `${mistakes.length} error${mistakes.length > 1 ? "s" : ""} occurred:\n${mistakes.map((each) => `\t* ${each}\n`).join("")}\n`,
    )
}

/** The jobs of one agent. Every method that changes something takes the time as milliseconds since 1970. */
export class AgentJobs {
  readonly jobs = new Map<string, AgentJob>()
  readonly allocations: Array<AgentAllocation> = []
  readonly events: Array<EventBatch> = []
  #index = 10
  #ids = 0

  get index(): number {
    return this.#index
  }

  find(namespace: string, jobId: string): AgentJob | undefined {
    return this.jobs.get(keyOf(namespace, jobId))
  }

  register(submitted: JobDefinition, namespace: string, nowMs: number): WriteReceipt {
    validate(submitted)
    const home = submitted.Namespace ?? namespace
    const before = this.find(home, submitted.ID)
    const index = this.#next()
    const job: AgentJob = {
      definition: {
        Type: "service",
        Priority: 50,
        Region: "global",
        Datacenters: ["*"],
        ...submitted,
        Namespace: home,
        Stop: submitted.Stop ?? false,
        Status: "pending",
        Version: before === undefined ? 0 : Number(before.definition["Version"]) + 1,
        SubmitTime: BigInt(nowMs) * NANOSECONDS,
        CreateIndex: before?.definition["CreateIndex"] ?? index,
        JobModifyIndex: index,
        ModifyIndex: index,
        TaskGroups: (submitted.TaskGroups ?? []).map((group) => ({ ...group, Count: group.Count ?? 1 })),
      },
      deployedMs: 0,
      scalings: before?.scalings ?? new Map(),
    }
    this.jobs.set(keyOf(home, submitted.ID), job)
    this.#settle(job, nowMs, "JobRegistered")
    return this.#receipt(index, { Warnings: "" })
  }

  scale(
    at: { readonly namespace: string; readonly jobId: string },
    request: { readonly group: string; readonly count?: number; readonly ifIndex?: Integer },
    nowMs: number,
  ): WriteReceipt {
    if (request.group === "") throw new AgentRefusal(400, "missing task group name for scaling action")
    if (request.count !== undefined && request.count < 0)
      throw new AgentRefusal(400, "scaling action count can't be negative")
    const job = this.find(at.namespace, at.jobId)
    if (job === undefined) throw new AgentRefusal(404, `job "${at.jobId}" not found`)
    const { definition } = job
    const group = definition.TaskGroups?.find(({ Name }) => Name === request.group)
    if (group === undefined)
      throw new AgentRefusal(400, `task group "${request.group}" specified for scaling does not exist in job`)
    if (request.ifIndex !== undefined && Number(request.ifIndex) !== Number(definition.JobModifyIndex))
      throw new AgentRefusal(
        500,
        `Enforcing job modify index ${request.ifIndex}: job exists with conflicting job modify index: ${definition.JobModifyIndex}`,
      )
    if (request.count !== undefined && nowMs < job.deployedMs)
      throw new AgentRefusal(400, "job scaling blocked due to active deployment")
    return this.#scaleGroup(job, group, request.count ?? group.Count ?? 1, nowMs)
  }

  /** Removes a job, or marks it stopped. An unknown job is no mistake: the answer names no evaluation. */
  deregister(namespace: string, jobId: string, purge: boolean, nowMs: number): WriteReceipt {
    const key = keyOf(namespace, jobId)
    const job = this.jobs.get(key)
    const volumes = { VolumeEvalID: "", VolumeEvalIndex: 0 } as const
    if (job === undefined)
      return {
        EvalCreateIndex: 0,
        EvalID: "",
        Index: 0,
        JobModifyIndex: 0,
        KnownLeader: false,
        LastContact: 0,
        NextToken: "",
        ...volumes,
      }
    const index = this.#next()
    this.#change(job, index, nowMs)
    job.definition.Stop = true
    this.#settle(job, nowMs, "JobDeregistered")
    if (purge) this.jobs.delete(key)
    return this.#receipt(index, volumes)
  }

  scalingEvents(job: AgentJob, group: string): ReadonlyArray<ScalingEvent> | null {
    return job.scalings.get(group) ?? null
  }

  running(job: AgentJob, group: string): ReadonlyArray<AgentAllocation> {
    const { Namespace, ID } = job.definition
    const key = keyOf(Namespace ?? "default", ID)
    return this.allocations.filter((each) => each.jobKey === key && each.group === group && !each.stopped)
  }

  #scaleGroup(job: AgentJob, group: TaskGroup, count: number, nowMs: number): WriteReceipt {
    const previous = group.Count ?? 1
    const index = this.#next()
    this.#change(job, index, nowMs)
    group.Count = count
    this.#settle(job, nowMs, "JobRegistered")
    const receipt = this.#receipt(index, { Warnings: "" })
    const event = {
      Count: count,
      PreviousCount: previous,
      Time: BigInt(nowMs) * NANOSECONDS,
      EvalID: receipt.EvalID,
      CreateIndex: this.#next(),
    }
    job.scalings.set(group.Name, [event, ...(job.scalings.get(group.Name) ?? [])])
    return { ...receipt, Index: event.CreateIndex, KnownLeader: true }
  }

  #change(job: AgentJob, index: number, nowMs: number): void {
    const { definition } = job
    definition["Version"] = Number(definition["Version"]) + 1
    definition["SubmitTime"] = BigInt(nowMs) * NANOSECONDS
    definition["ModifyIndex"] = index
    definition.JobModifyIndex = index
  }

  /** Starts and stops allocations until they are as many as wanted, and lets a deployment run over them. */
  #settle(job: AgentJob, nowMs: number, type: string): void {
    const { definition } = job
    const jobKey = keyOf(definition.Namespace ?? "default", definition.ID)
    for (const group of definition.TaskGroups ?? []) {
      const wanted = definition.Stop === true ? 0 : Math.min(group.Count ?? 1, ROOM)
      const running = this.running(job, group.Name)
      for (const extra of running.slice(wanted)) {
        extra.stopped = true
        extra.modifyIndex = this.#next()
      }
      for (let missing = wanted - running.length; missing > 0; missing--) {
        const index = this.#next()
        this.allocations.push({
          ID: this.#uuid(),
          jobKey,
          group: group.Name,
          createdMs: nowMs,
          createIndex: index,
          modifyIndex: index,
          stopped: false,
        })
      }
    }
    this.allocations.splice(0, this.allocations.length - KEPT_MAX)
    const runs = (definition.TaskGroups ?? []).some((group) => definition.Stop !== true && (group.Count ?? 1) > 0)
    job.deployedMs = runs ? nowMs + deploymentMs(definition) : 0
    definition["Status"] = runs ? "running" : "dead"
    this.events.push({
      Index: this.#index,
      Events: [
        {
          Topic: "Job",
          Type: type,
          Key: definition.ID,
          Namespace: definition.Namespace,
          Index: this.#index,
          Payload: { Job: structuredClone(definition) },
        },
      ],
    })
  }

  #receipt(jobModifyIndex: number, extra: Partial<WriteReceipt>): WriteReceipt {
    const index = this.#next()
    return {
      EvalCreateIndex: index,
      EvalID: this.#uuid(),
      Index: index,
      JobModifyIndex: jobModifyIndex,
      KnownLeader: false,
      LastContact: 0,
      NextToken: "",
      ...extra,
    }
  }

  #next(): number {
    this.#index += 1
    return this.#index
  }

  #uuid(): string {
    this.#ids += 1
    return `00000000-0000-4000-8000-${this.#ids.toString(16).padStart(12, "0")}`
  }
}
