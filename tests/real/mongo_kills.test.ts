// Creates and deletes, mixed, while now the server and now the process that calls it is killed: again and again.
import { expect, test } from "bun:test"
import { Context, Effect, Layer } from "effect"
import { RecordRepository } from "../../domain/records/record_repository.ts"
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
import { startRepository } from "../support/repository_process.ts"

const ROUNDS = 50
const REPLACE_ROUNDS = 15
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
    `a replaced record is as it was last acknowledged, or as one later, over ${REPLACE_ROUNDS} kills`,
    async () => {
      const writer = await startRepository(server.database(`portolan_kills_${process.pid}`), "counted")
      const acknowledged = new Map<number, number>()
      let told = 0
      let ended: unknown
      const listening = (async () => {
        for (;;) {
          const [id, at] = (await writer.next()) as [number, number]
          acknowledged.set(id, at)
          told++
        }
      })().catch((failure) => {
        ended = failure
      })
      const more = async (count: number) => {
        const wanted = told + count
        const deadline = performance.now() + 60_000
        while (told < wanted) {
          if (ended !== undefined || performance.now() > deadline) throw new Error(`No more replaces: ${ended}`)
          await Bun.sleep(5)
        }
      }
      writer.send("count 8")
      try {
        for (let round = 0; round < REPLACE_ROUNDS; round++) {
          await more(CREATES)
          await server.kill()
          await server.start()
        }
        await more(CREATES)
      } finally {
        await writer.kill()
        await listening
      }
      const kept = await Effect.runPromise(
        Effect.scoped(
          Effect.gen(function* () {
            const repository = Context.get(yield* Layer.build(mongoRecordsIn(server, url)), RecordRepository)
            return yield* repository.list("counted", { start: 0, limit: 1000 })
          }),
        ),
      )
      expect(acknowledged.size).toBe(8)
      for (const [id, at] of acknowledged)
        expect([at, at + 1]).toContain(Number(kept.find((record) => record.id === id)?.["at"]))
    },
    REPLACE_ROUNDS * ROUND_MS,
  )

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
