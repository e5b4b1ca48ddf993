import type { Effect } from "effect"
import { Elysia } from "elysia"
import { toResponse } from "../http_server/standard_fetch.ts"
import { type Answerer, jsonAnswer } from "./answer.ts"
import type { ServiceError } from "./problem.ts"
import { requestInfo } from "./request_info.ts"

const HIDDEN = { detail: { hide: true } } as const

/**
 * `/health/live`: the process answers. `/health/ready`: it can do its work too, else 503 with `Retry-After`.
 *
 * @param ready fails with what is missing
 */
export const healthRoutes = (ready: Effect.Effect<void, ServiceError>, answerer: Answerer) =>
  new Elysia({ prefix: "/health" })
    .get("/live", ({ request }) => toResponse(jsonAnswer(request, 200, '{"status":"live"}')), HIDDEN)
    .get(
      "/ready",
      ({ request }) => answerer.respond(request, ready, () => jsonAnswer(request, 200, '{"status":"ready"}')),
      HIDDEN,
    )

const METRICS_TYPE = ["content-type", "text/plain; version=0.0.4; charset=utf-8"] as const

/** `/metrics` in the Prometheus text format. */
export const metricsRoutes = (format: Effect.Effect<string>, answerer: Answerer) =>
  new Elysia().get(
    "/metrics",
    ({ request }) =>
      answerer.respond(request, format, (body) => ({
        status: 200,
        headers: [METRICS_TYPE, ["x-request-id", requestInfo(request).id]],
        body,
      })),
    HIDDEN,
  )
