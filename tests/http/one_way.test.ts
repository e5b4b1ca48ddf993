// One way through the house: the thousandth request to a URL takes the same way as the first.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { Elysia } from "elysia"
import { openRecords, type Records, setupCollection } from "../../bootstrap/records.ts"
import { products } from "../../domain/records/products.ts"
import { sharedService } from "../support/test_service.ts"
import { KEYS, pemOf, tokenKit } from "../support/tokens.ts"

const REQUESTS = 1000

const service = await sharedService()

describe("the service", () => {
  beforeAll(() => service.create({ name: "anchor" }))

  test("asks the store for each of many GETs of a record and of a page", async () => {
    const before = service.storeCalls()
    for (let request = 0; request < REQUESTS; request++)
      expect((await service.send(request % 2 ? "/api/products/1" : "/api/products?limit=5")).status).toBe(200)
    expect(service.storeCalls() - before).toBe(REQUESTS)
  })
})

describe("an integrator's application", () => {
  let records: Records
  beforeAll(async () => {
    records = await openRecords({ store: "memory", realm: { keys: pemOf(KEYS.realm().publicKey) } })
  })
  afterAll(() => records.close())

  test("runs its own hook on every request to one URL, and sees its answers", async () => {
    const { routes, service } = setupCollection(products, records)
    const seen = { before: 0, after: 0 }
    const counting = new Elysia()
      .onBeforeHandle({ as: "global" }, () => {
        seen.before++
      })
      .onAfterHandle({ as: "global" }, ({ set }) => {
        seen.after++
        set.headers["x-seen"] = String(seen.after)
      })
    const app = new Elysia()
      .use(counting)
      .group("/api", (api) => api.use(records.guard.protect()).use(routes))
      .delete("/admin/products/:id", setupCollection(products, records).handler.delete, {
        beforeHandle: records.guard.requireRoles(["catalogue-admin"]),
      })
    await Effect.runPromise(service.create({ name: "anchor" }))
    const headers = { authorization: `Bearer ${tokenKit(Math.floor(Date.now() / 1000)).access()}` }
    for (let request = 1; request <= REQUESTS; request++) {
      const response = await app.handle(new Request("http://localhost/api/products/1", { headers }))
      expect([response.status, response.headers.get("x-seen")]).toEqual([200, String(request)])
    }
    expect(seen).toEqual({ before: REQUESTS, after: REQUESTS })
    const refused = await app.handle(new Request("http://localhost/admin/products/1", { method: "DELETE", headers }))
    expect(refused.status).toBe(403)
  })
})
