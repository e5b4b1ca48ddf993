// After the death of its server under load, every connection comes back by itself: the driver alone does not, under Bun.
import { expect, test } from "bun:test"
import { Context, Effect, Layer, Redacted } from "effect"
import { layer, MongoConnection } from "../../adapters/driven/mongo_connection.ts"
import { MONGODB, realSuite } from "../support/real_servers.ts"
import { mongoPlace, startRelay } from "../support/relay.ts"

const CONNECTIONS = 6
const LANES = 4
const SELECTION_MS = 500
const BACK_WITHIN_MS = 15_000
/** Within 500 ms of a heartbeat the driver asks for no other one, and no question could be cut off. */
const HEARTBEAT_REST_MS = 700

realSuite(MONGODB, "connections to a MongoDB that dies under load", (server) => {
  test("all take operations again", async () => {
    const relay = await startRelay(mongoPlace(server.url))
    const url = mongoPlace(server.database(`portolan_reconnection_${process.pid}`)).through(relay.port)
    const connection = layer({
      url: Redacted.make(url),
      maxOpenConnections: undefined,
      maxIdleConnections: undefined,
      serverSelectionMs: SELECTION_MS,
    })
    const program = Effect.gen(function* () {
      const connections = yield* Effect.forEach(Array.from({ length: CONNECTIONS }), () =>
        Effect.map(Layer.build(Layer.fresh(connection)), (context) => Context.get(context, MongoConnection)),
      )
      const ping = ({ run }: MongoConnection["Service"]) => run((db) => db.command({ ping: 1 }))
      yield* Effect.forEach(
        connections.flatMap((each) => Array.from({ length: LANES }, () => each)),
        (each) => Effect.forkScoped(Effect.forever(Effect.ignore(ping(each)))),
      )
      yield* Effect.promise(async () => {
        await Bun.sleep(HEARTBEAT_REST_MS)
        await relay.away()
        await Bun.sleep(2 * SELECTION_MS)
        await relay.back()
      })
      const back = (each: MongoConnection["Service"]) =>
        Effect.timeoutOption(Effect.eventually(ping(each)), BACK_WITHIN_MS)
      return yield* Effect.forEach(connections, back, { concurrency: "unbounded" })
    })
    const answers = await Effect.runPromise(Effect.scoped(program)).finally(() => relay.stop())
    expect(answers.map((each) => each._tag)).toEqual(Array.from({ length: CONNECTIONS }, () => "Some"))
  })
})
