import { isObject } from "../json_object.ts"
import { InvalidSchedulerArgument } from "./errors.ts"
import { isDeeperThan, stringifyLossless } from "./lossless_json.ts"

/** Deepest nesting of a definition; the definition itself is level 1. An agent's own nest to about 15. */
const DEPTH_MAX = 64

/** An integer of the scheduler: `bigint` when it is outside ±(2^53-1). */
export type Integer = number | bigint

/** A task group; every field the agent knows is kept, named here or not. */
export interface TaskGroup {
  Name: string
  /** Wanted instances, 0 or more. */
  Count?: number | null
  [field: string]: unknown
}

/**
 * A job as the agent describes it: an open object.
 *
 * Fields this client does not name are kept as they came, so a fetched definition can be changed and submitted again.
 *
 * @see specification 2.2
 */
export interface JobDefinition {
  ID: string
  Name: string
  Namespace?: string | null
  Region?: string | null
  /** True for a job that was deleted but not purged; submitting it again leaves it stopped. */
  Stop?: boolean | null
  JobModifyIndex?: Integer
  TaskGroups?: Array<TaskGroup> | null
  [field: string]: unknown
}

/** Where a job is. */
export interface JobAt {
  readonly jobId: string
  /** Region; the empty string is the agent's own. */
  readonly region: string
  /** Namespace; the agent's default when absent. */
  readonly namespace?: string
}

/** What the agent answers to a change of a job; everything is absent when it answered with an empty body. */
export interface JobReceipt {
  readonly jobModifyIndex?: Integer
  /** Empty for jobs that are not evaluated at once (periodic, parameterized). */
  readonly evaluationId?: string
  readonly warnings?: string
}

/** How a job's groups stand now. */
export interface ScaleStatus {
  readonly stopped: boolean
  readonly groups: Readonly<Record<string, { readonly desired: number; readonly running: number }>>
}

/** A dry run's answer: what a submission would change. An open object; `Diff` is the difference itself. */
export interface JobPlan {
  readonly JobModifyIndex: Integer
  readonly Diff?: unknown
  readonly Warnings?: string
  readonly [field: string]: unknown
}

const broken = (argument: string, rule: string) => new InvalidSchedulerArgument({ argument, rule })

type Problem = InvalidSchedulerArgument | undefined

/**
 * Checks an id of a job, an allocation or a node, before it becomes a path segment.
 *
 * An empty segment, `.` and `..` would be removed from the path and address another resource; a lone surrogate cannot be
 * encoded at all. Every other text is the agent's to judge.
 *
 * @returns the broken rule, or `undefined`
 */
export const problemWithId = (argument: "jobId" | "allocationId" | "nodeId", id: string): Problem =>
  typeof id !== "string" || id === "" || id === "." || id === ".." || !id.isWellFormed()
    ? broken(argument, "must be a non-empty text other than '.' and '..', without lone surrogates")
    : undefined

const isName = (name: unknown): boolean => typeof name === "string" && name.isWellFormed()

/** @returns the broken rule when the region or the namespace cannot be encoded */
export const problemWithPlace = ({ region, namespace }: Omit<JobAt, "jobId">): Problem => {
  if (!isName(region)) return broken("region", "must be a text without lone surrogates")
  if (namespace !== undefined && !isName(namespace))
    return broken("namespace", "must be a text without lone surrogates")
  return undefined
}

/** @returns the broken rule when no job can be there */
export const problemWithJobAt = (at: JobAt): Problem => problemWithId("jobId", at.jobId) ?? problemWithPlace(at)

const isCount = (count: unknown): count is number => Number.isSafeInteger(count) && (count as number) >= 0

/** @returns the broken rule unless the count is a whole number from 0 to 2^53-1 */
export const problemWithCount = (count: number): Problem =>
  isCount(count) ? undefined : broken("count", "must be a whole number from 0 to 9007199254740991")

/** False for `NaN` and an infinity. */
const hasJsonForm = (value: unknown): boolean => {
  try {
    stringifyLossless(value)
    return true
  } catch {
    return false
  }
}

/**
 * Checks what would be silently misread: a definition without id, or a count that JSON or the agent would turn into
 * "no count"; and its depth, {@link DEPTH_MAX}. The rest is the agent's to judge.
 *
 * @returns the broken rule, or `undefined`
 */
export const problemWithDefinition = (definition: JobDefinition): Problem => {
  if (!isObject(definition)) return broken("definition", "must be an object")
  if (typeof definition.ID !== "string") return broken("definition.ID", "must be a text")
  const groups = Array.isArray(definition.TaskGroups) ? definition.TaskGroups : []
  const index = groups.findIndex((group) => ["number", "bigint"].includes(typeof group?.Count) && !isCount(group.Count))
  if (index >= 0)
    return broken(`definition.TaskGroups[${index}].Count`, "must be a whole number from 0 to 9007199254740991")
  if (isDeeperThan(DEPTH_MAX, definition))
    return broken("definition", `must not be nested deeper than ${DEPTH_MAX} levels`)
  if (!hasJsonForm(definition)) return broken("definition", "must have a JSON form")
  return problemWithId("jobId", definition.ID)
}

/** The job's modify index, when the definition tells one that a scaling may insist on: 0 insists on nothing. */
export const modifyIndexOf = ({ JobModifyIndex: index }: JobDefinition): Integer | undefined =>
  index !== undefined && (typeof index === "bigint" || Number.isSafeInteger(index)) && index > 0 ? index : undefined

/** The group's wanted count, or `undefined` when the job has no such group. A count left out means 1, as for the agent. */
export const groupCount = (definition: JobDefinition, group: string): number | undefined => {
  const found = definition.TaskGroups?.find((each) => each.Name === group)
  return found === undefined ? undefined : Number(found.Count ?? 1)
}
