// Batches in MongoDB: what a process that was killed left open, what the server refuses in the midst, and keys that are old.
import { expect, test } from "bun:test"
import { Context, Effect, Layer, type Scope } from "effect"
import type { Db } from "mongodb"
import * as connection from "../../adapters/driven/mongo_connection.ts"
import * as mongoRecords from "../../adapters/driven/record_repository/mongo.ts"
import type { BatchDocument, KeyDocument } from "../../adapters/driven/record_repository/mongo_batches.ts"
import { type CreateKey, KEY_LIFE_MS, KEYS_MAX } from "../../domain/records/create_key.ts"
import { RecordRepository } from "../../domain/records/record_repository.ts"
import { ownDatabase } from "../support/mongo_database.ts"
import { MONGODB, realSuite } from "../support/real_servers.ts"

/** Longest that a test may take: a real server on a machine under heavy load is slow. */
const SUITE_MS = 60_000
/** FerretDB reads all keys to find the old ones: seconds for ten thousand of them. */
const FORGETTING_MS = 300_000
const ALL = { start: 0, limit: 1000 }
const KEY: CreateKey = { caller: "alice", key: "k", digest: "d", atMs: Date.now() }
const PAST = new Date(Date.now() - 1000)
const FUTURE = new Date(Date.now() + 3_600_000)

realSuite(MONGODB, "batches in MongoDB", (server) => {
  const database = ownDatabase(server, "batches_left")

  /** A repository of a process of its own, so to say: it ends what others left when it is opened. */
  const open = Effect.gen(function* () {
    const real = Context.get(yield* Layer.build(database), connection.MongoConnection)
    const shared = Layer.succeed(connection.MongoConnection, real)
    const documents = <A>(work: (db: Db) => Promise<A>) => real.run(work)
    const start = Effect.gen(function* () {
      const records = mongoRecords.layer({ singleWriter: !server.atomicUpdates })
      return Context.get(yield* Layer.build(Layer.fresh(Layer.provide(records, shared))), RecordRepository)
    })
    return { start, documents }
  })
  const promises = (
    promise: string,
    program: (opened: Effect.Success<typeof open>, collection: string) => Effect.Effect<unknown, unknown, Scope.Scope>,
    longestMs = SUITE_MS,
  ): void => {
    const collection = promise.replace(/[^a-z]+/g, "_")
    test(
      promise,
      () => Effect.runPromise(Effect.scoped(Effect.flatMap(open, (each) => Effect.asVoid(program(each, collection))))),
      longestMs,
    )
  }

  const batchesOf = (db: Db) => db.collection<BatchDocument>("portolan.batches")
  const keysOf = (db: Db) => db.collection<KeyDocument>("portolan.keys")
  const nameOf = (collection: string) => JSON.stringify([collection, KEY.caller, KEY.key])

  const keyOf = (collection: string, more: Partial<KeyDocument> = {}): KeyDocument => ({
    _id: nameOf(collection),
    collection,
    caller: KEY.caller,
    digest: KEY.digest,
    first: 11,
    at: new Date(KEY.atMs),
    ...more,
  })

  /** What a process leaves that is killed after it has inserted the first of five records. */
  const leave = (collection: string, until: Date, keyed: boolean) => async (db: Db) => {
    await batchesOf(db).insertOne({
      _id: keyed ? nameOf(collection) : `${collection} left`,
      collection,
      first: 11,
      last: 15,
      records: JSON.stringify([0, 1, 2, 3, 4].map((at) => ({ at }))),
      until,
      ...(keyed ? { key: keyOf(collection) } : {}),
    })
    await db
      .collection<{ _id: number; fields: object }>(collection)
      .insertMany([11, 12].map((_id) => ({ _id, fields: { at: _id - 11 } })))
  }

  for (const keyed of [false, true])
    promises(
      `left open by a process that was killed ${keyed ? "with" : "without"} a key`,
      ({ start, documents }, name) =>
        Effect.gen(function* () {
          yield* documents(leave(name, PAST, keyed))
          // Deleted by another process since.
          yield* documents((db) => db.collection<{ _id: number }>(name).deleteOne({ _id: 11 }))
          const repository = yield* start
          const kept = [1, 2, 3, 4].map((at) => ({ id: 11 + at, at }))
          expect<unknown>(yield* repository.list(name, ALL)).toEqual(kept)
          if (keyed) expect(yield* repository.createAll(name, [{}], KEY)).toEqual({ firstId: 11, firstAtMs: KEY.atMs })
          expect(yield* documents((db) => batchesOf(db).countDocuments({ collection: name }))).toBe(0)
          expect((yield* repository.create(name, {})).id).toBeGreaterThan(15)
        }),
    )

  promises("of another process are its own until their time is over", ({ start, documents }, name) =>
    Effect.gen(function* () {
      const repository = yield* start
      yield* documents(leave(name, FUTURE, true))
      expect(yield* Effect.flip(repository.createAll(name, [{}], KEY))).toMatchObject({ _tag: "KeyInUse" })
      const other = { ...KEY, digest: "another" }
      expect(yield* Effect.flip(repository.createAll(name, [{}], other))).toMatchObject({ _tag: "KeyReused" })
      expect(yield* repository.count(name)).toBe(2)
      yield* documents((db) => batchesOf(db).updateOne({ _id: nameOf(name) }, { $set: { until: PAST } }))
      expect(yield* repository.createAll(name, [{}], KEY)).toEqual({ firstId: 11, firstAtMs: KEY.atMs })
      expect(yield* repository.count(name)).toBe(5)
    }),
  )

  promises("with a record that cannot be stored leave none", ({ start, documents }, name) =>
    Effect.gen(function* () {
      const repository = yield* start
      // FerretDB refuses an array inside an array when it inserts; MongoDB takes it, and refuses 17 MiB.
      const bad = server.atomicUpdates ? { text: "x".repeat(17 * 2 ** 20) } : { rows: [[1]] }
      for (const key of [undefined, KEY]) {
        const refusal = yield* Effect.flip(repository.createAll(name, [{ at: 0 }, { at: 1 }, bad, { at: 3 }], key))
        expect(refusal).toMatchObject({ _tag: "StoreUnavailable" })
        expect(yield* repository.count(name)).toBe(0)
        expect(yield* documents((db) => batchesOf(db).countDocuments({ collection: name }))).toBe(0)
      }
      const { firstId } = yield* repository.createAll(name, [{ at: 0 }, { at: 1 }], KEY)
      expect<unknown>(yield* repository.list(name, ALL)).toEqual([
        { id: firstId, at: 0 },
        { id: firstId + 1, at: 1 },
      ])
    }),
  )

  promises("that meet a taken id are stored with others", ({ start, documents }, name) =>
    Effect.gen(function* () {
      const repository = yield* start
      yield* repository.create(name, { first: true })
      // Another instance, on a server that lost its step.
      yield* documents((db) => db.collection<{ _id: number }>(name).insertOne({ _id: 4 }))
      const { firstId } = yield* repository.createAll(name, [{ at: 0 }, { at: 1 }, { at: 2 }], KEY)
      expect(firstId).toBeGreaterThan(4)
      expect(yield* repository.count(name)).toBe(5)
      expect(yield* repository.createAll(name, [{}], KEY)).toEqual({ firstId, firstAtMs: KEY.atMs })
    }),
  )

  promises(
    "forget keys that are old or too many",
    ({ start, documents }, name) =>
      Effect.gen(function* () {
        const aged = (ageMs: number, caller = KEY.caller) =>
          keyOf(name, { _id: `${name} ${caller} ${ageMs}`, caller, at: new Date(KEY.atMs - ageMs) })
        yield* documents(async (db) => {
          await keysOf(db).insertMany(Array.from({ length: KEYS_MAX }, (_, at) => aged(at + 1)))
          await keysOf(db).insertMany([aged(KEY_LIFE_MS, "bob"), aged(KEY_LIFE_MS - 1000, "bob")])
        })
        const repository = yield* start
        yield* repository.createAll(name, [{}], KEY)
        const left = (caller: string) => documents((db) => keysOf(db).countDocuments({ collection: name, caller }))
        // Forgetting goes on behind the answer.
        while ((yield* left("alice")) > KEYS_MAX) yield* Effect.sleep("1 second")
        expect([yield* left("alice"), yield* left("bob")]).toEqual([KEYS_MAX, 1])
      }),
    FORGETTING_MS,
  )
})
