// Creates and deletes, mixed, while now the server and now the process that calls it is killed: again and again.
import { expect, test } from "bun:test"
import {
  broken,
  keptIds,
  mongoRecordsIn,
  moreCreates,
  NOTHING_BROKEN,
  nothingTold,
  startWriter,
} from "../support/killed_writers.ts"
import { ownDatabase } from "../support/mongo_database.ts"
import { KILLABLE_MONGODB, realSuite } from "../support/real_servers.ts"

const ROUNDS = 50
/** Acknowledged creates between two kills. */
const CREATES = 20
/** Every so many rounds the process is killed rather than the server. */
const PROCESS_EVERY = 5
/** Longest that a round may take on a machine under heavy load; a second or two when it is idle. */
const ROUND_MS = 20_000

realSuite(KILLABLE_MONGODB, "creates and deletes while MongoDB and its callers are killed", (server) => {
  ownDatabase(server, "kills")
  const url = server.database(`portolan_kills_${process.pid}`)

  test(
    `no id twice, order kept, nothing acknowledged lost, over ${ROUNDS} kills`,
    async () => {
      const told = nothingTold()
      // Only a server that counts atomically may have two writers.
      const names = server.atomicUpdates ? ["one", "other"] : ["one"]
      const writers = await Promise.all(names.map((name) => startWriter(url, name, told)))
      try {
        for (let round = 1; round <= ROUNDS; round++) {
          await moreCreates(told, CREATES)
          const killed = round % PROCESS_EVERY === 0 ? writers[round % writers.length] : undefined
          if (killed === undefined) {
            await server.kill()
            await server.start()
          } else {
            await killed.kill()
            await killed.start()
          }
        }
        await moreCreates(told, CREATES)
      } finally {
        await Promise.all(writers.map(({ kill }) => kill()))
      }

      expect(told.created.length).toBeGreaterThan(ROUNDS * CREATES)
      expect(told.deleted.size).toBeGreaterThan(ROUNDS)
      expect(broken(told, await keptIds(mongoRecordsIn(server, url)))).toEqual(NOTHING_BROKEN)
    },
    ROUNDS * ROUND_MS,
  )
})
