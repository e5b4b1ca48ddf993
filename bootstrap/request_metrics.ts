import { Context, Metric } from "effect"
import type { AnsweredRequest } from "../adapters/driving/http/answered_request.ts"
import type { MetricName } from "./metric_names.ts"

/** Upper bounds of the duration histogram, seconds. */
const DURATION_BOUNDARIES_S = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Strangers choose the method; any other than these is counted as `other`, or they could make metrics without end. */
const KNOWN_METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])

/** The two metrics of one method, route and status. Made once: adding labels costs fifty times as much as counting. */
const makeSeries = ({ method, route, status }: Readonly<Record<"method" | "route" | "status", string>>) => ({
  requests: Metric.counter("http_requests_total" satisfies MetricName, {
    description: "Answered requests",
    incremental: true,
    attributes: { method, route, status },
  }),
  durations: Metric.histogram("http.server.request.duration" satisfies MetricName, {
    description: "Time from a request's arrival to its answer",
    boundaries: DURATION_BOUNDARIES_S,
    attributes: {
      "http.request.method": method,
      "http.route": route,
      "http.response.status_code": status,
      unit: "s",
    },
  }),
})

/**
 * Counts answered requests by method, route pattern and status; never by path, which strangers choose.
 *
 * @param context holds the registry the metrics are kept in; the process's own one when it names none
 */
export const requestMetrics = (context: Context.Context<never> = Context.empty()) => {
  const known = new Map<string, ReturnType<typeof makeSeries>>()
  return {
    /** Counts one request. */
    record: ({ method: given, route, status, durationMs }: AnsweredRequest): void => {
      const method = KNOWN_METHODS.has(given) ? given : "other"
      const key = `${method} ${status} ${route}`
      const series = known.get(key) ?? makeSeries({ method, route, status: String(status) })
      known.set(key, series)
      series.requests.updateUnsafe(1, context)
      series.durations.updateUnsafe(durationMs / 1000, context)
    },
  }
}
