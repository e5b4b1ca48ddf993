// The MongoDB of the ring is what the suites take it for.
import { afterAll, beforeAll, expect, test } from "bun:test"
import { MongoClient } from "mongodb"
import { KILLABLE_MONGODB, MONGODB, realSuite } from "../support/real_servers.ts"

const DATABASE = `portolan_ring_${process.pid}`

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
  test("comes back with what it had acknowledged", async () => {
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
  })
})
