// Text of an answer -> value of the port. Pure; each reader gives the value, or the rule that the answer breaks.
import { isObject, type JsonObject } from "../../../domain/json_object.ts"
import type { Allocation, NomadAllocations } from "../../../domain/scheduler/allocation.ts"
import type { Integer, JobDefinition, JobPlan, JobReceipt, ScaleStatus } from "../../../domain/scheduler/job.ts"
import { parseLossless } from "../../../domain/scheduler/lossless_json.ts"
import type { ResourceUsage } from "../../../domain/scheduler/resource_usage.ts"
import type { EventBatch } from "../../../domain/scheduler/scheduler_port.ts"

/** A value read from an answer, or the rule the answer breaks. */
export type Reading<A> = { readonly value: A } | { readonly rule: string }

/** Reads the text of a successful answer. */
export type Reader<A> = (text: string) => Reading<A>

const isInteger = (value: unknown): value is Integer => typeof value === "bigint" || Number.isSafeInteger(value)

/** Counts and bytes as plain numbers; what no driver should report (above 2^53) loses its last digits. */
const numberOf = (value: unknown): number | undefined =>
  typeof value === "number" ? value : typeof value === "bigint" ? Number(value) : undefined

/** A reader of JSON. */
const json =
  <A>(read: (value: unknown) => Reading<A>): Reader<A> =>
  (text) => {
    let value: unknown
    try {
      value = parseLossless(text)
    } catch {
      return { rule: text === "" ? "is empty" : "is not JSON" }
    }
    return read(value)
  }

/** A reader of a JSON object. */
const jsonObject = <A>(read: (value: JsonObject) => Reading<A>): Reader<A> =>
  json((value) => (isObject(value) ? read(value) : { rule: "is not an object" }))

/** A definition. An id that ends like a route (`x/summary`) is answered by that route: only a job will do. */
export const readDefinition = json<JobDefinition>((value) =>
  isObject(value) && typeof value["ID"] === "string"
    ? { value: value as JobDefinition }
    : { rule: "is not a job: an object with the text 'ID'" },
)

const readReceiptObject = jsonObject<JobReceipt>(
  ({ JobModifyIndex: jobModifyIndex, EvalID: evaluationId, Warnings: warnings }) => ({
    value: {
      ...(isInteger(jobModifyIndex) ? { jobModifyIndex } : {}),
      ...(typeof evaluationId === "string" ? { evaluationId } : {}),
      ...(typeof warnings === "string" && warnings !== "" ? { warnings } : {}),
    },
  }),
)

/** The answer to a change. An empty body is as good as any: the status said that it was done. */
export const readReceipt: Reader<JobReceipt> = (text) => (text.trim() === "" ? { value: {} } : readReceiptObject(text))

/** What a submission would change. */
export const readPlan = json<JobPlan>((value) =>
  isObject(value) && isInteger(value["JobModifyIndex"])
    ? { value: value as JobPlan }
    : { rule: "is not a plan: an object with the integer 'JobModifyIndex'" },
)

/** How a job's groups stand. */
export const readScaleStatus = json<ScaleStatus>((value) => {
  if (!isObject(value) || !isObject(value["TaskGroups"])) return { rule: "is not a scale status" }
  const groups = Object.entries(value["TaskGroups"]).map(([name, group]) => {
    const { Desired, Running } = isObject(group) ? group : {}
    return [name, { desired: numberOf(Desired) ?? 0, running: numberOf(Running) ?? 0 }] as const
  })
  return { value: { stopped: value["JobStopped"] === true, groups: Object.fromEntries(groups) } }
})

/** The ids of a set of keys. */
export const readKeyIds = json<ReadonlyArray<string>>((value) => {
  const keys = isObject(value) ? value["keys"] : undefined
  if (!Array.isArray(keys)) return { rule: "is not a set of keys" }
  return { value: keys.flatMap((key) => (isObject(key) && typeof key["kid"] === "string" ? [key["kid"]] : [])) }
})

const readUsage = (usage: JsonObject): Reading<ResourceUsage> => {
  const { MemoryStats, CpuStats } = usage
  if (!isObject(MemoryStats) && !isObject(CpuStats)) return { rule: "holds neither 'MemoryStats' nor 'CpuStats'" }
  const memory = isObject(MemoryStats) ? MemoryStats : {}
  const used = numberOf(memory["Usage"])
  return {
    value: {
      ...usage,
      MemoryStats: { ...memory, RSS: numberOf(memory["RSS"]) ?? 0, ...(used === undefined ? {} : { Usage: used }) },
      CpuStats: isObject(CpuStats) ? CpuStats : {},
    },
  }
}

/** Agents nest the usage in `ResourceUsage`; the flat form of specification 2.2 is read as well. */
export const readStats = jsonObject<ResourceUsage>((value) => {
  const { ResourceUsage: nested, ...rest } = value
  return readUsage(isObject(nested) ? { ...rest, ...nested } : value)
})

const isAllocation = (value: unknown): value is Allocation => isObject(value) && typeof value["ID"] === "string"

/** Agents answer with the bare array; the wrapped form of specification 2.2 is read as well. Both may be `null` for none. */
export const readAllocations = json<NomadAllocations>((value) => {
  const list = (isObject(value) && "NomadAllocations" in value ? value["NomadAllocations"] : value) ?? []
  if (!Array.isArray(list)) return { rule: "is not a list of allocations" }
  const broken = list.findIndex((each) => !isAllocation(each))
  return broken < 0
    ? { value: { NomadAllocations: list as ReadonlyArray<Allocation> } }
    : { rule: `has no allocation with the text 'ID' at position ${broken}` }
})

/** One line of the event stream; `{}` is a heartbeat, and gives `undefined`. */
export const readEventLine = jsonObject<EventBatch | undefined>(({ Index, Events }) => {
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
