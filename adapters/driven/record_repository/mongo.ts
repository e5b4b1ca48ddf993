import { Effect, Layer } from "effect"
import type { Collection, Db } from "mongodb"
import { RecordNotFound } from "../../../domain/records/errors.ts"
import { type Fields, RecordRepository, type Stored } from "../../../domain/records/record_repository.ts"
import { MongoConnection } from "../mongo_connection.ts"

/** A record as kept. The fields lie one level down, so that none of them can ever be taken for `_id`. */
interface RecordDocument {
  readonly _id: number
  readonly fields: Fields
}

/** Last id given out in the collection named by `_id`. */
interface Sequence {
  readonly _id: string
  readonly last: number
}

/** No record collection can have this name: theirs hold no dot. */
const SEQUENCES = "portolan.sequences"

const DUPLICATE_KEY = 11000

/** Ids a create tries at most. On MongoDB the first one is free, but for a sequence restored from an old backup. */
const ATTEMPTS_MAX = 100

const recordsOf = (db: Db, collection: string): Collection<RecordDocument> => db.collection(collection)

const toStored = (document: RecordDocument): Stored => ({ id: document._id, ...document.fields })

/**
 * Mints the next id. One minted for a create that then fails stays unused: a gap, never a duplicate.
 *
 * Past 2^53-1 the filter misses the sequence, the upsert meets the one that is there, and the server refuses.
 */
const nextId = async (db: Db, collection: string): Promise<number> => {
  const sequence = await db
    .collection<Sequence>(SEQUENCES)
    .findOneAndUpdate(
      { _id: collection, last: { $lt: Number.MAX_SAFE_INTEGER } },
      { $inc: { last: 1 } },
      { upsert: true, returnDocument: "after" },
    )
  return (sequence as Sequence).last
}

/** Two first creates of a collection may both try to make its sequence, or an id may be taken: the next try succeeds. */
const isDuplicateKey = (failure: unknown): boolean =>
  failure instanceof Error && "code" in failure && failure.code === DUPLICATE_KEY

/** Keeps those apart who met at one id, the more the longer they meet; on MongoDB nobody does. */
const apart = (attempt: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, 2 * Math.min(attempt, 20) * Math.random()))

const insert = async (db: Db, collection: string, fields: Fields): Promise<RecordDocument> => {
  for (let attempt = 1; ; attempt++)
    try {
      const document = { _id: await nextId(db, collection), fields }
      await recordsOf(db, collection).insertOne(document)
      return document
    } catch (failure) {
      if (!isDuplicateKey(failure) || attempt === ATTEMPTS_MAX) throw failure
      await apart(attempt)
    }
}

/**
 * Removes a record. What was read is what is removed: records never change and ids never come back. Of several callers
 * the one that deleted wins; unlike `findOneAndDelete`, that is atomic on every server that speaks the protocol.
 */
const take = async (db: Db, collection: string, id: number): Promise<RecordDocument | null> => {
  const document = await recordsOf(db, collection).findOne({ _id: id })
  if (document === null) return null
  const { deletedCount } = await recordsOf(db, collection).deleteOne({ _id: id })
  return deletedCount === 1 ? document : null
}

const found = (collection: string) => (document: RecordDocument | null) =>
  document === null ? Effect.fail(new RecordNotFound({ collection })) : Effect.succeed(toStored(document))

/**
 * Records in MongoDB: a create is acknowledged by the majority of the replica set, several services may share a database.
 *
 * A create or delete whose answer is lost fails, and may have been applied.
 */
export const layer = Layer.effect(
  RecordRepository,
  Effect.gen(function* () {
    const { run } = yield* MongoConnection
    return RecordRepository.of({
      list: (collection, { start, limit }) =>
        // To MongoDB a limit of 0 means "no limit".
        limit === 0
          ? Effect.succeed([])
          : run(async (db) => {
              const cursor = recordsOf(db, collection).find({}, { sort: { _id: 1 }, skip: start, limit })
              return (await cursor.toArray()).map(toStored)
            }),
      get: (collection, id) =>
        Effect.flatMap(
          run((db) => recordsOf(db, collection).findOne({ _id: id })),
          found(collection),
        ),
      create: (collection, fields) =>
        Effect.map(
          run((db) => insert(db, collection, JSON.parse(JSON.stringify(fields)))),
          toStored,
        ),
      remove: (collection, id) =>
        Effect.flatMap(
          run((db) => take(db, collection, id)),
          found(collection),
        ),
      count: (collection) => run((db) => recordsOf(db, collection).countDocuments()),
      ping: Effect.asVoid(run((db) => db.command({ ping: 1 }))),
    })
  }),
)
