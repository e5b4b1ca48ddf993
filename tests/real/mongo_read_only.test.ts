// A user who may only read: what reads goes on, what writes is refused, and the store is not ready until it takes a write.
import { expect, test } from "bun:test"
import { Context, Effect, Layer } from "effect"
import { RecordRepository } from "../../domain/records/record_repository.ts"
import { StoreUnavailable } from "../../domain/store_unavailable.ts"
import { mongoRecordsIn } from "../support/killed_writers.ts"
import { ownDatabase } from "../support/mongo_database.ts"
import { MONGODB, realSuite } from "../support/real_servers.ts"
import { mongoPlace } from "../support/relay.ts"
import { startUnwritableMongo } from "../support/unwritable_mongo.ts"

realSuite(MONGODB, "a MongoDB whose user may only read", (server) => {
  ownDatabase(server, "read_only")

  test("reads, refuses writes, is not ready; and recovers", async () => {
    const unwritable = await startUnwritableMongo(mongoPlace(server.url))
    const url = mongoPlace(server.database(`portolan_read_only_${process.pid}`)).through(unwritable.port)
    const calls = Effect.gen(function* () {
      const repository = Context.get(yield* Layer.build(mongoRecordsIn(server, url)), RecordRepository)
      const kept = yield* repository.create("c", {})
      unwritable.refuseWrites(true)
      const refusals = [repository.create("c", {}), repository.remove("c", kept.id), repository.ready]
      for (const each of refusals)
        expect(yield* Effect.flip<unknown, unknown, never>(each)).toBeInstanceOf(StoreUnavailable)
      expect<unknown>(yield* repository.list("c", { start: 0, limit: 10 })).toEqual([kept])
      unwritable.refuseWrites(false)
      yield* repository.ready
      expect((yield* repository.create("c", {})).id).toBeGreaterThan(kept.id)
    })
    await Effect.runPromise(Effect.scoped(calls)).finally(unwritable.stop)
  }, 60_000)
})
