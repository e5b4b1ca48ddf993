import { memoryBytes, type ResourceUsage } from "../../../domain/scheduler/resource_usage.ts"

/** What is drawn of one look at an allocation. */
export interface UsageSample {
  readonly memoryBytes: number
  /** Percent of one core; undefined when the driver does not tell. */
  readonly cpuPercent: number | undefined
}

/** What is drawn of a look. */
export const usageSample = (usage: ResourceUsage): UsageSample => ({
  memoryBytes: memoryBytes(usage),
  cpuPercent: usage.CpuStats.Percent,
})

const BARS = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"] as const

/** Values over time as a line of bars; the highest is a full bar, an unknown one a blank. */
export const sparkline = (values: ReadonlyArray<number | undefined>): string => {
  const top = Math.max(0, ...values.filter((value) => value !== undefined))
  return values
    .map((value) => {
      if (value === undefined) return " "
      return BARS[top === 0 ? 0 : Math.round((value / top) * (BARS.length - 1))] ?? " "
    })
    .join("")
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const

/** Bytes in the largest unit that leaves 1 or more of it, as in `1.4 MiB`. */
export const bytesText = (bytes: number): string => {
  const step = bytes < 1 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), UNITS.length - 1)
  return `${(bytes / 2 ** (10 * step)).toFixed(step === 0 ? 0 : 1)} ${UNITS[step]}`
}

const percentText = (percent: number | undefined): string => (percent === undefined ? "-" : `${percent.toFixed(1)} %`)

/** Memory and CPU over time, newest at the right: two lines. */
export const usageChart = (samples: ReadonlyArray<UsageSample>): ReadonlyArray<string> => {
  const memory = samples.map((sample) => sample.memoryBytes)
  const cpu = samples.map((sample) => sample.cpuPercent)
  const known = cpu.filter((percent) => percent !== undefined)
  return [
    `memory  ${bytesText(memory.at(-1) ?? 0).padStart(10)}  ${sparkline(memory)}  max ${bytesText(Math.max(0, ...memory))}`,
    `cpu     ${percentText(cpu.at(-1)).padStart(10)}  ${sparkline(cpu)}  max ${percentText(known.length === 0 ? undefined : Math.max(...known))}`,
  ]
}
