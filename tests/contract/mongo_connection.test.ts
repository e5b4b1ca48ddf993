// What the MongoDB connection promises where no server is needed: pool sizes, and errors without the password.
import { describe, expect, test } from "bun:test"
import { inspect } from "node:util"
import { Effect, Layer, Redacted } from "effect"
import { layer, poolOptions } from "../../adapters/driven/mongo_connection.ts"
import { StoreUnavailable } from "../../domain/store_unavailable.ts"

const failureOf = (url: string): Promise<StoreUnavailable> => {
  const options = { url: Redacted.make(url), maxOpenConnections: undefined, maxIdleConnections: undefined }
  return Effect.runPromise(Effect.scoped(Effect.flip(Layer.build(layer({ ...options, serverSelectionMs: 100 })))))
}

/** Every way in which an error is written down. */
const writtenDown = (failure: Error): string =>
  [
    String(failure),
    failure.stack,
    JSON.stringify(failure),
    inspect(failure, { depth: 20 }),
    inspect(failure.cause),
  ].join()

const closedPort = (): number => {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => {} } })
  listener.stop(true)
  return listener.port
}

describe("a server that is away", () => {
  const host = `127.0.0.1:${closedPort()}`

  test.each([
    [
      `mongodb://alice:s3cret-w%40rd@${host}/catalogue?authSource=admin`,
      { user: "alice", host, database: "catalogue" },
    ],
    [`mongodb://alice:s3cret-w%40rd@${host}`, { user: "alice", host, database: "portolan" }],
    [`mongodb://alice:s3cret-w%40rd@${host}/?appName=x/y`, { user: "alice", host, database: "portolan" }],
    [
      "mongodb+srv://alice:s3cret-w%40rd@cluster.nowhere.invalid/catalogue",
      { user: "alice", host: "cluster.nowhere.invalid", database: "catalogue" },
    ],
    [`mongodb://${host},${host}/catalogue`, { user: "-", host: `${host},${host}`, database: "catalogue" }],
  ])("is named with user and database, never with the password: %#", async (url, store) => {
    const failure = await failureOf(url)
    expect(failure).toBeInstanceOf(StoreUnavailable)
    expect(failure.store).toEqual(store)
    expect(failure.message).toContain(`user '${store.user}' at '${store.host}', database '${store.database}'`)
    expect(writtenDown(failure)).not.toMatch(/s3cret|w%40rd|w@rd/)
  })
})

describe("a connection string that cannot be read", () => {
  test.each([
    "",
    "postgres://alice:s3cret@127.0.0.1/db",
    "mongodb://alice:s3cret@",
    "mongodb://alice:s3@cret@127.0.0.1/db",
    "mongodb://alice:s3/cret@127.0.0.1/db",
    "mongodb://alice:12/s3cret@127.0.0.1",
    "mongodb://alice:12/s3cret@127.0.0.1/db",
    "mongodb://alice:s3%cret@127.0.0.1/db",
    "mongodb://alice:s3cret@127.0.0.1:port/db",
    "mongodb://alice:s3cret@127.0.0.1/d%ZZb",
    "mongodb://alice:s3cret@127.0.0.1/d.b",
    "mongodb://alice:s3cret@127.0.0.1/db?authMechanism=s3cret",
    "mongodb://alice:s3cret@127.0.0.1/db?maxPoolSize=s3cret",
    "mongodb://alice:s3cret@127.0.0.1/db?s3cret=1",
  ])("is refused without quoting it: %#", async (url) => {
    const failure = await failureOf(url)
    expect(failure).toBeInstanceOf(StoreUnavailable)
    expect(failure.reason).toStartWith("the connection string cannot be read")
    expect(writtenDown(failure)).not.toMatch(/s3|cret|alice/)
  })
})

describe("poolOptions()", () => {
  test.each([
    [undefined, undefined, {}],
    [7, undefined, { maxPoolSize: 7 }],
    [undefined, 2, { minPoolSize: 2, maxIdleTimeMS: 10_000 }],
    [7, 2, { maxPoolSize: 7, minPoolSize: 2, maxIdleTimeMS: 10_000 }],
    [3, 9, { maxPoolSize: 3, minPoolSize: 3, maxIdleTimeMS: 10_000 }],
  ])("open %p, idle %p", (maxOpenConnections, maxIdleConnections, expected) => {
    expect(poolOptions({ maxOpenConnections, maxIdleConnections })).toEqual(expected)
  })
})
