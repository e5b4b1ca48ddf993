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

/** What is counted for one method, route and status. */
interface Series {
  readonly requests: typeof requests
  readonly durations: typeof durations
}

/** Counts answered requests by method, route pattern and status; never by path, which strangers choose. */
export const requestMetrics = (context: Context.Context<never> = Context.empty()) => {
  // Nested maps of constant keys: no key is built per request.
  const known = new Map<string, Map<string, Map<number, Series>>>()

  const make = (method: string, route: string, status: number): Series => {
    const labels = { method, route, status: String(status) }
    return {
      requests: Metric.withAttributes(requests, labels),
      durations: Metric.withAttributes(durations, labels),
    }
  }
  const seriesOf = (given: string, route: string, status: number): Series => {
    const method = KNOWN_METHODS.has(given) ? given : "other"
    const found = known.get(route)?.get(method)?.get(status)
    if (found !== undefined) return found
    const made = make(method, route, status)
    const methods = known.get(route) ?? new Map<string, Map<number, Series>>()
    const statuses = methods.get(method) ?? new Map<number, Series>()
    known.set(route, methods.set(method, statuses.set(status, made)))
    return made
  }
  return {
    record: ({ method, route, status, durationMs }: Answered): void => {
      const series = seriesOf(method, route, status)
      series.requests.updateUnsafe(1, context)
      series.durations.updateUnsafe(durationMs / 1000, context)
    },
    format: Effect.sync(() => PrometheusMetrics.formatUnsafe(context)),
  }
}
