import { Data, Duration, Effect, Layer, Random, Schedule } from "effect"
import type { Collection, Db } from "mongodb"
import { RecordNotFound } from "../../../domain/records/errors.ts"
import { type Fields, RecordRepository, type Stored } from "../../../domain/records/record_repository.ts"
import type { StoreUnavailable } from "../../../domain/store_unavailable.ts"
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

/** What readiness counts in, beside the sequences of collections. */
const PROBE = "portolan.probe"

/** The server's code for a second document of one `_id` (mongodb.com/docs/manual/reference/error-codes). */
const DUPLICATE_KEY = 11000

/** The id is taken, or another first create of the collection made its sequence at the same time: the next try succeeds. */
class IdTaken extends Data.TaggedError("IdTaken")<{ readonly refusal: Error }> {}

/**
 * When to try again after {@link IdTaken}: at most 99 times, after a random part of 2, 4, ... 40 ms, so that those who met
 * at one id part. On MongoDB nobody waits, but where a sequence was restored from an old backup.
 */
const NEXT_TRY = Schedule.forever.pipe(
  Schedule.modifyDelay(({ attempt }) =>
    Effect.map(Random.next, (part) => Duration.millis(2 * Math.min(attempt, 20) * part)),
  ),
  Schedule.upTo({ times: 99 }),
)

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
  // With `upsert` and "after" there is always a document.
  return (sequence as Sequence).last
}

const isDuplicateKey = (failure: unknown): failure is Error =>
  failure instanceof Error && "code" in failure && failure.code === DUPLICATE_KEY

/** One try to store the fields under a new id. */
const insert = async (db: Db, collection: string, fields: Fields): Promise<RecordDocument | IdTaken> => {
  try {
    const document = { _id: await nextId(db, collection), fields }
    await recordsOf(db, collection).insertOne(document)
    return document
  } catch (failure) {
    if (isDuplicateKey(failure)) return new IdTaken({ refusal: failure })
    throw failure
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
 * A create or delete whose answer is lost fails, and may have been applied. A list makes the server pass over `start`
 * entries of its index, so a page far behind costs the server more; this process only waits.
 */
export const layer = Layer.effect(
  RecordRepository,
  Effect.gen(function* () {
    const { run } = yield* MongoConnection

    const create = (collection: string, fields: Fields): Effect.Effect<RecordDocument, StoreUnavailable> =>
      run((db) => insert(db, collection, fields)).pipe(
        Effect.flatMap((outcome) => (outcome instanceof IdTaken ? Effect.fail(outcome) : Effect.succeed(outcome))),
        Effect.retry({ while: (failure) => failure._tag === "IdTaken", schedule: NEXT_TRY }),
        Effect.catchTag("IdTaken", ({ refusal }) => run(() => Promise.reject(refusal))),
      )

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
      // Only what JSON keeps is stored, as in every other store, and later writes to the caller's fields do not reach it.
      create: (collection, fields) => Effect.map(create(collection, JSON.parse(JSON.stringify(fields))), toStored),
      remove: (collection, id) =>
        Effect.flatMap(
          run((db) => take(db, collection, id)),
          found(collection),
        ),
      count: (collection) => run((db) => recordsOf(db, collection).countDocuments()),
      ready: run(async (db) => {
        const sequences = db.collection<Sequence>(SEQUENCES)
        await sequences.updateOne({ _id: PROBE }, { $inc: { last: 1 } }, { upsert: true }).catch((failure) => {
          // Another instance made the document at the same time, so writes succeed.
          if (!isDuplicateKey(failure)) throw failure
        })
      }),
    })
  }),
)
