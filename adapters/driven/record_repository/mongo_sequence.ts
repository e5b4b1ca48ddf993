// Ids of records in MongoDB: one counter for each collection, its sequence.
import { type Effect, Semaphore } from "effect"
import type { Db } from "mongodb"

/** Last id given out in the collection named by `_id`. */
interface Sequence {
  readonly _id: string
  readonly last: number
}

/** No record collection can have this name, nor a sequence of one: theirs hold no dot. */
const SEQUENCES = "portolan.sequences"
const PROBE = "portolan.probe"

/** Steps that {@link countsAtomically} takes at once: a server that counts in two steps loses many of them. */
const PROBE_STEPS = 32

/** How often it does so: the first times open the pool's connections, and steps that wait for one do not meet. */
const PROBE_ROUNDS = 8

/** The server's code for a second document of one `_id` (mongodb.com/docs/manual/reference/error-codes). */
const DUPLICATE_KEY = 11000

const sequencesOf = (db: Db) => db.collection<Sequence>(SEQUENCES)

/** True when the server refused a document because there is one of the same `_id`. */
export const isDuplicateKey = (failure: unknown): failure is Error =>
  failure instanceof Error && "code" in failure && failure.code === DUPLICATE_KEY

/** Writes something small that no collection shows; fails where every other write would fail too. */
export const tryWrite = async (db: Db): Promise<void> => {
  try {
    await sequencesOf(db).updateOne({ _id: PROBE }, { $inc: { last: 1 } }, { upsert: true })
  } catch (failure) {
    // Another instance made the document at the same moment, so writes succeed.
    if (!isDuplicateKey(failure)) throw failure
  }
}

/**
 * Whether the server counts each of many `$inc` that come at once, as MongoDB does. Two instances on a server that does not
 * could give an id twice. Over a pool of one connection they do not come at once, and nothing is found out.
 */
export const countsAtomically = async (db: Db): Promise<boolean> => {
  const sequences = sequencesOf(db)
  const _id = `${PROBE}.${crypto.randomUUID()}`
  await sequences.insertOne({ _id, last: 0 })
  for (let round = 0; round < PROBE_ROUNDS; round++)
    await Promise.all(Array.from({ length: PROBE_STEPS }, () => sequences.updateOne({ _id }, { $inc: { last: 1 } })))
  const counted = await sequences.findOne({ _id })
  await sequences.deleteOne({ _id })
  return counted?.last === PROBE_STEPS * PROBE_ROUNDS
}

/** The sequences of one process, which remembers what it has given out. */
export interface Sequences {
  /**
   * Gives `count` ids that nobody has been given before. Ids for creates that then fail stay unused: a gap, never a duplicate.
   *
   * What it gives is above all that the sequence, the collection and this process know of: so neither a sequence from an old
   * backup, nor one whose server lost a step, brings the id of a deleted record back while this process lives.
   *
   * @returns the first of the ids; the others follow it
   * @throws a duplicate key error when another first create made the sequence at the same moment, so that the next try
   * succeeds; also past 2^53-1, where the filter misses the sequence and the upsert meets the one that is there
   */
  readonly next: (db: Db, collection: string, count: number) => Promise<number>
  /** To be called when an id of `next` was taken already: `next` then looks at the collection again. */
  readonly taken: (collection: string) => void
}

/** Sequences for one process; the calls of `next` for one collection must not overlap. */
const makeSequences = (): Sequences => {
  const given = new Map<string, number>()
  const looked = new Set<string>()

  const step = async (db: Db, collection: string, count: number): Promise<number> => {
    const sequence = await sequencesOf(db).findOneAndUpdate(
      { _id: collection, last: { $lte: Number.MAX_SAFE_INTEGER - count } },
      { $inc: { last: count } },
      { upsert: true, returnDocument: "after" },
    )
    // With `upsert` and "after" there is always a document.
    return (sequence as Sequence).last
  }

  const highest = async (db: Db, collection: string): Promise<number> => {
    const known = given.get(collection) ?? 0
    if (looked.has(collection)) return known
    const last = await db
      .collection<{ _id: number }>(collection)
      .findOne({}, { sort: { _id: -1 }, projection: { _id: 1 } })
    return Math.max(known, last?._id ?? 0)
  }

  return {
    next: async (db, collection, count) => {
      const known = await highest(db, collection)
      let last = await step(db, collection, count)
      if (last - count < known) {
        await sequencesOf(db).updateOne({ _id: collection }, { $max: { last: known } })
        last = await step(db, collection, count)
      }
      // A call that nobody waits for any more may end late: it must not make this process forget.
      given.set(collection, Math.max(last, known, given.get(collection) ?? 0))
      looked.add(collection)
      return last - count + 1
    },
    taken: (collection) => {
      looked.delete(collection)
    },
  }
}

/** The sequences of one process, and the turn that every use of one has to wait for. */
export interface Ids {
  readonly sequences: Sequences
  /** Runs an effect that uses the collection's sequence, once those before it have ended. */
  readonly inTurn: <A, E>(collection: string, effect: Effect.Effect<A, E>) => Effect.Effect<A, E>
}

/** Makes the sequences of this process. */
export const makeIds = (): Ids => {
  const turns = new Map<string, Semaphore.Semaphore>()
  const turnOf = (collection: string): Semaphore.Semaphore => {
    const known = turns.get(collection) ?? Semaphore.makeUnsafe(1)
    turns.set(collection, known)
    return known
  }
  return { sequences: makeSequences(), inTurn: (collection, effect) => turnOf(collection).withPermit(effect) }
}
