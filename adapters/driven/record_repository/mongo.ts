import { Effect, Layer } from "effect"
import type { Collection, Db } from "mongodb"
import { RecordNotFound } from "../../../domain/records/errors.ts"
import { type Fields, RecordRepository, type Stored } from "../../../domain/records/record_repository.ts"
import { MongoConnection } from "../mongo_connection.ts"
import { decodeFields, encodeFields, storedRecord } from "./stored_record.ts"

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

const recordsOf = (db: Db, collection: string): Collection<RecordDocument> => db.collection(collection)

const toStored = (document: RecordDocument): Stored => storedRecord(document._id, document.fields)

/**
 * Mints the next id. One minted for a create that then fails stays unused: a gap, never a duplicate.
 *
 * Past 2^53-1 the filter misses the sequence, the upsert meets the one that is there, and the server refuses.
 */
const nextId = async (db: Db, collection: string): Promise<number> => {
  const sequences = db.collection<Sequence>(SEQUENCES)
  const step = () =>
    sequences.findOneAndUpdate(
      { _id: collection, last: { $lt: Number.MAX_SAFE_INTEGER } },
      { $inc: { last: 1 } },
      { upsert: true, returnDocument: "after", projection: { last: 1 } },
    )
  const sequence = await step().catch((failure) => {
    // Of two first creates of a collection one makes the sequence; the other one finds it on the second try.
    if (isDuplicateKey(failure)) return step()
    throw failure
  })
  return (sequence as Sequence).last
}

const isDuplicateKey = (failure: unknown): boolean =>
  failure instanceof Error && "code" in failure && failure.code === DUPLICATE_KEY

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
        run(async (db) => {
          const document = { _id: await nextId(db, collection), fields: decodeFields(encodeFields(fields)) }
          await recordsOf(db, collection).insertOne(document)
          return toStored(document)
        }),
      remove: (collection, id) =>
        Effect.flatMap(
          run((db) => recordsOf(db, collection).findOneAndDelete({ _id: id })),
          found(collection),
        ),
      count: (collection) => run((db) => recordsOf(db, collection).countDocuments()),
      ping: Effect.asVoid(run((db) => db.command({ ping: 1 }))),
    })
  }),
)
