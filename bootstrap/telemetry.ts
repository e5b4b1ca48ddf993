import { Effect, Layer } from "effect"
import type { Config } from "./config.ts"
import { VERSION } from "./version.ts"

/** How long the last export may hold up the end of the process. A collector may be away. */
const SHUTDOWN_TIMEOUT = "500 millis"

/**
 * Exports traces and metrics over OTLP/HTTP. The exporter is imported only when a collector is configured.
 *
 * @returns `undefined` when none is
 * @see OpenTelemetry protocol exporter, `OTEL_EXPORTER_OTLP_ENDPOINT`
 */
export const telemetryLayer = (config: Pick<Config, "OTEL_EXPORTER_OTLP_ENDPOINT">): Layer.Layer<never> | undefined => {
  const endpoint = config.OTEL_EXPORTER_OTLP_ENDPOINT
  if (endpoint === undefined) return undefined
  return Layer.unwrap(
    Effect.promise(async () => {
      const { OtlpMetrics, OtlpSerialization, OtlpTracer } = await import("effect/observability")
      const { FetchHttpClient } = await import("effect/http")
      const base = endpoint.replace(/\/+$/, "")
      const resource = { serviceName: "portolan", serviceVersion: VERSION }
      return Layer.mergeAll(
        OtlpTracer.layer({ url: `${base}/v1/traces`, resource, shutdownTimeout: SHUTDOWN_TIMEOUT }),
        OtlpMetrics.layer({ url: `${base}/v1/metrics`, resource, shutdownTimeout: SHUTDOWN_TIMEOUT }),
      ).pipe(Layer.provide(OtlpSerialization.layerJson), Layer.provide(FetchHttpClient.layer))
    }),
  )
}
