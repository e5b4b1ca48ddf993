import { type Context, Metric } from "effect"
import type { MetricName } from "./metric_names.ts"
import { VERSION } from "./version.ts"

const cpu = (mode: "user" | "system") =>
  Metric.counter("process.cpu.time" satisfies MetricName, {
    description: "Processor time the process has used",
    incremental: true,
    attributes: { "cpu.mode": mode, unit: "s" },
  })

/**
 * What the process says of itself: its version, and what it uses of the machine.
 *
 * @param context holds the registry the metrics are kept in
 * @returns brings them up to date; to be called before they are read
 */
export const processMetrics = (context: Context.Context<never>): (() => void) => {
  const build = Metric.gauge("portolan.build_info" satisfies MetricName, {
    description: "Always 1; the labels say what runs",
    attributes: { version: VERSION, runtime: `bun ${process.versions["bun"] ?? ""}`.trim() },
  })
  const memory = Metric.gauge("process.memory.usage" satisfies MetricName, {
    description: "Memory of the process that lies in RAM",
    attributes: { unit: "By" },
  })
  const uptime = Metric.gauge("process.uptime" satisfies MetricName, {
    description: "Time since the process started",
    attributes: { unit: "s" },
  })
  const used = { user: 0, system: 0 }
  const counters = { user: cpu("user"), system: cpu("system") }
  return () => {
    build.updateUnsafe(1, context)
    memory.updateUnsafe(process.memoryUsage.rss(), context)
    uptime.updateUnsafe(process.uptime(), context)
    const now = process.cpuUsage()
    for (const mode of ["user", "system"] as const) {
      counters[mode].updateUnsafe((now[mode] - used[mode]) / 1e6, context)
      used[mode] = now[mode]
    }
  }
}
