// Who gets past: 401 first, then 403, then everything else. A refused caller learns nothing and touches nothing.
import { describe, expect, test } from "bun:test"
import { demoRoutes } from "../../bootstrap/demo_command.ts"
import { defineCollection } from "../../domain/records/collection.ts"
import { products } from "../../domain/records/products.ts"
import { dataOf } from "../support/data_of.ts"
import { expectProblem, expectRefusal } from "../support/expect_problem.ts"
import { sharedService } from "../support/test_service.ts"

const ROLES = { list: ["reader", "auditor"], get: ["reader"], create: ["writer"], delete: ["cleaner"] } as const

const charts = defineCollection({ name: "charts", fields: products.fields, roles: ROLES })

const service = await sharedService({ collections: [products, charts], extend: demoRoutes })

const as = (...roles: ReadonlyArray<string>) => ({ authorization: `Bearer ${service.token(...roles)}` })

const withoutToken = (path: string, init: RequestInit = {}) => fetch(`${service.url}${path}`, init)

/** Routes that answer without a token (specification 11 and 12). */
const OPEN = ["/", "/health/live", "/health/ready", "/openapi", "/openapi.json", "/openapi/start.js", "/openapi/:file"]

/** Answers to the page of the demo alone; tests/process/demo.test.ts says to whom. */
const DEMO_ONLY = "/openapi/token"

describe("without a token", () => {
  test("every route but health and the API page answers 401", async () => {
    const closed = service.routes.filter(({ path }) => ![...OPEN, DEMO_ONLY].includes(path))
    expect(closed.map(({ path }) => path)).toContain("/admin/products/:id")
    expect(closed.length).toBeGreaterThanOrEqual(16)
    for (const { method, path } of closed) {
      const target = path.replace(":id", "1").replace("*", "unknown/path")
      // A route for all methods is asked by one that has no route of its own.
      const sent = method === "ALL" ? "PUT" : method
      const before = service.storeCalls()
      const response = await withoutToken(target, { method: sent })
      expect([sent, target, response.status]).toEqual([sent, target, 401])
      expect(response.headers.get("www-authenticate")).toBe('Bearer realm="portolan"')
      expect(response.headers.get("cache-control")).toBe("no-store")
      expect(service.storeCalls()).toBe(before)
    }
  })

  test("the open ones are open, and are all there are", async () => {
    for (const path of OPEN) {
      const response = await withoutToken(path.replace(":file", "swagger-ui.css"))
      expect([path, response.status]).toEqual([path, 200])
    }
    expect((await withoutToken(DEMO_ONLY, { headers: { "sec-fetch-site": "same-origin" } })).status).toBe(404)
    const routes = new Set(service.routes.map(({ path }) => path))
    expect(OPEN.filter((path) => !routes.has(path))).toEqual([])
  })

  const JSON_BODY = { "content-type": "application/json" }
  test.each([
    ["broken JSON", "/api/products", { method: "POST", body: "{", headers: JSON_BODY }],
    ["an invalid record", "/api/products", { method: "POST", body: '{"id":1}', headers: JSON_BODY }],
    ["another media type", "/api/products", { method: "POST", body: "x", headers: { "content-type": "text/plain" } }],
    ["a bad query", "/api/products?limit=x", {}],
    ["a bad id", "/api/products/0", { method: "DELETE" }],
    ["a missing record", "/api/products/999", {}],
    ["an unknown collection", "/api/nothing", {}],
    ["a method that is not allowed", "/api/products", { method: "PATCH" }],
    ["a preflight", "/api/products", { method: "OPTIONS" }],
  ])("%s is 401", (_what, path, init) =>
    expectRefusal(service, () => withoutToken(path, init), 401, "UNAUTHENTICATED").then(() => {}),
  )
})

/** One request per operation of a collection, to a record that is there. */
const operations = (name: string, id: number | string) =>
  ({
    list: [`/api/${name}`, {}],
    get: [`/api/${name}/${id}`, {}],
    create: [`/api/${name}`, { method: "POST", body: '{"name":"a"}', headers: { "content-type": "application/json" } }],
    delete: [`/api/${name}/${id}`, { method: "DELETE" }],
  }) as const satisfies Record<keyof typeof ROLES, readonly [string, RequestInit]>

const sendAs = (roles: ReadonlyArray<string>, path: string, init: RequestInit = {}) =>
  service.send(path, { ...init, headers: { ...(init.headers as Record<string, string> | undefined), ...as(...roles) } })

const newRecord = async (): Promise<number> =>
  (await dataOf<{ id: number }>(await sendAs(["writer"], ...operations("charts", 0).create))).id

describe("roles per operation", () => {
  for (const operation of ["list", "get", "create", "delete"] as const) {
    for (const role of ROLES[operation])
      test(`${operation}: '${role}' is enough`, async () => {
        const [path, init] = operations("charts", await newRecord())[operation]
        expect((await sendAs([role, "other"], path, init)).status).toBe(operation === "create" ? 201 : 200)
      })

    test(`${operation}: the roles of the other operations are not`, async () => {
      const [path, init] = operations("charts", await newRecord())[operation]
      const own: ReadonlyArray<string> = ROLES[operation]
      const others = Object.values(ROLES)
        .flat()
        .filter((role) => !own.includes(role))
      for (const roles of [[], others]) {
        const response = await sendAs(roles, path, init)
        expect(response.headers.get("www-authenticate")).toBe('Bearer realm="portolan", error="insufficient_scope"')
        expect(response.headers.get("cache-control")).toBe("no-store")
        await expectProblem(response, 403, "FORBIDDEN")
      }
      await expectRefusal(service, () => sendAs(others, path, init), 403, "FORBIDDEN")
      expect((await sendAs(["reader"], "/api/charts")).status).toBe(200)
    })
  }

  test("the same answer for what is there, what is not, and what never could be", async () => {
    const id = await newRecord()
    for (const target of [id, 999_999, "0", "x"]) {
      await expectRefusal(service, () => sendAs([], `/api/charts/${target}`), 403, "FORBIDDEN")
      await expectRefusal(service, () => sendAs([], `/api/charts/${target}`, { method: "DELETE" }), 403, "FORBIDDEN")
    }
    expect((await sendAs(["reader"], `/api/charts/${id}`)).status).toBe(200)
  })

  test("nothing of a body is judged before the role", async () => {
    const post =
      (body: string, type = "application/json") =>
      () =>
        sendAs(["reader"], "/api/charts", { method: "POST", body, headers: { "content-type": type } })
    await expectRefusal(service, post("{"), 403, "FORBIDDEN")
    await expectRefusal(service, post('{"id":1}'), 403, "FORBIDDEN")
    await expectRefusal(service, post("x", "text/plain"), 403, "FORBIDDEN")
    await expectRefusal(service, () => sendAs([], "/api/charts?limit=x"), 403, "FORBIDDEN")
  })

  test("an operation without roles needs a token only", async () => {
    expect((await sendAs([], "/api/products")).status).toBe(200)
  })
})

describe("a URL that was answered before", () => {
  test("is answered to nobody else, and never from memory", async () => {
    const id = await newRecord()
    for (const path of [`/api/charts/${id}`, "/api/charts?limit=1000"]) {
      for (let time = 0; time < 3; time++) {
        const before = service.storeCalls()
        expect((await sendAs(["reader"], path)).status).toBe(200)
        expect(service.storeCalls()).toBeGreaterThan(before)
      }
      await expectRefusal(service, () => withoutToken(path), 401, "UNAUTHENTICATED")
      await expectRefusal(service, () => sendAs(["writer"], path), 403, "FORBIDDEN")
      const forged = { headers: { authorization: `${as("reader").authorization}x` } }
      await expectRefusal(service, () => withoutToken(path, forged), 401, "UNAUTHENTICATED")
      await expectRefusal(service, () => sendAs(["reader"], path, { method: "PUT" }), 405, "METHOD_NOT_ALLOWED")
    }
    expect((await sendAs(["cleaner"], `/api/charts/${id}`, { method: "DELETE" })).status).toBe(200)
    await expectProblem(await sendAs(["reader"], `/api/charts/${id}`), 404, "RECORD_NOT_FOUND")
    const left = await dataOf<ReadonlyArray<{ id: number }>>(await sendAs(["reader"], "/api/charts?limit=1000"))
    expect(left.map((record) => record.id)).not.toContain(id)
  })
})

describe("the delete handler mounted a second time", () => {
  const remove = (id: number | string, ...roles: ReadonlyArray<string>) =>
    sendAs(roles, `/admin/products/${id}`, { method: "DELETE" })

  test("401 without a token, 403 without the role, and nothing is deleted", async () => {
    const data = await dataOf<{ id: number }>(await service.create({ name: "a" }))
    const path = `/admin/products/${data.id}`
    await expectRefusal(service, () => withoutToken(path, { method: "DELETE" }), 401, "UNAUTHENTICATED")
    await expectRefusal(service, () => remove(data.id), 403, "FORBIDDEN")
    await expectRefusal(service, () => remove(data.id, "Catalogue-Admin", "user"), 403, "FORBIDDEN")
    await expectRefusal(service, () => remove("999999"), 403, "FORBIDDEN")
    expect((await service.send(`/api/products/${data.id}`)).status).toBe(200)
  })

  test("200 with the role, then 404", async () => {
    const data = await dataOf<{ id: number }>(await service.create({ name: "a" }))
    const response = await remove(data.id, "catalogue-admin")
    expect([response.status, await response.json()]).toEqual([200, { response: "OK", data }])
    await expectProblem(await remove(data.id, "catalogue-admin"), 404, "RECORD_NOT_FOUND")
    await expectProblem(await service.send(`/api/products/${data.id}`), 404, "RECORD_NOT_FOUND")
    await expectProblem(await remove("0", "catalogue-admin"), 404, "RECORD_NOT_FOUND")
  })
})
