// Answers of the agent -> values. Each reader gives the value, or the rule that the answer breaks.
import { isObject, type JsonObject } from "../../../domain/json_object.ts"
import type { Allocation, NomadAllocations } from "../../../domain/scheduler/allocation.ts"
import type { Integer, JobDefinition, JobPlan, JobReceipt, ScaleStatus } from "../../../domain/scheduler/job.ts"
import { parseLossless } from "../../../domain/scheduler/lossless_json.ts"
import type { ResourceUsage } from "../../../domain/scheduler/resource_usage.ts"
import type { EventBatch } from "../../../domain/scheduler/scheduler_port.ts"

/** A value read from an answer, or the rule the answer breaks. */
export type Reading<A> = { readonly value: A } | { readonly rule: string }

const isInteger = (value: unknown): value is Integer => typeof value === "bigint" || Number.isSafeInteger(value)

/** Counts and bytes as plain numbers; what no driver should report (above 2^53) loses its last digits. */
const number = (value: unknown): number | undefined =>
  typeof value === "number" ? value : typeof value === "bigint" ? Number(value) : undefined

const json = <A>(text: string, read: (value: unknown) => Reading<A>): Reading<A> => {
  let value: unknown
  try {
    value = parseLossless(text)
  } catch {
    return { rule: text === "" ? "is empty" : "is not JSON" }
  }
  return read(value)
}

/** An id that ends like a route (`x/summary`) is answered by that route: only a job will do. */
export const readDefinition = (text: string): Reading<JobDefinition> =>
  json<JobDefinition>(text, (value) =>
    isObject(value) && typeof value["ID"] === "string"
      ? { value: value as JobDefinition }
      : { rule: "is not a job: an object with the text 'ID'" },
  )

/** The answer to a change. An empty body is as good as any: the status said that it was done. */
export const readReceipt = (text: string): Reading<JobReceipt> => {
  if (text.trim() === "") return { value: {} }
  return json<JobReceipt>(text, (value) => {
    if (!isObject(value)) return { rule: "is not an object" }
    const { JobModifyIndex: jobModifyIndex, EvalID: evaluationId, Warnings: warnings } = value
    return {
      value: {
        ...(isInteger(jobModifyIndex) ? { jobModifyIndex } : {}),
        ...(typeof evaluationId === "string" ? { evaluationId } : {}),
        ...(typeof warnings === "string" && warnings !== "" ? { warnings } : {}),
      },
    }
  })
}

export const readPlan = (text: string): Reading<JobPlan> =>
  json<JobPlan>(text, (value) =>
    isObject(value) && isInteger(value["JobModifyIndex"])
      ? { value: value as JobPlan }
      : { rule: "is not a plan: an object with the integer 'JobModifyIndex'" },
  )

export const readScaleStatus = (text: string): Reading<ScaleStatus> =>
  json<ScaleStatus>(text, (value) => {
    if (!isObject(value) || !isObject(value["TaskGroups"])) return { rule: "is not a scale status" }
    const groups = Object.entries(value["TaskGroups"]).map(([name, group]) => {
      const { Desired: desired, Running: running } = isObject(group) ? group : {}
      return [name, { desired: number(desired) ?? 0, running: number(running) ?? 0 }] as const
    })
    return { value: { stopped: value["JobStopped"] === true, groups: Object.fromEntries(groups) } }
  })

const readUsage = (usage: JsonObject): Reading<ResourceUsage> => {
  const { MemoryStats: memory, CpuStats: cpu } = usage
  if (!isObject(memory) && !isObject(cpu)) return { rule: "holds neither 'MemoryStats' nor 'CpuStats'" }
  const memoryFields = isObject(memory) ? memory : {}
  const used = number(memoryFields["Usage"])
  return {
    value: {
      ...usage,
      MemoryStats: {
        ...memoryFields,
        RSS: number(memoryFields["RSS"]) ?? 0,
        ...(used === undefined ? {} : { Usage: used }),
      } as ResourceUsage["MemoryStats"],
      CpuStats: (isObject(cpu) ? cpu : {}) as ResourceUsage["CpuStats"],
    },
  }
}

/** Agents nest the usage in `ResourceUsage`; the seed's flat form is read as well (contract section 3, row "shapes"). */
export const readStats = (text: string): Reading<ResourceUsage> =>
  json<ResourceUsage>(text, (value) => {
    if (!isObject(value)) return { rule: "is not an object" }
    const { ResourceUsage: nested, ...rest } = value
    return readUsage(isObject(nested) ? { ...rest, ...nested } : value)
  })

const isAllocation = (value: unknown): value is Allocation => isObject(value) && typeof value["ID"] === "string"

/** Agents answer with the bare array; the seed's wrapped form is read as well. Both may be `null` for none. */
export const readAllocations = (text: string): Reading<NomadAllocations> =>
  json<NomadAllocations>(text, (value) => {
    const list = (isObject(value) && "NomadAllocations" in value ? value["NomadAllocations"] : value) ?? []
    if (!Array.isArray(list)) return { rule: "is not a list of allocations" }
    const broken = list.findIndex((each) => !isAllocation(each))
    return broken < 0
      ? { value: { NomadAllocations: list as ReadonlyArray<Allocation> } }
      : { rule: `has no allocation with the text 'ID' at position ${broken}` }
  })

/** One line of the event stream; `{}` is a heartbeat. */
export const readEventLine = (line: string): Reading<EventBatch | undefined> =>
  json(line, (value) => {
    if (!isObject(value)) return { rule: "is not an object" }
    const { Index, Events } = value
    if (Index === undefined && Events === undefined) return { value: undefined }
    return isInteger(Index) && Array.isArray(Events)
      ? { value: { Index, Events: Events as EventBatch["Events"] } }
      : { rule: "is not an event batch" }
  })

/** `X-Nomad-Index`, when it is one. */
export const readIndex = (header: string | null): Integer | undefined => {
  if (header === null || !/^\d{1,20}$/.test(header)) return undefined
  const index = Number(header)
  return Number.isSafeInteger(index) ? index : BigInt(header)
}
