// The ring itself: each server is what the suites take it for.
import { afterAll, beforeAll, expect, test } from "bun:test"
import { MongoClient } from "mongodb"
import { REALM } from "../support/keycloak_realm.ts"
import { KEYCLOAK, KILLABLE_MONGODB, MONGODB, NOMAD, realSuite } from "../support/real_servers.ts"

const DATABASE = `portolan_ring_${process.pid}`
const RESTART_MS = 30_000

const connected = (url: string): Promise<MongoClient> =>
  new MongoClient(url, { serverSelectionTimeoutMS: 2_000 }).connect()

realSuite(MONGODB, "the MongoDB of the ring", (mongo) => {
  let client: MongoClient
  beforeAll(async () => {
    client = await connected(mongo.database(DATABASE))
  })
  afterAll(async () => {
    await client.db().dropDatabase()
    await client.close()
  })

  test("keeps a document in the database that the address names", async () => {
    expect(client.db().databaseName).toBe(DATABASE)
    const insert = await client
      .db()
      .collection("kept")
      .insertOne({ name: "astrolabe" }, { writeConcern: { w: "majority" } })
    expect(await client.db().collection("kept").findOne({ _id: insert.insertedId })).toMatchObject({
      name: "astrolabe",
    })
  })

  test("asks for a password", async () => {
    const [, password = ""] = /:([^:@/]+)@/.exec(mongo.url) ?? []
    const wrong = connected(mongo.url.replace(`:${password}@`, ":not-the-password@"))
    await expect(wrong).rejects.toMatchObject({ name: "MongoServerError", code: 18 })
  })
})

realSuite(KILLABLE_MONGODB, "the MongoDB of the ring, killed", (mongo) => {
  test(
    "comes back with what it had acknowledged",
    async () => {
      const client = await connected(mongo.database(DATABASE))
      const documents = client.db().collection<{ _id: number }>("acknowledged")
      await documents.insertOne({ _id: 1 })
      await mongo.kill()
      try {
        await expect(documents.findOne({ _id: 1 })).rejects.toThrow()
      } finally {
        await mongo.start()
      }
      expect(await documents.findOne({ _id: 1 })).toEqual({ _id: 1 })
      await client.db().dropDatabase()
      await client.close()
    },
    RESTART_MS,
  )
})

realSuite(KEYCLOAK, "the Keycloak of the ring", (keycloak) => {
  const issuer = `${keycloak.url}/realms/${REALM.name}`

  const token = async (form: Readonly<Record<string, string>>) => {
    const answer = await fetch(`${issuer}/protocol/openid-connect/token`, {
      method: "POST",
      body: new URLSearchParams(form),
    })
    return { status: answer.status, body: (await answer.json()) as Readonly<Record<string, unknown>> }
  }

  test("serves the realm under the address the suites use", async () => {
    const discovery = (await (await fetch(`${issuer}/.well-known/openid-configuration`)).json()) as { issuer: string }
    expect(discovery.issuer).toBe(issuer)
  })

  test("knows the user, the two clients and the administrator", async () => {
    const user = { client_id: REALM.webClient.id, ...REALM.user, grant_type: "password" }
    const service = { client_id: REALM.serviceClient.id, grant_type: "client_credentials" }
    expect(await token(user)).toMatchObject({ status: 200, body: { token_type: "Bearer" } })
    expect(await token({ ...service, client_secret: REALM.serviceClient.secret })).toMatchObject({ status: 200 })
    expect(await token({ ...service, client_secret: "not-the-secret" })).toMatchObject({ status: 401 })
    const admin = await fetch(`${keycloak.url}/realms/master/protocol/openid-connect/token`, {
      method: "POST",
      body: new URLSearchParams({ client_id: "admin-cli", grant_type: "password", ...keycloak.admin }),
    })
    expect(admin.status).toBe(200)
  })
})

realSuite(NOMAD, "the Nomad of the ring", (nomad) => {
  test("has a leader", async () => {
    expect(await (await fetch(`${nomad.url}/v1/status/leader`)).json()).toMatch(/:\d+$/)
  })
})
