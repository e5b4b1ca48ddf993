/** Memory of an allocation, in bytes. */
interface MemoryStats {
  readonly RSS: number
  readonly Usage?: number
  /** Names of the fields the driver measures; a field that is not named is 0 without having been measured. */
  readonly Measured?: ReadonlyArray<string> | null
  readonly [field: string]: unknown
}

interface CpuStats {
  /** Percent of one core. */
  readonly Percent?: number
  readonly [field: string]: unknown
}

/**
 * What an allocation uses now: an open object.
 *
 * An allocation that has just started, and some drivers, give no numbers: `CpuStats` is then an empty object.
 *
 * @see specification 2.2
 */
export interface ResourceUsage {
  readonly MemoryStats: MemoryStats
  readonly CpuStats: CpuStats
  /** The same per task, when the agent tells. */
  readonly Tasks?: unknown
  /** When it was measured, in nanoseconds since 1970. */
  readonly Timestamp?: number | bigint
  readonly [field: string]: unknown
}

/**
 * Bytes of memory in use.
 *
 * Drivers on cgroups v2 measure `Usage` instead of `RSS` and leave `RSS` 0; the agent's own tools read it the same way.
 */
export const memoryBytes = ({ MemoryStats: memory }: ResourceUsage): number =>
  memory.RSS === 0 && memory.Measured?.includes("RSS") !== true ? (memory.Usage ?? 0) : memory.RSS
