import type { Effect } from "effect"
import { Elysia } from "elysia"
import { methodNotAllowed } from "./http_refusal.ts"
import type { ServiceError } from "./problem.ts"
import {
  ANY_REFUSALS,
  guardRefusals,
  KEYS_AWAY,
  plainDoc,
  type ResponseDocs,
  refusalDocs,
  SECURITY,
  STORE_AWAY,
} from "./problem_docs.ts"
import { type Responder, refusing } from "./respond.ts"

const HIDDEN = { detail: { hide: true } } as const
const readOnly = (responder: Responder) => refusing(responder, methodNotAllowed("GET, HEAD"))

const READY = { status: "ready" }

/** Documents a health route: its answer has these members, all of them texts; `status` has one value only. */
const health = (
  operationId: string,
  summary: string,
  body: Readonly<Record<string, string>> & { readonly status: string },
  errors: ResponseDocs,
) => ({
  detail: {
    tags: ["operations"],
    operationId,
    summary,
    security: [],
    responses: {
      200: plainDoc(
        "The answer",
        "application/json",
        {
          type: "object",
          required: Object.keys(body),
          properties: {
            ...Object.fromEntries(Object.keys(body).map((name) => [name, { type: "string" }])),
            status: { const: body.status },
          },
        },
        body,
      ),
      ...errors,
    } as never,
  },
})

/**
 * `/health/live`: the process answers, with its version. `/health/ready`: it can do its work too, writes included, else 503 with `Retry-After`.
 *
 * @param version of the service
 * @param ready fails with what is missing; it is run for every request, so one that costs something bounds its own rate
 * @param responder turns what came of `ready` into an answer
 */
export const healthRoutes = (version: string, ready: Effect.Effect<void, ServiceError>, responder: Responder) => {
  const live = { status: "live", version }
  return new Elysia({ prefix: "/health" })
    .get(
      "/live",
      ({ set }) => {
        set.headers["content-type"] = "application/json"
        return JSON.stringify(live)
      },
      health("live", "The process answers", live, refusalDocs(ANY_REFUSALS)),
    )
    .get(
      "/ready",
      async ({ request, set, route }) =>
        responder.respond(
          { request, set, route },
          () => ready,
          () => ({ status: 200, body: JSON.stringify(READY) }),
        ),
      health(
        "ready",
        "The process can do its work, writes included",
        READY,
        refusalDocs([...ANY_REFUSALS, STORE_AWAY, KEYS_AWAY]),
      ),
    )
    .all("/live", readOnly(responder), HIDDEN)
    .all("/ready", readOnly(responder), HIDDEN)
}

const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"

/**
 * `/metrics` in the Prometheus text format.
 *
 * @param format gives the whole text
 * @param responder answers with it
 * @param guarded whether the token check stands before it, for the document
 */
export const metricsRoutes = (format: Effect.Effect<string>, responder: Responder, guarded: boolean) =>
  new Elysia()
    .get(
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
      {
        detail: {
          tags: ["operations"],
          operationId: "metrics",
          summary: "Figures of requests, store, restarts, posts and process",
          security: guarded ? SECURITY : [],
          responses: {
            200: plainDoc(
              "Prometheus text format",
              "text/plain",
              { type: "string" },
              "# TYPE http_requests_total counter\n",
            ),
            ...refusalDocs(guarded ? guardRefusals(undefined) : ANY_REFUSALS),
          } as never,
        },
      },
    )
    .all("/metrics", readOnly(responder), HIDDEN)
