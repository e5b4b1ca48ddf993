import type { Effect } from "effect"
import { Elysia } from "elysia"
import type { ServiceError } from "./problem.ts"
import type { Responder } from "./respond.ts"

const HIDDEN = { detail: { hide: true } } as const

/**
 * `/health/live`: the process answers. `/health/ready`: it can do its work too, writes included, else 503 with `Retry-After`.
 *
 * @param ready fails with what is missing; it is run for every request, so one that costs something bounds its own rate
 * @param responder turns what came of `ready` into an answer
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

/**
 * `/metrics` in the Prometheus text format.
 *
 * @param format gives the whole text
 * @param responder answers with it
 */
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
