import { Effect, Layer, Tracer } from "effect"
import type { Config } from "./config.ts"
import { discreetTracer } from "./discreet_tracer.ts"
import { VERSION } from "./version.ts"

/** How long the last export may hold up the end of the process. A collector may be away. */
const SHUTDOWN_TIMEOUT = "500 millis"

/** How often metrics are exported. */
export const METRICS_EXPORT_INTERVAL = "10 seconds"

/**
 * Exports traces and metrics over OTLP/HTTP. The exporter is imported only when a collector is configured.
 *
 * @returns `undefined` when none is
 * @see OpenTelemetry protocol exporter, `OTEL_EXPORTER_OTLP_ENDPOINT`; SDK configuration, `OTEL_SERVICE_NAME`
 */
export const telemetryLayer = (
  config: Pick<Config, "OTEL_EXPORTER_OTLP_ENDPOINT" | "OTEL_SERVICE_NAME">,
): Layer.Layer<never> | undefined => {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_SERVICE_NAME: serviceName } = config
  if (endpoint === undefined) return undefined
  return Layer.unwrap(
    Effect.promise(async () => {
      const { OtlpMetrics, OtlpSerialization, OtlpTracer } = await import("effect/observability")
      const { FetchHttpClient } = await import("effect/http")
      const base = endpoint.replace(/\/+$/, "")
      const resource = { serviceName, serviceVersion: VERSION }
      const exporting = OtlpTracer.layer({ url: `${base}/v1/traces`, resource, shutdownTimeout: SHUTDOWN_TIMEOUT })
      return Layer.mergeAll(
        Layer.effect(Tracer.Tracer, Effect.map(Tracer.Tracer, discreetTracer)).pipe(Layer.provide(exporting)),
        OtlpMetrics.layer({
          url: `${base}/v1/metrics`,
          resource,
          exportInterval: METRICS_EXPORT_INTERVAL,
          shutdownTimeout: SHUTDOWN_TIMEOUT,
        }),
      ).pipe(Layer.provide(OtlpSerialization.layerJson), Layer.provide(FetchHttpClient.layer))
    }),
  )
}
