import type { Effect } from "effect"
import { Elysia } from "elysia"
import type { ServiceError } from "./problem.ts"
import type { Responder } from "./respond.ts"

const HIDDEN = { detail: { hide: true } } as const

/**
 * `/health/live`: the process answers. `/health/ready`: it can do its work too, else 503 with `Retry-After`.
 *
 * @param ready fails with what is missing
 */
export const healthRoutes = (ready: Effect.Effect<void, ServiceError>, responder: Responder) =>
  new Elysia({ prefix: "/health" })
    .get(
      "/live",
      ({ set }) => {
        set.headers["content-type"] = "application/json"
        return '{"status":"live"}'
      },
      HIDDEN,
    )
    .get(
      "/ready",
      async ({ request, set, route }) =>
        responder.respond(
          { request, set, route },
          () => ready,
          () => ({ status: 200, body: '{"status":"ready"}' }),
        ),
      HIDDEN,
    )

const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"

/** `/metrics` in the Prometheus text format. */
export const metricsRoutes = (format: Effect.Effect<string>, responder: Responder) =>
  new Elysia().get(
    "/metrics",
    async ({ request, set, route }) =>
      responder.respond(
        { request, set, route },
        () => format,
        (body) => ({
          status: 200,
          headers: { "content-type": METRICS_TYPE },
          body,
        }),
      ),
    HIDDEN,
  )
