import type { JobDefinition } from "./job.ts"

/** An allocation: an open object. Agents leave empty fields out, so only these three are sure. */
export interface Allocation {
  readonly ID: string
  readonly JobID: string
  readonly TaskGroup: string
  /** `pending`, `running`, `complete`, `failed`, `lost` or `unknown`. */
  readonly ClientStatus?: string
  readonly DesiredStatus?: string
  readonly Job?: JobDefinition | null
  readonly [field: string]: unknown
}

/** The allocations of a node (specification 2.2). */
export interface NomadAllocations {
  readonly NomadAllocations: ReadonlyArray<Allocation>
}
