// A server that takes operations and says nothing: every caller is told so within 20 s, those that wait behind others too.
import { expect, test } from "bun:test"
import { Context, Effect, Layer, Redacted } from "effect"
import * as connection from "../../adapters/driven/mongo_connection.ts"
import * as mongoRecords from "../../adapters/driven/record_repository/mongo.ts"
import { RecordRepository } from "../../domain/records/record_repository.ts"
import { MONGODB, realSuite } from "../support/real_servers.ts"
import { mongoPlace, startRelay } from "../support/relay.ts"

const PROMISED_MS = 20_000
/** When the second wave of calls begins: behind the first, and long before that has failed. */
const LATER_MS = 6_000

realSuite(MONGODB, "a MongoDB that falls silent", (server) => {
  test(
    "every operation fails within 20 s of its call, and succeeds when the server speaks again",
    async () => {
      const relay = await startRelay(mongoPlace(server.url))
      const url = mongoPlace(server.database(`portolan_silence_${process.pid}`)).through(relay.port)
      const layer = Layer.provide(
        mongoRecords.layer({ singleWriter: !server.atomicUpdates }),
        connection.layer({ url: Redacted.make(url), maxOpenConnections: 4, maxIdleConnections: undefined }),
      )
      const calls = Effect.gen(function* () {
        const repository = Context.get(yield* Layer.build(layer), RecordRepository)
        const { id } = yield* repository.create("c", {})
        const timed = <A, E>(operation: Effect.Effect<A, E>) =>
          Effect.gen(function* () {
            const startedAt = performance.now()
            const outcome = yield* Effect.result(operation)
            return { outcome: outcome._tag, tookMs: performance.now() - startedAt }
          })
        const wave = Effect.all(
          [
            repository.create("c", {}),
            repository.create("c", {}),
            repository.get("c", id),
            repository.list("c", { start: 0, limit: 10 }),
            repository.remove("c", id),
            repository.count("c"),
            repository.ready,
          ].map((operation) => timed<unknown, unknown>(operation)),
          { concurrency: "unbounded" },
        )
        relay.silent()
        const waves = yield* Effect.all([wave, Effect.delay(wave, LATER_MS)], { concurrency: 2 })
        yield* Effect.promise(relay.back)
        yield* Effect.eventually(repository.create("c", {}))
        return waves.flat()
      })
      const outcomes = await Effect.runPromise(Effect.scoped(calls)).finally(() => relay.stop())
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(outcomes.map(() => "Failure"))
      expect(Math.max(...outcomes.map(({ tookMs }) => tookMs))).toBeLessThan(PROMISED_MS)
    },
    5 * PROMISED_MS,
  )
})
