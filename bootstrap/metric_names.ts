/**
 * Every metric of the service: its name over OTLP, by the semantic conventions of OpenTelemetry where they have one, and its
 * name in the Prometheus text, which carries the unit.
 *
 * @see OpenTelemetry semantic conventions; "Prometheus and OpenMetrics Compatibility", metric names
 */
export const METRIC_NAMES = {
  http_requests_total: "http_requests_total",
  "http.server.request.duration": "http_server_request_duration_seconds",
  "db.client.operation.duration": "db_client_operation_duration_seconds",
  "portolan.build_info": "portolan_build_info",
  "portolan.key_fetches": "portolan_key_fetches_total",
  "portolan.restarts": "portolan_restarts",
  "portolan.posts": "portolan_posts",
  "process.cpu.time": "process_cpu_time_seconds_total",
  "process.memory.usage": "process_memory_usage_bytes",
  "process.uptime": "process_uptime_seconds",
} as const

/** Name of a metric, over OTLP. */
export type MetricName = keyof typeof METRIC_NAMES

/** The name of a metric in the Prometheus text. */
export const prometheusName = (name: string): string => METRIC_NAMES[name as MetricName] ?? name
