// What the MongoDB connection promises where no server is needed: pool sizes, and errors without the password.
import { describe, expect, test } from "bun:test"
import { inspect } from "node:util"
import { Effect, Layer, Redacted } from "effect"
import { layer, poolOptions } from "../../adapters/driven/mongo_connection.ts"
import { mongoUrlMistake } from "../../adapters/driven/mongo_url.ts"
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

describe("what is wrong with a connection string", () => {
  const ENCODING = /^has a character in its user name or password that must be percent-encoded/
  test.each([
    ["", "must begin with mongodb:// or mongodb+srv://"],
    ["postgres://alice:s3cret@127.0.0.1/db", "must begin with mongodb:// or mongodb+srv://"],
    ["mongodb://alice:s3cret@", "has no host name at host 1"],
    ["mongodb://a,,b", "has no host name at host 2"],
    ["mongodb://a,b b/db", "has a wrong host name at host 2"],
    ["mongodb://alice:s3@cret@127.0.0.1/db", ENCODING],
    ["mongodb://alice:s3/cret@127.0.0.1/db", ENCODING],
    ["mongodb://alice:s3?cret@127.0.0.1/db", ENCODING],
    ["mongodb://alice:12/s3cret@127.0.0.1/db", ENCODING],
    ["mongodb://alice:s3%cret@127.0.0.1/db", ENCODING],
    ["mongodb://alice:s3cret@127.0.0.1:port/db", "has a wrong port at host 1: it must be a number from 1 to 65535"],
    ["mongodb://alice:s3cret@a:1,b:70000/db", "has a wrong port at host 2: it must be a number from 1 to 65535"],
    ["mongodb://alice:s3cret@a:/db", "has a wrong port at host 1: it must be a number from 1 to 65535"],
    ["mongodb+srv://a.example:27017/db", "must name one host without a port with mongodb+srv"],
    ["mongodb://alice:s3cret@127.0.0.1/d%ZZb", "has a wrong database name"],
    ["mongodb://alice:s3cret@127.0.0.1/d.b", "has a wrong database name"],
    ["mongodb://h/db?retryWrties=true", "has the option 'retryWrties', which the driver does not know"],
    ["mongodb://h/db?maxPoolSize=s3cret", "has a wrong value for the option 'maxPoolSize'"],
    ["mongodb://h/db?authMechanism=s3cret", "has a wrong value for the option 'authMechanism'"],
    ["mongodb://alice:s3cret@127.0.0.1/db?s3cret=1", "has an option, which the driver does not know"],
  ])("is told by its part: %s", async (url, rule) => {
    const mistake = await mongoUrlMistake(url)
    expect(mistake).toMatch(rule)
    expect(mistake).not.toMatch(/s3|cret|alice/)
  })

  test.each([
    "mongodb://127.0.0.1",
    "mongodb://alice:s3%40cret@a:27017,[::1]:27018/db?replicaSet=rs0&retryWrites=false",
    "mongodb+srv://alice:s3cret@cluster.example.com/?appName=a",
  ])("is nothing for %s", async (url) => {
    expect(await mongoUrlMistake(url)).toBeUndefined()
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
