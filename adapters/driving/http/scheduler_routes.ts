import { Effect } from "effect"
import { Elysia } from "elysia"
import * as jobs from "../../../application/scheduler/jobs.ts"
import type { Restarts } from "../../../application/scheduler/restarts.ts"
import { isObject } from "../../../domain/json_object.ts"
import { InvalidSchedulerArgument } from "../../../domain/scheduler/errors.ts"
import type { JobDefinition } from "../../../domain/scheduler/job.ts"
import { parseLossless, stringifyLossless } from "../../../domain/scheduler/lossless_json.ts"
import type { RestartRecord } from "../../../domain/scheduler/restart_journal.ts"
import type { Place, SchedulerPort } from "../../../domain/scheduler/scheduler_port.ts"
import type { Guard } from "./guard.ts"
import { HttpRefusal, methodNotAllowed } from "./http_refusal.ts"
import { readJson } from "./json_body.ts"
import type { ServiceError } from "./problem.ts"
import type { RequestContext } from "./request_context.ts"
import { envelope, type Responder, refusing } from "./respond.ts"
import { schedulerDocs } from "./scheduler_docs.ts"

type Services = SchedulerPort | Restarts
type Handler = (context: RequestContext) => Promise<string>
type ItemHandler = (context: RequestContext & { readonly params: { readonly id: string } }) => Promise<string>

const HIDDEN = { parse: "none", detail: { hide: true } } as const

/** One plain query parameter; empty when it is absent. */
const readParameter = (request: Request, name: string): Effect.Effect<string, HttpRefusal> => {
  const values = new URL(request.url).searchParams.getAll(name)
  return values.length > 1
    ? Effect.fail(new HttpRefusal({ code: "INVALID_QUERY", detail: `Query parameter '${name}' must not be repeated` }))
    : Effect.succeed(values[0] ?? "")
}

const readPlace = Effect.fnUntraced(function* (request: Request) {
  const region = yield* readParameter(request, "region")
  const namespace = yield* readParameter(request, "namespace")
  const place: Place = namespace === "" ? { region } : { region, namespace }
  return place
})

const readPurge = Effect.fnUntraced(function* (request: Request) {
  const purge = yield* readParameter(request, "purge")
  if (purge !== "" && purge !== "true" && purge !== "false")
    return yield* new HttpRefusal({ code: "INVALID_QUERY", detail: "Query parameter 'purge' must be true or false" })
  return purge === "true"
})

const invalid = (argument: string, rule: string) => new InvalidSchedulerArgument({ argument, rule })

/** `{"count": n}` and nothing else; the count's own rule is the domain's. */
const readCount = Effect.fnUntraced(function* (request: Request) {
  const body = yield* readJson(request)
  if (!isObject(body)) return yield* invalid("body", "must be an object")
  const { count, ...others } = body
  const [unknownField] = Object.keys(others)
  if (unknownField !== undefined) return yield* invalid("body", "must hold 'count' alone")
  if (typeof count !== "number") return yield* invalid("count", "must be a whole number from 0 to 9007199254740991")
  return count
})

/** What a caller needs to know about an unfinished restart. */
const describeRestart = (restart: RestartRecord) => ({
  agent: restart.endpoint,
  jobId: restart.jobId,
  region: restart.region,
  ...(restart.namespace === undefined ? {} : { namespace: restart.namespace }),
  state: restart.state,
  dueAt: new Date(restart.dueAt).toISOString(),
  attempts: restart.attempts,
  lastError: restart.lastError ?? null,
})

/**
 * The scheduler's HTTP face (specification 13). Integers keep their digits in both directions.
 *
 * @param parts.roles realm roles that may use it, any one of them
 */
export const schedulerRoutes = (parts: {
  readonly guard: Guard
  readonly responder: Responder<Services>
  readonly roles: ReadonlyArray<string>
}) => {
  const { responder } = parts
  const respond = <A>(context: RequestContext, status: number, program: Effect.Effect<A, ServiceError, Services>) =>
    responder.respond(
      context,
      () => program,
      (value) => ({ status, body: envelope(stringifyLossless(value)) }),
    )
  const at =
    <A>(
      status: number,
      useCase: (at: Place & { readonly id: string }, request: Request) => Effect.Effect<A, ServiceError, Services>,
    ): ItemHandler =>
    async ({ request, set, route, params }) =>
      respond(
        { request, set, route },
        status,
        Effect.flatMap(readPlace(request), (place) => useCase({ ...place, id: params.id }, request)),
      )
  const runJob: Handler = async ({ request, set, route }) =>
    respond(
      { request, set, route },
      200,
      Effect.gen(function* () {
        const place = yield* readPlace(request)
        // The domain refuses what is no definition.
        const definition = (yield* readJson(request, parseLossless)) as JobDefinition
        return yield* jobs.runJob(definition, place)
      }),
    )
  const listRestarts: Handler = async ({ request, set, route }) =>
    respond(
      { request, set, route },
      200,
      Effect.map(jobs.unfinishedRestarts, (restarts) => restarts.map(describeRestart)),
    )
  const refuse = (allow: string) => refusing(responder, methodNotAllowed(allow))
  const docs = schedulerDocs(parts.roles)
  const hooks = (operation: keyof typeof docs) =>
    ({
      parse: "none",
      beforeHandle: parts.guard.requireRoles(parts.roles),
      detail: docs[operation],
    }) as const

  return new Elysia()
    .get(
      "/jobs/:id",
      at(200, ({ id, ...place }) => jobs.getDefinition({ jobId: id, ...place })),
      hooks("get"),
    )
    .post("/jobs", runJob, hooks("run"))
    .post(
      "/jobs/:id/scale",
      at(200, ({ id, ...place }, request) =>
        Effect.flatMap(readCount(request), (count) => jobs.scaleJob({ jobId: id, ...place, count })),
      ),
      hooks("scale"),
    )
    .post(
      "/jobs/:id/restart",
      at(202, ({ id, ...place }) => Effect.as(jobs.restartJob({ jobId: id, ...place }), { jobId: id, ...place })),
      hooks("restart"),
    )
    .delete(
      "/jobs/:id",
      at(200, ({ id, ...place }, request) =>
        Effect.flatMap(readPurge(request), (purge) => jobs.deleteJob({ jobId: id, ...place, purge })),
      ),
      hooks("delete"),
    )
    .get(
      "/allocations/:id/stats",
      at(200, ({ id, ...place }) => jobs.allocationStats({ allocationId: id, ...place })),
      hooks("stats"),
    )
    .get(
      "/nodes/:id/allocations",
      at(200, ({ id, ...place }) => jobs.getAllocations({ nodeId: id, ...place })),
      hooks("allocations"),
    )
    .get("/restarts", listRestarts, hooks("restarts"))
    .all("/jobs", refuse("POST"), HIDDEN)
    .all("/jobs/:id", refuse("GET, HEAD, DELETE"), HIDDEN)
    .all("/jobs/:id/scale", refuse("POST"), HIDDEN)
    .all("/jobs/:id/restart", refuse("POST"), HIDDEN)
    .all("/allocations/:id/stats", refuse("GET, HEAD"), HIDDEN)
    .all("/nodes/:id/allocations", refuse("GET, HEAD"), HIDDEN)
    .all("/restarts", refuse("GET, HEAD"), HIDDEN)
}
