import { Context, Effect, Metric } from "effect"
import { PrometheusMetrics } from "effect/observability"
import type { Answered } from "../adapters/driving/http/front.ts"

/** Upper bounds of the duration histogram, seconds. */
const DURATION_BOUNDARIES_S = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

const requests = Metric.counter("http_requests_total", { description: "Answered requests", incremental: true })
const durations = Metric.histogram("http_request_duration_seconds", {
  description: "Time from a request's arrival to its answer",
  boundaries: DURATION_BOUNDARIES_S,
})

const KNOWN_METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])

/** Counts answered requests by method, route pattern and status; never by path, which strangers choose. */
export const requestMetrics = (context: Context.Context<never> = Context.empty()) => {
  const series = new Map<string, readonly [typeof requests, typeof durations]>()
  const seriesOf = ({ method, route, status }: Answered) => {
    const key = `${method} ${route} ${status}`
    const known = series.get(key)
    if (known !== undefined) return known
    const labels = { method: KNOWN_METHODS.has(method) ? method : "other", route, status: String(status) }
    const made = [Metric.withAttributes(requests, labels), Metric.withAttributes(durations, labels)] as const
    if (KNOWN_METHODS.has(method)) series.set(key, made)
    return made
  }
  return {
    record: (answered: Answered): void => {
      const [counter, histogram] = seriesOf(answered)
      counter.updateUnsafe(1, context)
      histogram.updateUnsafe(answered.durationMs / 1000, context)
    },
    format: Effect.sync(() => PrometheusMetrics.formatUnsafe(context)),
  }
}
