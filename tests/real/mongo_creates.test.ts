// Creates that wait together: one round on the server, an outcome for each, and ids that never come back.
import { afterAll, expect, test } from "bun:test"
import { Context, Effect, Layer, Redacted, type Scope } from "effect"
import type { Db } from "mongodb"
import * as connection from "../../adapters/driven/mongo_connection.ts"
import * as mongoRecords from "../../adapters/driven/record_repository/mongo.ts"
import { type Fields, RecordRepository } from "../../domain/records/record_repository.ts"
import { ownDatabase } from "../support/mongo_database.ts"
import { MONGODB, realSuite } from "../support/real_servers.ts"
import { endProcesses, runProcess, serveEnvironment } from "../support/service_process.ts"

/** Longest that a test may take: a real server on a machine under heavy load is slow. */
const SUITE_MS = 60_000
const ALL = { start: 0, limit: 1000 }

const atOnce = <A, E>(effects: ReadonlyArray<Effect.Effect<A, E>>) => Effect.all(effects, { concurrency: "unbounded" })
const numbered = (count: number): ReadonlyArray<Fields> => Array.from({ length: count }, (_, at) => ({ at }))

realSuite(MONGODB, "creates in MongoDB that wait together", (server) => {
  const database = ownDatabase(server, "creates")
  afterAll(endProcesses)

  /** A repository of a process of its own, so to say: it remembers nothing of another. `runs` counts its rounds. */
  const open = Effect.gen(function* () {
    const { MongoConnection } = connection
    const real = Context.get(yield* Layer.build(database), MongoConnection)
    let runs = 0
    const counted = MongoConnection.of({
      ...real,
      run: (operations) => {
        runs++
        return real.run(operations)
      },
    })
    const records = mongoRecords.layer({ singleWriter: !server.atomicUpdates })
    const context = yield* Layer.build(Layer.fresh(Layer.provide(records, Layer.succeed(MongoConnection, counted))))
    return {
      repository: Context.get(context, RecordRepository),
      runs: () => runs,
      documents: <A>(work: (db: Db) => Promise<A>) => real.run(work),
    }
  })
  const promises = (
    promise: string,
    program: (opened: Effect.Success<typeof open>, collection: string) => Effect.Effect<unknown, unknown, Scope.Scope>,
  ): void => {
    const collection = promise.replace(/[^a-z]+/g, "_")
    test(
      promise,
      () => Effect.runPromise(Effect.scoped(Effect.flatMap(open, (each) => Effect.asVoid(program(each, collection))))),
      SUITE_MS,
    )
  }

  const setSequence = (collection: string, last: number) => (db: Db) =>
    db
      .collection<{ _id: string; last: number }>("portolan.sequences")
      .updateOne({ _id: collection }, { $set: { last } })

  promises("take one round, and ids in the order of their calls", ({ repository, runs }, collection) =>
    Effect.gen(function* () {
      const before = runs()
      const created = yield* atOnce(numbered(64).map((fields) => repository.create(collection, fields)))
      expect(runs() - before).toBe(1)
      expect<unknown>(created).toEqual(numbered(64).map((fields, at) => ({ id: at + 1, ...fields })))
      expect<unknown>(yield* repository.list(collection, ALL)).toEqual(created)
    }),
  )

  promises("a record that cannot be stored is refused alone", ({ repository }, collection) =>
    Effect.gen(function* () {
      const tooLarge = { text: "x".repeat(17 * 2 ** 20) }
      // FerretDB refuses an array inside an array when it inserts, MongoDB takes it.
      const nested = { rows: [[1]] }
      const outcomes = yield* atOnce(
        [...numbered(5), tooLarge, ...numbered(5), nested, ...numbered(5)].map((fields) =>
          Effect.result(repository.create(collection, fields)),
        ),
      )
      const refused = outcomes.flatMap((each, at) => (each._tag === "Failure" ? [at] : []))
      expect(refused).toEqual(server.atomicUpdates ? [5] : [5, 11])
      for (const each of outcomes)
        if (each._tag === "Failure") expect(each.failure).toMatchObject({ _tag: "StoreUnavailable" })
      const created = outcomes.flatMap((each) => (each._tag === "Success" ? [each.success] : []))
      expect<unknown>(yield* repository.list(collection, ALL)).toEqual(created)
    }),
  )

  promises("meet ids that are taken in the midst, and are all stored", ({ repository, documents }, collection) =>
    Effect.gen(function* () {
      yield* repository.create(collection, { first: true })
      // Another instance, on a server that lost its step.
      yield* documents((db) => db.collection<{ _id: number }>(collection).insertOne({ _id: 4 }))
      const created = yield* atOnce(numbered(6).map((fields) => repository.create(collection, fields)))
      // 2 to 7 were given, and those behind the one that is taken are given anew.
      expect(created.map(({ id }) => id)).toEqual([2, 3, 8, 9, 10, 11])
      expect(yield* repository.count(collection)).toBe(8)
    }),
  )

  promises("give no deleted id again when the sequence lags", ({ repository, documents }, collection) =>
    Effect.gen(function* () {
      yield* atOnce(numbered(6).map((fields) => repository.create(collection, fields)))
      for (const id of [2, 6]) yield* repository.remove(collection, id)
      yield* documents(setSequence(collection, 1))
      // This process remembers 6 ...
      expect((yield* repository.create(collection, {})).id).toBe(7)
      yield* documents(setSequence(collection, 1))
      // ... and another one finds 7 in the collection.
      const other = yield* open
      expect((yield* other.repository.create(collection, {})).id).toBe(8)
    }),
  )

  promises("of several instances at once, deleting meanwhile", ({ repository }, collection) =>
    Effect.gen(function* () {
      // Only a server that counts atomically may have more than one writer.
      const writers = [repository, ...(server.atomicUpdates ? [(yield* open).repository] : [])]
      const given: Array<number> = []
      const lane = (writer: typeof repository) =>
        Effect.gen(function* () {
          for (let turn = 0; turn < 20; turn++) {
            const { id } = yield* writer.create(collection, {})
            given.push(id)
            yield* writer.remove(collection, id)
          }
        })
      yield* atOnce(writers.flatMap((writer) => Array.from({ length: 16 }, () => lane(writer))))
      expect(new Set(given).size).toBe(writers.length * 16 * 20)
      expect(yield* repository.count(collection)).toBe(0)
    }),
  )

  test(
    "a server that loses increments is refused at start, unless there is a single writer",
    async () => {
      const url = server.database(`portolan_creates_${process.pid}`)
      const opened = (singleWriter: boolean) =>
        Effect.runPromise(
          Effect.scoped(
            Effect.result(
              Layer.build(
                Layer.provide(
                  mongoRecords.layer({ singleWriter }),
                  connection.layer({
                    url: Redacted.make(url),
                    maxOpenConnections: undefined,
                    maxIdleConnections: undefined,
                  }),
                ),
              ),
            ),
          ),
        )
      expect((await opened(true))._tag).toBe("Success")
      expect((await opened(false))._tag).toBe(server.atomicUpdates ? "Success" : "Failure")
      if (server.atomicUpdates) return
      const environment = { ...serveEnvironment(), STORE: "mongo", MONGODB_URL: url }
      const { code, stderr } = await runProcess(["serve"], environment)
      expect(code).toBe(1)
      expect(stderr).toContain("loses increments ($inc)")
      expect(stderr).toContain("MONGODB_SINGLE_WRITER=true")
    },
    SUITE_MS,
  )
})
