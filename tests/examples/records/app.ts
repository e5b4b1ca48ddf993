// Record types of one's own behind bearer tokens. What answers is `app.fetch`, on any runtime.
import { Elysia } from "elysia"
import { defineCollection, openRecords, setupCollection } from "portolan"
import Type from "typebox"
import { counting } from "./counting.ts"

const ships = defineCollection({
  name: "ships",
  fields: Type.Object({ name: Type.String({ minLength: 1 }), length_m: Type.Number({ minimum: 0, default: 0 }) }),
})

/**
 * Makes the application.
 *
 * @param publicKey of the realm whose tokens are accepted, PEM
 */
export const makeApp = async (publicKey: string) => {
  const records = await openRecords({ store: { sqlite: "records.sqlite" }, realm: { keys: publicKey } })
  const { guard, responder, close } = records
  const { repository, created } = counting(records.repository)
  const { handler, routes } = setupCollection(ships, { repository, guard, responder })
  const app = new Elysia()
    .group("/api", (api) => api.use(guard.protect()).use(routes))
    .delete("/admin/ships/:id", handler.delete, { beforeHandle: guard.requireRoles(["harbour-master"]) })
  return { app, created, close }
}
