import { Effect, Layer } from "effect"
import type { Db } from "mongodb"
import { EMPTY_TALLY, type Progress, type PublishEntry, PublishJournal } from "../../../domain/media/publish_journal.ts"
import { MongoConnection } from "../mongo_connection.ts"
import { decodeEntry, encodeEntry, fingerprint } from "./stored_entry.ts"

interface EntryDocument {
  readonly _id: string
  readonly version: number
  /** How far the post has come, for {@link Tally}; absent in an entry that was last written before there were tallies. */
  readonly state?: Progress["state"]
  readonly body: string
}

/** No record collection can have this name: theirs hold no dot. */
const JOURNAL = "portolan.publish_journal"

const DUPLICATE_KEY = 11000

const isDuplicateKey = (failure: unknown): boolean =>
  failure instanceof Error && "code" in failure && failure.code === DUPLICATE_KEY

const journalOf = (db: Db) => db.collection<EntryDocument>(JOURNAL)

const contentOf = (entry: PublishEntry) => ({ state: entry.progress.state, body: encodeEntry(entry) })

const insertFirst = async (db: Db, entry: PublishEntry): Promise<boolean> => {
  try {
    await journalOf(db).insertOne({ _id: entry.key, version: 1, ...contentOf(entry) })
    return true
  } catch (failure) {
    if (isDuplicateKey(failure)) return false
    throw failure
  }
}

const replace = async (db: Db, entry: PublishEntry, version: number): Promise<boolean> => {
  const { modifiedCount } = await journalOf(db).updateOne(
    { _id: entry.key, version },
    { $set: contentOf(entry), $inc: { version: 1 } },
  )
  return modifiedCount === 1
}

/**
 * The journal in MongoDB, for several services: an entry is acknowledged by the majority, and read from the primary.
 *
 * A `put` whose answer is lost fails and may have been stored; whoever goes on reads before writing again.
 */
export const layer = Layer.effect(
  PublishJournal,
  Effect.gen(function* () {
    const { run } = yield* MongoConnection
    return PublishJournal.of({
      fingerprint,
      find: (key) =>
        run(async (db) => {
          const document = await journalOf(db).findOne(
            { _id: key },
            { readPreference: "primary", readConcern: { level: "majority" } },
          )
          return document === null ? undefined : { entry: decodeEntry(document.body), version: document.version }
        }),
      put: (entry, version) => run((db) => (version === 0 ? insertFirst(db, entry) : replace(db, entry, version))),
      tally: run(async (db) => {
        const counts = await journalOf(db)
          .aggregate<{ _id: Progress["state"] | null; posts: number }>([
            { $group: { _id: "$state", posts: { $sum: 1 } } },
          ])
          .toArray()
        const known = counts.flatMap(({ _id, posts }) => (_id === null ? [] : [[_id, posts]]))
        return { ...EMPTY_TALLY, ...Object.fromEntries(known) }
      }),
    })
  }),
)
