// The OpenAPI document says what the service does: held against its routes, and its examples against its own schemas.
import { describe, expect, test } from "bun:test"
import { Compile } from "typebox/compile"
import { demoRoutes } from "../../bootstrap/serve_command.ts"
import { sharedService } from "../support/test_service.ts"

interface Media {
  readonly schema: Readonly<Record<string, unknown>>
  readonly example?: unknown
}
interface Body {
  readonly content?: Readonly<Record<string, Media>>
}
interface Operation {
  readonly operationId?: string
  readonly security?: ReadonlyArray<object>
  readonly requestBody?: Body
  readonly responses?: Readonly<Record<string, Body & { readonly description: string }>>
}
interface Document {
  readonly openapi: string
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>
    readonly securitySchemes: Readonly<Record<string, object>>
  }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

const service = await sharedService({ extend: demoRoutes })
const document = (await (await fetch(`${service.url}/openapi.json`)).json()) as Document

const operations = (): ReadonlyArray<readonly [name: string, operation: Operation]> =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const),
  )

describe("the OpenAPI document", () => {
  test("is 3.1 with the bearer scheme", () => {
    expect(document.openapi).toStartWith("3.1")
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
    expect(shown).toHaveLength(5)
  })

  test("every operation asks for the token", () => {
    for (const [name, { security }] of operations()) expect([name, security]).toEqual([name, [{ bearer: [] }]])
  })

  test.each([
    ["GET /api/products", ["200", "400", "401", "403", "500", "503"]],
    ["GET /api/products/{id}", ["200", "401", "403", "404", "500", "503"]],
    ["POST /api/products", ["201", "400", "401", "403", "408", "413", "415", "422", "500", "503"]],
    ["DELETE /api/products/{id}", ["200", "401", "403", "404", "500", "503"]],
    ["DELETE /admin/products/{id}", ["200", "401", "403", "404", "500", "503"]],
  ])("%s documents its statuses, each with an example body", (name, statuses) => {
    const responses = operations().find(([each]) => each === name)?.[1].responses ?? {}
    expect(Object.keys(responses).sort()).toEqual(statuses)
    for (const [status, { content }] of Object.entries(responses)) {
      const type = Number(status) < 400 ? "application/json" : "application/problem+json"
      expect([status, Object.keys(content ?? {})]).toEqual([status, [type]])
      expect([status, typeof content?.[type]?.example]).toEqual([status, "object"])
    }
  })

  test("every example body is what its schema describes", () => {
    const resolve = (schema: Media["schema"]) => {
      const name = /^#\/components\/schemas\/(\w+)$/.exec(String(schema["$ref"]))?.[1]
      return name === undefined ? schema : (document.components.schemas[name] ?? false)
    }
    let checked = 0
    for (const [name, { requestBody, responses = {} }] of operations())
      for (const { content = {} } of [...(requestBody === undefined ? [] : [requestBody]), ...Object.values(responses)])
        for (const { schema, example } of Object.values(content)) {
          expect([name, [...Compile(resolve(schema) as object).Errors(example)]]).toEqual([name, []])
          checked++
        }
    expect(checked).toBeGreaterThanOrEqual(29)
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
