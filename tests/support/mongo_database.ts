// A database of a suite's own on a real server, dropped when the suite is over.
import { afterAll } from "bun:test"
import { Redacted } from "effect"
import { MongoClient } from "mongodb"
import * as connection from "../../adapters/driven/mongo_connection.ts"
import type { MongoServer } from "./real_servers.ts"

/**
 * @param name tells the suite's database from others'
 * @returns the connection to it, as the service makes one
 */
export const ownDatabase = (server: MongoServer, name: string) => {
  const url = server.database(`portolan_${name}_${process.pid}`)
  afterAll(async () => {
    const client = new MongoClient(url)
    await client.db().dropDatabase()
    await client.close()
  })
  return connection.layer({ url: Redacted.make(url), maxOpenConnections: undefined, maxIdleConnections: undefined })
}
