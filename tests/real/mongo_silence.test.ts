// A server that takes operations and says nothing: every caller is told so within 20 s, those that wait behind others too.
import { expect, test } from "bun:test"
import { join } from "node:path"
import { Context, Effect, Layer, Redacted } from "effect"
import * as connection from "../../adapters/driven/mongo_connection.ts"
import * as mongoRecords from "../../adapters/driven/record_repository/mongo.ts"
import { RecordRepository } from "../../domain/records/record_repository.ts"
import { MONGODB, realSuite } from "../support/real_servers.ts"

const PROMISED_MS = 20_000
/** When the second wave of calls begins: behind the first, and long before that has failed. */
const LATER_MS = 6_000

realSuite(MONGODB, "a MongoDB that falls silent", (server) => {
  test(
    "every operation fails within 20 s of its call, and succeeds when the server speaks again",
    async () => {
      const [, host = "", port = "27017"] = /^mongodb:\/\/(?:[^@/]*@)?([^:/,?]+)(?::(\d+))?/.exec(server.url) ?? []
      const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => {} } })
      const from = listener.port
      listener.stop(true)
      const program = join(import.meta.dir, "../support/tcp_relay.process.ts")
      const relay = Bun.spawn([process.execPath, program, String(from), host, port], {
        stdio: ["ignore", "pipe", "inherit"],
      })
      await relay.stdout.getReader().read()
      const url = server
        .database(`portolan_silence_${process.pid}`)
        .replace(/(?<=\/\/|@)[^@/]+(?=\/)/, `127.0.0.1:${from}`)
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
        relay.kill("SIGSTOP")
        const waves = yield* Effect.all([wave, Effect.delay(wave, LATER_MS)], { concurrency: 2 })
        relay.kill("SIGCONT")
        yield* Effect.eventually(repository.create("c", {}))
        return waves.flat()
      })
      const outcomes = await Effect.runPromise(Effect.scoped(calls)).finally(() => relay.kill("SIGKILL"))
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(outcomes.map(() => "Failure"))
      expect(Math.max(...outcomes.map(({ tookMs }) => tookMs))).toBeLessThan(PROMISED_MS)
    },
    5 * PROMISED_MS,
  )
})
