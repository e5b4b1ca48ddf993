// A key never makes two sets of records, and a batch is never there in part, whoever is killed at whatever moment.
import { expect, test } from "bun:test"
import { Layer } from "effect"
import * as sqliteRecords from "../../adapters/driven/record_repository/sqlite.ts"
import * as sqliteDatabase from "../../adapters/driven/sqlite_database.ts"
import { brokenKeys, killWithKeysInFlight, NO_BROKEN_KEYS } from "../support/killed_batches.ts"
import { mongoRecordsIn } from "../support/killed_writers.ts"
import { ownDatabase } from "../support/mongo_database.ts"
import { KILLABLE_MONGODB, realSuite } from "../support/real_servers.ts"
import { seededRandom } from "../support/seeded_random.ts"
import { ownFolder } from "../support/sqlite_file.ts"

const SQLITE_ROUNDS = 12
const MONGODB_ROUNDS = 15
/** Longest that a round may take on a machine under heavy load; a second or two when it is idle. */
const ROUND_MS = 20_000
/** Longest time from the last answer of a round to its kill, milliseconds. */
const LIFE_MS = 40

const { newPath } = ownFolder()
const { random, seed } = seededRandom()

test(
  `sqlite: one set of records for a key, over ${SQLITE_ROUNDS} kills of its process, SEED=${seed}`,
  async () => {
    const path = newPath()
    const account = await killWithKeysInFlight(
      path,
      SQLITE_ROUNDS,
      async (_round, process) => {
        await process.kill()
        return "process"
      },
      () => random() * LIFE_MS,
    )
    expect(account.cutOff.size).toBeGreaterThan(SQLITE_ROUNDS)
    const records = Layer.provide(sqliteRecords.layer, sqliteDatabase.layer({ path }))
    expect(await brokenKeys(account, records)).toEqual(NO_BROKEN_KEYS)
  },
  SQLITE_ROUNDS * ROUND_MS,
)

realSuite(KILLABLE_MONGODB, "keys and batches while MongoDB and its caller are killed", (server) => {
  ownDatabase(server, "keyed")
  const url = server.database(`portolan_keyed_${process.pid}`)

  test(
    `one set of records for a key, over ${MONGODB_ROUNDS} kills, SEED=${seed}`,
    async () => {
      const account = await killWithKeysInFlight(
        url,
        MONGODB_ROUNDS,
        async (round, process) => {
          if (round % 3 !== 0) {
            await process.kill()
            return "process"
          }
          await server.kill()
          await server.start()
          return "server"
        },
        () => random() * LIFE_MS,
      )
      expect(account.cutOff.size).toBeGreaterThan(MONGODB_ROUNDS)
      expect(await brokenKeys(account, mongoRecordsIn(server, url))).toEqual(NO_BROKEN_KEYS)
    },
    MONGODB_ROUNDS * ROUND_MS,
  )
})
