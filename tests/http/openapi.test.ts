// The OpenAPI document says what the service does: held against its routes, and its examples against its own schemas.
import { afterAll, describe, expect, test } from "bun:test"
import { Layer } from "effect"
import Type from "typebox"
import { Compile } from "typebox/compile"
import * as journal from "../../adapters/driven/restart_journal/memory.ts"
import * as httpScheduler from "../../adapters/driven/scheduler/http.ts"
import { MEDIA_SCHEMAS } from "../../adapters/driving/http/media_docs.ts"
import { mediaRoutes } from "../../adapters/driving/http/media_routes.ts"
import { makeResponder } from "../../adapters/driving/http/respond.ts"
import { SCHEDULER_SCHEMAS } from "../../adapters/driving/http/scheduler_docs.ts"
import { schedulerRoutes } from "../../adapters/driving/http/scheduler_routes.ts"
import * as restarts from "../../application/scheduler/restarts.ts"
import { makeArea } from "../../bootstrap/area.ts"
import { demoRoutes } from "../../bootstrap/demo_command.ts"
import { isObject } from "../../domain/json_object.ts"
import { defineCollection } from "../../domain/records/collection.ts"
import { products } from "../../domain/records/products.ts"
import { RESTART_RULES } from "../../domain/scheduler/restart_plan.ts"
import { startFakeAgent } from "../support/fake_agent.ts"
import { ACCOUNT, makeMediaWorld } from "../support/media_world.ts"
import { sharedService, startService } from "../support/test_service.ts"

type Schema = Readonly<Record<string, unknown>>
interface Media {
  readonly schema: Schema
  readonly example?: unknown
}
interface Body {
  readonly content?: Readonly<Record<string, Media>>
}
interface Parameter {
  readonly name: string
  readonly in: string
  readonly schema: Schema
  readonly example?: unknown
}
interface Operation {
  readonly operationId?: string
  readonly security?: ReadonlyArray<object>
  readonly parameters?: ReadonlyArray<Parameter>
  readonly requestBody?: Body
  readonly responses?: Readonly<Record<string, Body & { readonly description: string }>>
}
interface Document {
  readonly openapi: string
  readonly servers: ReadonlyArray<object>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly securitySchemes: Readonly<Record<string, object>>
  }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

const agent = await startFakeAgent()
afterAll(() => agent.stop())
const world = makeMediaWorld()
const scheduler = makeArea(
  restarts
    .layer(RESTART_RULES, "1 second")
    .pipe(
      Layer.provideMerge(httpScheduler.layer({ baseUrl: agent.url, scaleGroup: "restreamer" })),
      Layer.provide(journal.layer),
    ),
  (context, { guard }) => ({
    mounts: [
      {
        prefix: "/scheduler",
        routes: [schedulerRoutes({ guard, responder: makeResponder(context), roles: ["operator"] })],
      },
    ],
    schemas: SCHEDULER_SCHEMAS,
  }),
)
const media = makeArea(Layer.empty, (_context, { guard, responder }) => ({
  open: [mediaRoutes({ services: world.services, guard, responder, roles: ["publisher"], accountId: ACCOUNT })],
  schemas: MEDIA_SCHEMAS,
}))
/** A collection that asks for everything that one may ask for. */
const charts = defineCollection({
  name: "charts",
  fields: Type.Object({
    title: Type.String({ minLength: 1, examples: ["Elbe estuary"] }),
    scale: Type.Integer({ minimum: 1, default: 50_000 }),
    note: Type.Optional(Type.Unsafe<string | null>({ type: ["string", "null"] })),
    measures: Type.Optional(Type.Object({ depth: Type.Number(), unit: Type.String({ default: "m" }) })),
  }),
  updates: ["replace", "patch"],
  requireMatch: true,
  timestamps: true,
  changes: true,
  unique: ["title"],
})
const service = await sharedService({
  collections: [products, charts],
  extend: demoRoutes,
  areas: [scheduler, media],
})
const documentOf = async (url: string) => (await (await fetch(`${url}/openapi.json`)).json()) as Document
const document = await documentOf(service.url)

const operations = (): ReadonlyArray<readonly [name: string, operation: Operation]> =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const),
  )

/** The schema with every reference to a component put in its place. */
const resolved = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(resolved)
  if (!isObject(schema)) return schema
  const name = /^#\/components\/schemas\/([\w.-]+)$/.exec(String(schema["$ref"]))?.[1]
  if (name !== undefined) return resolved(document.components.schemas[name] ?? false)
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, resolved(value)]))
}

const mistakes = (schema: Schema, value: unknown) => [...Compile(resolved(schema) as object).Errors(value)]

const ANY = "400 500"
const GUARDED = `${ANY} 401 503`
const BODY = "408 413 415 422"
const AGENT = `${GUARDED} 403 404 422 502`
const GRAPH = `${AGENT} 409 429`

/** Every operation, its statuses, and whether it needs a token. */
const OPERATIONS: ReadonlyArray<readonly [operation: string, statuses: string]> = [
  ["GET /health/live", `200 ${ANY}`],
  ["GET /health/ready", `200 ${ANY} 503`],
  ["GET /metrics", `200 ${GUARDED}`],
  ["GET /api/products", `200 ${GUARDED}`],
  ["GET /api/products/{id}", `200 304 404 ${GUARDED}`],
  ["POST /api/products", `201 409 ${BODY} ${GUARDED}`],
  ["GET /api/products/export", `200 ${GUARDED}`],
  ["POST /api/products/import", `201 409 ${BODY} ${GUARDED}`],
  ["GET /api/charts/export", `200 ${GUARDED}`],
  ["POST /api/charts/import", `201 409 ${BODY} ${GUARDED}`],
  ["DELETE /api/products/{id}", `200 404 412 ${GUARDED}`],
  ["GET /api/charts", `200 ${GUARDED}`],
  ["GET /api/charts/{id}", `200 304 404 ${GUARDED}`],
  ["POST /api/charts", `201 409 ${BODY} ${GUARDED}`],
  ["PUT /api/charts/{id}", `200 404 409 412 428 ${BODY} ${GUARDED}`],
  ["PATCH /api/charts/{id}", `200 404 409 412 428 ${BODY} ${GUARDED}`],
  ["DELETE /api/charts/{id}", `200 404 412 428 ${GUARDED}`],
  ["GET /api/charts/changes", `200 410 501 ${GUARDED}`],
  ["DELETE /admin/products/{id}", `200 403 404 412 ${GUARDED}`],
  ["GET /scheduler/jobs/{id}", `200 ${AGENT}`],
  ["POST /scheduler/jobs", `200 ${BODY} ${AGENT}`],
  ["POST /scheduler/jobs/{id}/scale", `200 ${BODY} ${AGENT}`],
  ["POST /scheduler/jobs/{id}/restart", `202 ${AGENT}`],
  ["DELETE /scheduler/jobs/{id}", `200 ${AGENT}`],
  ["GET /scheduler/allocations/{id}/stats", `200 ${AGENT}`],
  ["GET /scheduler/nodes/{id}/allocations", `200 ${AGENT}`],
  ["GET /scheduler/restarts", `200 403 ${GUARDED}`],
  ["POST /media/containers", `201 ${BODY} ${GRAPH}`],
  ["POST /media/carousels", `201 202 ${BODY} ${GRAPH}`],
  ["GET /media/containers/{id}", `200 ${GRAPH}`],
  ["POST /media/containers/{id}/publish", `200 202 ${BODY} ${GRAPH}`],
  ["POST /media/posts", `200 202 ${BODY} ${GRAPH}`],
  ["GET /media/limit", `200 ${GRAPH}`],
]

/** Media types of the operations whose success is no JSON. */
const OTHER_TYPES: Readonly<Record<string, string>> = {
  "GET /metrics": "text/plain",
  "GET /api/charts/changes": "text/event-stream",
  "GET /api/products/export": "application/x-ndjson",
  "GET /api/charts/export": "application/x-ndjson",
}

describe("the OpenAPI document", () => {
  test("is 3.1, of this very server, with the bearer scheme", () => {
    expect(document.openapi).toStartWith("3.1")
    expect(document.servers).toEqual([{ url: "/" }])
    expect(document.components.securitySchemes).toEqual({
      bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT" },
    })
  })

  test("has every route that is not hidden, and no other", () => {
    const shown = service.routes
      .filter(({ hooks }) => hooks?.detail?.hide !== true)
      .map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, "{$1}")}`)
    expect(
      operations()
        .map(([name]) => name)
        .sort(),
    ).toEqual(shown.sort())
    expect(shown).toEqual(OPERATIONS.map(([name]) => name).sort())
  })

  test("every operation has an id of its own", () => {
    const ids = operations().map(([, { operationId }]) => operationId)
    expect(new Set(ids).size).toBe(OPERATIONS.length)
  })

  test.each(OPERATIONS)("%s documents its statuses, each with an example body", (name, statuses) => {
    const { responses = {}, security } = operations().find(([each]) => each === name)?.[1] ?? {}
    expect(security).toEqual(name.startsWith("GET /health/") ? [] : [{ bearer: [] }])
    expect(Object.keys(responses)).toEqual([...new Set(statuses.split(" "))].sort())
    for (const [status, { content }] of Object.entries(responses)) {
      if (status === "304") {
        expect(content).toBeUndefined()
        continue
      }
      const success = OTHER_TYPES[name] ?? "application/json"
      const type = Number(status) < 400 ? success : "application/problem+json"
      expect([status, Object.keys(content ?? {})]).toEqual([status, [type]])
      expect([status, content?.[type]?.example]).not.toEqual([status, undefined])
    }
  })

  test("every example is what its schema describes", () => {
    let checked = 0
    const check = (name: string, schema: Schema, example: unknown) => {
      expect([name, mistakes(schema, example)]).toEqual([name, []])
      checked++
    }
    for (const [name, { parameters = [], requestBody, responses = {} }] of operations()) {
      for (const { schema, example } of parameters) if (example !== undefined) check(name, schema, example)
      for (const { content = {} } of [...(requestBody === undefined ? [] : [requestBody]), ...Object.values(responses)])
        for (const { schema, example } of Object.values(content)) check(name, schema, example)
    }
    expect(checked).toBeGreaterThanOrEqual(200)
  })

  test("a field with a default may be left out of a request, and is in every answer", () => {
    const request = operations().find(([name]) => name === "POST /api/products")?.[1].requestBody
    const schema = request?.content?.["application/json"]?.schema ?? {}
    expect(mistakes(schema, { name: "a" })).toEqual([])
    expect(mistakes({ $ref: "#/components/schemas/products" }, { id: 1, name: "a" })).not.toEqual([])
  })

  test.each([
    ["GET /api/products", ["start", "limit", "after", "order", "select", "id", "name", "price", "Prefer"]],
    ["GET /api/products/{id}", ["id", "select", "If-None-Match"]],
    ["PUT /api/charts/{id}", ["id", "If-Match"]],
    ["DELETE /api/products/{id}", ["id", "If-Match"]],
    ["POST /api/products/import", ["Idempotency-Key"]],
    ["GET /api/charts/changes", ["after", "Last-Event-ID"]],
    ["GET /scheduler/jobs/{id}", ["id", "region", "namespace"]],
    ["POST /scheduler/jobs", ["region", "namespace"]],
    ["DELETE /scheduler/jobs/{id}", ["id", "region", "namespace", "purge"]],
    ["GET /media/limit", ["accountId"]],
  ])("%s has its parameters", (name, names) => {
    const { parameters = [] } = operations().find(([each]) => each === name)?.[1] ?? {}
    expect(parameters.map((each) => each.name)).toEqual(names)
  })

  test("a record and what is submitted of it have names, which generated types take over", () => {
    const { schemas } = document.components
    expect(Object.keys(schemas)).toEqual(expect.arrayContaining(["products", "products.new", "charts", "charts.new"]))
    expect(mistakes({ $ref: "#/components/schemas/products.new" }, { name: "a" })).toEqual([])
    expect(mistakes({ $ref: "#/components/schemas/products.new" }, { id: 1, name: "a" })).not.toEqual([])
  })

  test("a patch is described as what it may be: any fields, and null for those a record can be without", () => {
    const { requestBody } = operations().find(([name]) => name === "PATCH /api/charts/{id}")?.[1] ?? {}
    expect(Object.keys(requestBody?.content ?? {})).toEqual(["application/merge-patch+json"])
    const { schema = {}, example } = requestBody?.content?.["application/merge-patch+json"] ?? {}
    expect(example).toEqual({ title: "Elbe estuary" })
    for (const patch of [{}, { scale: null }, { note: null }, { measures: null }, { measures: { unit: null } }])
      expect([patch, mistakes(schema, patch)]).toEqual([patch, []])
    for (const patch of [{ title: null }, { scale: 0 }, { colour: null }, { measures: { depth: null } }, { id: 1 }, []])
      expect([patch, mistakes(schema, patch).length > 0]).toEqual([patch, true])
  })

  test("what the server assigns is in every answer and in no request", () => {
    const assigned = ["id", "createdAt", "updatedAt"]
    const record = document.components.schemas["charts"] as { properties: object; required: ReadonlyArray<string> }
    for (const name of assigned) {
      expect(Object.keys(record.properties)).toContain(name)
      expect(record.required).toContain(name)
    }
    const submitted = document.components.schemas["charts.new"] as { properties: object }
    expect(Object.keys(submitted.properties)).toEqual(["title", "scale", "note", "measures"])
    const one = { $ref: "#/components/schemas/charts.new" }
    const sent = (path: string, method: string) =>
      document.paths[path]?.[method]?.requestBody?.content?.["application/json"]?.schema
    expect(sent("/api/charts/{id}", "put")).toEqual(one)
    expect(sent("/api/charts", "post")).toMatchObject({ anyOf: [one, { items: one }] })
  })

  test("a collection whose schema gives no example has none, rather than a wrong one", async () => {
    const bare = defineCollection({
      name: "buoys",
      fields: Type.Object({ name: Type.String(), colour: Type.String({ default: "red" }) }),
    })
    const other = await startService({ collections: [bare] })
    const { paths } = await documentOf(other.url)
    expect(Object.keys(paths["/api/buoys"]?.["post"]?.requestBody?.content?.["application/json"] ?? {})).toEqual([
      "schema",
    ])
    await other.stop()
  })

  test("the examples are what the service answers", async () => {
    const example = (name: string, status: string, type: string) =>
      operations().find(([each]) => each === name)?.[1].responses?.[status]?.content?.[type]?.example as Record<
        string,
        unknown
      >
    const post = operations().find(([each]) => each === "POST /api/products")?.[1]
    const sent = post?.requestBody?.content?.["application/json"]?.example
    const created = (await (await service.create(sent)).json()) as { data: { id: number } }
    const shown = example("POST /api/products", "201", "application/json") as typeof created
    expect({ ...created, data: { ...created.data, id: shown.data.id } }).toEqual(shown)

    const stable = ({ instance: _instance, requestId: _requestId, ...rest }: Record<string, unknown>) => rest
    for (const [name, status, send] of [
      ["GET /api/products", "400", () => service.send("/api/products?limit=x")],
      ["GET /api/products/{id}", "400", () => service.send("/api/products/1?start=0")],
      ["GET /api/products", "401", () => fetch(`${service.url}/api/products`)],
      ["GET /api/products/{id}", "404", () => service.send("/api/products/999")],
      [
        "POST /api/products",
        "400",
        () =>
          service.send("/api/products", { method: "POST", body: "{", headers: { "content-type": "application/json" } }),
      ],
      ["POST /api/products", "413", () => service.create({ name: "a".repeat(1_048_576) })],
      ["POST /api/products", "415", () => service.create({}, { headers: { "content-type": "text/plain" } })],
      ["POST /api/products", "422", () => service.create({ id: 7, name: "a" })],
    ] as const)
      expect(stable((await (await send()).json()) as Record<string, unknown>)).toEqual(
        stable(example(name, status, "application/problem+json")),
      )
  })
})
