// Creates that wait together share one step of their sequence and one ordered insert, as those of SQLite share a commit.
import { Data, Duration, Effect, Random, Schedule } from "effect"
import type { Collection, Db, MongoBulkWriteError } from "mongodb"
import { NotUnique } from "../../../domain/records/errors.ts"
import type { Fields, Stored } from "../../../domain/records/record_repository.ts"
import type { StoreUnavailable } from "../../../domain/store_unavailable.ts"
import { endOfTurn } from "../end_of_turn.ts"
import type { MongoConnection } from "../mongo_connection.ts"
import { type Ids, isDuplicateKey, type Sequences } from "./mongo_sequence.ts"

/** A record as kept. The fields lie one level down, so that none of them can ever be taken for `_id`. */
export interface RecordDocument {
  readonly _id: number
  readonly fields: Fields
}

/** A document as everybody but this adapter knows it. */
export const toStored = (document: RecordDocument): Stored => ({ id: document._id, ...document.fields })

/** The collection's documents; they have the name of the record collection. */
export const recordsOf = (db: Db, collection: string): Collection<RecordDocument> => db.collection(collection)

/** Finds the unique field of which another record has the value; mongo_unique.ts does. */
export type FindTaken = (
  db: Db,
  collection: string,
  id: number,
  fields: Fields,
  refusal: unknown,
) => Promise<string | undefined>

/** One create, from its call until it is told how it ended. */
interface Waiting {
  readonly fields: Fields
  readonly end: (outcome: Effect.Effect<RecordDocument, NotUnique | StoreUnavailable>) => void
  /** True once its caller has stopped waiting: it is then not begun. */
  left: boolean
}

/** Most creates that share one insert. Twice as many gain little, and a record may have a megabyte. */
const TOGETHER_MAX = 128

/**
 * When to try again after an id was taken: at most 99 times, after a random part of 2, 4, ... 40 ms, so that instances that
 * met at one id part. On MongoDB nobody waits, but where a sequence was restored from an old backup.
 */
export const NEXT_TRY = Schedule.forever.pipe(
  Schedule.modifyDelay(({ attempt }) =>
    Effect.map(Random.next, (part) => Duration.millis(2 * Math.min(attempt, 20) * part)),
  ),
  Schedule.upTo({ times: 99 }),
)

/** What came of an insert of several records, in their order. */
interface Inserted {
  /** Those that are stored: the first ones, and none behind them. */
  readonly documents: ReadonlyArray<RecordDocument>
  /** Why the one after them is refused. When absent, those behind were not tried, and may be. */
  readonly refusal?: Error
}

/** The ids are taken, or another first create of the collection made its sequence at the same time: the next try succeeds. */
export class IdTaken extends Data.TaggedError("IdTaken")<{ readonly refusal: Error }> {}

/** An ordered insert stops at the record that the server refuses. */
export const isBulkWriteError = (failure: unknown): failure is MongoBulkWriteError =>
  failure instanceof Error && failure.name === "MongoBulkWriteError"

/** True for what the driver itself refuses, before it has sent anything: a record that is too large, or no BSON. */
export const isUnsendable = (failure: unknown): failure is Error =>
  failure instanceof Error && (failure.name === "MongoInvalidArgumentError" || failure.name === "BSONError")

/** @throws what leaves open which of the records are stored, and whether durably */
const insertTogether = async (
  db: Db,
  collection: string,
  records: ReadonlyArray<Fields>,
  sequences: Sequences,
  signal: AbortSignal,
): Promise<Inserted> => {
  const documents: Array<RecordDocument> = []
  try {
    const first = await sequences.next(db, collection, records.length)
    // Nobody waits for these any more, and the next creates have begun.
    signal.throwIfAborted()
    documents.push(...records.map((fields, at) => ({ _id: first + at, fields })))
    await recordsOf(db, collection).insertMany(documents, { ordered: true })
    return { documents }
  } catch (failure) {
    if (isBulkWriteError(failure)) {
      const [refused] = [failure.writeErrors].flat()
      if (refused === undefined || failure.result.getWriteConcernError() !== undefined) throw failure
      return { documents: documents.slice(0, refused.index), refusal: failure }
    }
    if (isDuplicateKey(failure)) return { documents: [], refusal: failure }
    if (!isUnsendable(failure)) throw failure
    if (records.length === 1) return { documents: [], refusal: failure }
    // Which one it was is found by halves; those beside it are stored.
    return insertTogether(db, collection, records.slice(0, records.length >> 1), sequences, signal)
  }
}

/**
 * Creates over one connection. Those of one collection that come while an insert is under way wait together for the next one,
 * so that one hot sequence is no limit; each learns its own outcome.
 *
 * Their ids are in the order of their calls. No two steps of one process overlap.
 *
 * @param ids the sequences of this process
 * @param taken finds the unique field for which the server refused a record
 * @returns the function that creates one record; it fails within the deadline of the connection, waiting included, and a
 * create that has not begun by then is not begun
 */
export const makeCreate = (
  { run, withinDeadline }: MongoConnection["Service"],
  { sequences, inTurn }: Ids,
  taken: FindTaken,
) => {
  const queues = new Map<string, Array<Waiting>>()
  const failed = (failure: Error) => run(() => Promise.reject(failure))

  /** Ends every create of the batch. */
  const store = (collection: string, batch: ReadonlyArray<Waiting>): Effect.Effect<void> => {
    let open = batch
    const attempt = Effect.gen(function* () {
      for (;;) {
        open = open.filter(({ left }) => !left)
        if (open.length === 0) return
        const records = open.map(({ fields }) => fields)
        const { documents, refusal } = yield* inTurn(
          collection,
          run((db, signal) => insertTogether(db, collection, records, sequences, signal)),
        )
        for (const [at, document] of documents.entries()) open[at]?.end(Effect.succeed(document))
        open = open.slice(documents.length)
        if (refusal === undefined) continue
        const field = yield* run((db) => taken(db, collection, 0, open[0]?.fields ?? {}, refusal))
        if (field === undefined && isDuplicateKey(refusal)) {
          sequences.taken(collection)
          return yield* new IdTaken({ refusal })
        }
        open[0]?.end(field === undefined ? failed(refusal) : Effect.fail(new NotUnique({ collection, field })))
        open = open.slice(1)
      }
    })
    return attempt.pipe(
      Effect.retry({ while: (failure) => failure._tag === "IdTaken", schedule: NEXT_TRY }),
      Effect.catchTag("IdTaken", ({ refusal }) => failed(refusal)),
      Effect.catchCause((cause) =>
        Effect.sync(() => {
          for (const { end } of open) end(Effect.failCause(cause))
        }),
      ),
    )
  }

  /** Stores what waits, in the order of the calls, until nothing does. */
  const turn = (collection: string, queue: Array<Waiting>): Effect.Effect<void> =>
    Effect.gen(function* () {
      yield* endOfTurn
      while (queue.length > 0) yield* store(collection, queue.splice(0, TOGETHER_MAX))
      queues.delete(collection)
    })

  return (collection: string, fields: Fields): Effect.Effect<RecordDocument, NotUnique | StoreUnavailable> =>
    withinDeadline(
      Effect.callback<RecordDocument, NotUnique | StoreUnavailable>((resume) => {
        const waiting: Waiting = { fields, end: resume, left: false }
        const queue = queues.get(collection)
        if (queue !== undefined) queue.push(waiting)
        else {
          const first = [waiting]
          queues.set(collection, first)
          Effect.runFork(turn(collection, first))
        }
        return Effect.sync(() => {
          waiting.left = true
        })
      }),
    )
}
