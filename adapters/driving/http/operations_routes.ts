import type { Effect } from "effect"
import { Elysia } from "elysia"
import type { StoreUnavailable } from "../../../domain/records/errors.ts"
import { type Answerer, jsonResponse } from "./answer.ts"
import { requestInfo } from "./request_info.ts"

const HIDDEN = { detail: { hide: true } } as const

/**
 * `/health/live`: the process answers. `/health/ready`: the store answers too, else 503 with `Retry-After`.
 */
export const healthRoutes = (ready: Effect.Effect<void, StoreUnavailable>, answerer: Answerer) =>
  new Elysia({ prefix: "/health" })
    .get("/live", ({ request }) => jsonResponse(request, 200, '{"status":"live"}'), HIDDEN)
    .get(
      "/ready",
      ({ request }) => answerer.answer(request, ready, () => jsonResponse(request, 200, '{"status":"ready"}')),
      HIDDEN,
    )

/** `/metrics` in the Prometheus text format. */
export const metricsRoutes = (format: Effect.Effect<string>, answerer: Answerer) =>
  new Elysia().get(
    "/metrics",
    ({ request }) =>
      answerer.answer(
        request,
        format,
        (text) =>
          new Response(text, {
            headers: {
              "content-type": "text/plain; version=0.0.4; charset=utf-8",
              "x-request-id": requestInfo(request).id,
            },
          }),
      ),
    HIDDEN,
  )
