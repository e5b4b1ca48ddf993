// Creates and deletes, mixed, while now the server and now the process that calls it is killed: again and again.
import { expect, test } from "bun:test"
import { Context, Effect, Layer } from "effect"
import * as mongoRecords from "../../adapters/driven/record_repository/mongo.ts"
import { RecordRepository } from "../../domain/records/record_repository.ts"
import { ownDatabase } from "../support/mongo_database.ts"
import { KILLABLE_MONGODB, realSuite } from "../support/real_servers.ts"
import { type RepositoryProcess, startRepository } from "../support/repository_process.ts"

const ROUNDS = 50
const LANES = 8
/** Acknowledged creates between two kills. */
const CREATES = 20
/** Every so many rounds the process is killed rather than the server. */
const PROCESS_EVERY = 5
/** Longest that a round may take on a machine under heavy load; a second or two when it is idle. */
const ROUND_MS = 20_000
const COLLECTION = "churned"

/** What one writer was told, in the order in which it was told. */
interface Told {
  readonly created: Array<number>
  /** Ids by lane: a lane creates the next record only once it knows of the last one. */
  readonly byLane: Map<string, Array<number>>
  /** Deleted for certain. */
  readonly deleted: Set<number>
  /** Perhaps deleted: the delete was called. */
  readonly deleting: Set<number>
}

/** A writer that can be killed and started again; several processes of it, one after the other, write one account. */
const startWriter = async (url: string, name: string, told: Told) => {
  let child: RepositoryProcess
  let listening: Promise<void>
  const listen = async (process: RepositoryProcess) => {
    for (;;) {
      const line = await process.next().catch(() => undefined)
      if (line === undefined) return
      const [what, lane, id] = line as [string, number, number]
      if (what === "deleting") told.deleting.add(id)
      if (what === "deleted") told.deleted.add(id)
      if (what !== "created") continue
      told.created.push(id)
      const key = `${name} ${lane}`
      told.byLane.set(key, [...(told.byLane.get(key) ?? []), id])
    }
  }
  const start = async () => {
    child = await startRepository(url, COLLECTION)
    child.send(`churn ${LANES}`)
    listening = listen(child)
  }
  const kill = async () => {
    await child.kill()
    await listening
  }
  await start()
  return { start, kill }
}

realSuite(KILLABLE_MONGODB, "creates and deletes while MongoDB and its callers are killed", (server) => {
  const database = ownDatabase(server, "kills")
  const url = server.database(`portolan_kills_${process.pid}`)

  const everything = Effect.gen(function* () {
    const repository = yield* RecordRepository
    const ids: Array<number> = []
    for (;;) {
      const page = yield* repository.list(COLLECTION, { start: ids.length, limit: 1000 })
      if (page.length === 0) return ids
      ids.push(...page.map(({ id }) => id))
    }
  })
  const kept = () =>
    Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const records = mongoRecords.layer({ singleWriter: !server.atomicUpdates })
          const context = yield* Layer.build(Layer.provide(records, database))
          return yield* Effect.provideService(everything, RecordRepository, Context.get(context, RecordRepository))
        }),
      ),
    )

  test(
    `no id twice, order kept, nothing acknowledged lost, over ${ROUNDS} kills`,
    async () => {
      const told: Told = { created: [], byLane: new Map(), deleted: new Set(), deleting: new Set() }
      // Only a server that counts atomically may have two writers.
      const names = server.atomicUpdates ? ["one", "other"] : ["one"]
      const writers = await Promise.all(names.map((name) => startWriter(url, name, told)))
      const untilCreates = async (count: number) => {
        const deadline = performance.now() + ROUND_MS
        while (told.created.length < count) {
          if (performance.now() > deadline) throw new Error(`Waited in vain for ${count} creates`)
          await Bun.sleep(5)
        }
      }
      try {
        for (let round = 1; round <= ROUNDS; round++) {
          await untilCreates(told.created.length + CREATES)
          const killed = round % PROCESS_EVERY === 0 ? writers[round % writers.length] : undefined
          if (killed === undefined) {
            await server.kill()
            await server.start()
          } else {
            await killed.kill()
            await killed.start()
          }
        }
        await untilCreates(told.created.length + CREATES)
      } finally {
        await Promise.all(writers.map(({ kill }) => kill()))
      }

      expect(told.created.length).toBeGreaterThan(ROUNDS * CREATES)
      expect(told.deleted.size).toBeGreaterThan(ROUNDS)
      expect(new Set(told.created).size).toBe(told.created.length)
      for (const ids of told.byLane.values()) expect(ids).toEqual(ids.toSorted((a, b) => a - b))
      const ids = await kept()
      expect(ids).toEqual(ids.toSorted((a, b) => a - b))
      const found = new Set(ids)
      expect(told.created.filter((id) => !told.deleting.has(id) && !found.has(id))).toEqual([])
      expect([...told.deleted].filter((id) => found.has(id))).toEqual([])
    },
    ROUNDS * ROUND_MS,
  )
})
