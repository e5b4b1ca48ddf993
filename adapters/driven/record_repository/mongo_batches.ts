// Documents that hold a batch of records, and those that remember the key of a create, in MongoDB.
//
// Not every server that speaks the protocol has transactions. So a batch is first written as one document, which names the
// ids of its records and holds the records themselves: from then on the batch is decided. Then the records are inserted, its
// key is remembered, and the document goes. Whoever finds one that nobody works on any more, inserts what is missing.
import type { Collection, Db } from "mongodb"
import { KEY_LIFE_MS, KEYS_MAX } from "../../../domain/records/create_key.ts"
import type { Fields } from "../../../domain/records/record_repository.ts"
import { type FindTaken, isBulkWriteError, isUnsendable, type RecordDocument, recordsOf } from "./mongo_creates.ts"
import { isDuplicateKey } from "./mongo_sequence.ts"

/** No record collection can have these names: theirs hold no dot. */
const BATCHES = "portolan.batches"
const KEYS = "portolan.keys"

/** How long a batch is left to the process that began it, milliseconds: longer than all of its operations may take. */
const LEASE_MS = 60_000

/** What is remembered of the key of a create. */
export interface KeyDocument {
  /** Collection, caller and key. */
  readonly _id: string
  readonly collection: string
  readonly caller: string
  readonly digest: string
  /** Id of the first record. */
  readonly first: number
  readonly at: Date
}

/** A batch whose records are not all in yet, as far as its document knows. */
export interface BatchDocument {
  /** That of its key; without one, a random text. */
  readonly _id: string
  readonly collection: string
  /** Ids of the first and of the last record. */
  readonly first: number
  readonly last: number
  /** The records as JSON text. */
  readonly records: string
  readonly key?: KeyDocument
  /** Until when the batch is somebody's to insert. */
  readonly until: Date
}

/** How the work on a batch ended: its records are there, or none of them is. */
export type Ended =
  | "stored"
  | "id taken"
  | { readonly refusal: Error }
  /** The unique field of which another record has the value, and the record's place in the batch. */
  | { readonly field: string; readonly at: number }

/** The batches that are under way, or were left. */
export const batchesOf = (db: Db): Collection<BatchDocument> => db.collection(BATCHES)

/** What is remembered of keys. */
export const keysOf = (db: Db): Collection<KeyDocument> => db.collection(KEYS)

/** When a batch that is begun now may be taken over by somebody else. */
export const leaseEnd = (): Date => new Date(Date.now() + LEASE_MS)

/** Makes the indexes by which old keys are found; does nothing when they are there. */
export const prepareKeys = async (db: Db): Promise<void> => {
  // One by one: FerretDB 1.24 breaks the connection when several are asked for that are there.
  await keysOf(db).createIndex({ at: 1 })
  await keysOf(db).createIndex({ collection: 1, caller: 1, at: 1 })
}

/** Ends a batch whose records are all in. */
const close = async (db: Db, { _id, key }: BatchDocument): Promise<void> => {
  // Whoever ends a batch that was left may find its key remembered already.
  if (key !== undefined) await keysOf(db).replaceOne({ _id }, key, { upsert: true })
  await batchesOf(db).deleteOne({ _id })
}

/** Takes everything of a batch back: no record has one of its ids but its own. */
const undo = async (db: Db, { _id, collection, first }: BatchDocument, last: number): Promise<void> => {
  await recordsOf(db, collection).deleteMany({ _id: { $gte: first, $lte: last } })
  await batchesOf(db).deleteOne({ _id })
}

const documentsOf = ({ first, records }: BatchDocument): ReadonlyArray<RecordDocument> =>
  (JSON.parse(records) as ReadonlyArray<Fields>).map((fields, at) => ({ _id: first + at, fields }))

/** @returns the place of the document that the server, or the driver for all of them, refused, and why; else undefined */
const insert = async (db: Db, collection: string, documents: ReadonlyArray<RecordDocument>) => {
  if (documents.length === 0) return undefined
  try {
    await recordsOf(db, collection).insertMany([...documents], { ordered: true })
    return undefined
  } catch (failure) {
    if (isUnsendable(failure)) return { at: 0, refusal: failure }
    if (!isBulkWriteError(failure)) throw failure
    const [refused] = [failure.writeErrors].flat()
    if (refused === undefined || failure.result.getWriteConcernError() !== undefined) throw failure
    return { at: refused.index, refusal: failure }
  }
}

/**
 * Inserts the records of a batch that this process has just begun, and closes it.
 *
 * @throws what leaves open which of the records are stored
 */
export const storeBatch = async (
  db: Db,
  batch: BatchDocument,
  taken: FindTaken,
  signal: AbortSignal,
): Promise<Ended> => {
  // Nobody waits for this any more, and the work is somebody else's.
  signal.throwIfAborted()
  const documents = documentsOf(batch)
  const refused = await insert(db, batch.collection, documents)
  if (refused === undefined) {
    await close(db, batch)
    return "stored"
  }
  const { at, refusal } = refused
  // While the batch's own records are there: the other one may be among them.
  const field = await taken(db, batch.collection, 0, documents[at]?.fields ?? {}, refusal)
  await undo(db, batch, batch.first + at - 1)
  if (field !== undefined) return { field, at }
  return isDuplicateKey(refusal) ? "id taken" : { refusal }
}

/**
 * Ends a batch that was begun before, if it is still open. Records are inserted in the order of their ids, so those up to
 * the highest that is there were inserted; one that is missing among them was deleted since, and stays so.
 *
 * @throws what leaves open which of the records are stored
 */
export const completeBatch = async (db: Db, id: string): Promise<Ended> => {
  const batch = await batchesOf(db).findOne({ _id: id })
  if (batch === null) return "stored"
  const { collection, first, last } = batch
  const highest = await recordsOf(db, collection).findOne(
    { _id: { $gte: first, $lte: last } },
    { sort: { _id: -1 }, projection: { _id: 1 } },
  )
  const missing = documentsOf(batch).filter(({ _id }) => highest === null || _id > highest._id)
  const refused = await insert(db, collection, missing)
  if (refused === undefined) {
    await close(db, batch)
    return "stored"
  }
  // What was sent before is still arriving: it must have ended before anybody can tell what is missing. When the record is not
  // there, it is not its id that is taken but the value of a unique field, by a record that came meanwhile.
  const refusedId = missing[refused.at]?._id ?? 0
  if (isDuplicateKey(refused.refusal) && (await recordsOf(db, collection).findOne({ _id: refusedId })) !== null)
    throw refused.refusal
  await undo(db, batch, last)
  return { refusal: refused.refusal }
}

/**
 * Takes a batch over that nobody works on any more.
 *
 * @param now batches whose time is over by then; all of them when omitted, for a process that alone writes
 * @param id which one; any when omitted
 */
export const takeOver = async (db: Db, now?: Date, id?: string): Promise<BatchDocument | null> =>
  batchesOf(db).findOneAndUpdate(
    { until: now === undefined ? { $exists: true } : { $lt: now }, ...(id === undefined ? {} : { _id: id }) },
    { $set: { until: leaseEnd() } },
    { returnDocument: "after" },
  )

/** Forgets the keys that are too old. */
export const forgetOldKeys = async (db: Db, nowMs: number): Promise<void> => {
  await keysOf(db).deleteMany({ at: { $lte: new Date(nowMs - KEY_LIFE_MS) } })
}

/** Forgets the keys of one caller that are too many. */
export const forgetSurplusKeys = async (db: Db, collection: string, caller: string): Promise<void> => {
  const surplus = await keysOf(db).findOne({ collection, caller }, { sort: { at: -1 }, skip: KEYS_MAX })
  if (surplus !== null) await keysOf(db).deleteMany({ collection, caller, at: { $lte: surplus.at } })
}
