import { type Context, Effect } from "effect"
import { prometheusName } from "./metric_names.ts"

/**
 * All metrics in the Prometheus text format.
 *
 * @param context holds the registry the metrics are kept in
 */
export const metricsText = (context: Context.Context<never>): Effect.Effect<string> =>
  Effect.promise(async () => {
    // Imported when somebody asks: the import is a twentieth of the time from the start to the first answer.
    const { formatUnsafe } = await import("effect/observability/PrometheusMetrics")
    return formatUnsafe(context, { metricNameMapper: prometheusName })
  })
