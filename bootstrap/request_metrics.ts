import { Context, Effect, Metric } from "effect"
import type { AnsweredRequest } from "../adapters/driving/http/answered_request.ts"

/** Upper bounds of the duration histogram, seconds. */
const DURATION_BOUNDARIES_S = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

type Labels = Readonly<Record<"method" | "route" | "status", string>>

// With their labels from the start: labels added later would be put into the context anew for every value.
const requestsOf = (attributes: Labels) =>
  Metric.counter("http_requests_total", { description: "Answered requests", incremental: true, attributes })
const durationsOf = (attributes: Labels) =>
  Metric.histogram("http_request_duration_seconds", {
    description: "Time from a request's arrival to its answer",
    boundaries: DURATION_BOUNDARIES_S,
    attributes,
  })

const KNOWN_METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])

/** What is counted for one method, route and status. */
interface Series {
  readonly requests: ReturnType<typeof requestsOf>
  readonly durations: ReturnType<typeof durationsOf>
  /** Durations not counted yet, seconds. */
  readonly waiting: Array<number>
}

/** Counting a batch in one go costs a fifth of counting each request at its end. */
const WAITING_MAX = 256

/** Longest time a request goes uncounted, milliseconds: exporters read the metrics without asking. */
const COUNT_AFTER_MS = 1000

/** Counts answered requests by method, route pattern and status; never by path, which strangers choose. */
export const requestMetrics = (context: Context.Context<never> = Context.empty()) => {
  // Nested maps of constant keys: no key is built per request.
  const known = new Map<string, Map<string, Map<number, Series>>>()
  const all: Array<Series> = []

  const count = ({ requests, durations, waiting }: Series): void => {
    if (waiting.length === 0) return
    requests.updateUnsafe(waiting.length, context)
    for (const seconds of waiting) durations.updateUnsafe(seconds, context)
    waiting.length = 0
  }
  const countAll = () => all.forEach(count)
  const timer = setInterval(countAll, COUNT_AFTER_MS)

  const add = (method: string, route: string, status: number): Series => {
    const labels = { method, route, status: String(status) }
    const series: Series = {
      requests: requestsOf(labels),
      durations: durationsOf(labels),
      waiting: [],
    }
    const methods = known.get(route) ?? new Map<string, Map<number, Series>>()
    const statuses = methods.get(method) ?? new Map<number, Series>()
    known.set(route, methods.set(method, statuses.set(status, series)))
    all.push(series)
    return series
  }
  return {
    record: ({ method: given, route, status, durationMs }: AnsweredRequest): void => {
      const method = KNOWN_METHODS.has(given) ? given : "other"
      const series = known.get(route)?.get(method)?.get(status) ?? add(method, route, status)
      if (series.waiting.push(durationMs / 1000) >= WAITING_MAX) count(series)
    },
    /** Counts what is left and lets go of the timer. */
    close: (): void => {
      clearInterval(timer)
      countAll()
    },
    format: Effect.promise(async () => {
      // Loaded when somebody asks: it would be a twentieth of the time to the first answer.
      const { formatUnsafe } = await import("effect/observability/PrometheusMetrics")
      countAll()
      return formatUnsafe(context)
    }),
  }
}
