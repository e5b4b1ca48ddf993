// Changes of records in MongoDB: each is one write that names what it expects to find.
import { Effect, Semaphore } from "effect"
import type { Db } from "mongodb"
import { RecordChanged, RecordNotFound } from "../../../domain/records/errors.ts"
import type { Fields } from "../../../domain/records/record_repository.ts"
import type { StoreUnavailable } from "../../../domain/store_unavailable.ts"
import type { MongoConnection } from "../mongo_connection.ts"
import { type RecordDocument, recordsOf } from "./mongo_creates.ts"

/** `$eq` holds against the whole object, so that nothing in the fields is ever read as an operator. */
const expecting = (_id: number, expected: Fields | undefined) =>
  expected === undefined ? { _id } : { _id, fields: { $eq: expected } }

/** How many records are changed at a time, at most, where changes take turns. */
const TURNS = 64

/**
 * Changes over one connection.
 *
 * @param takingTurns true for a server that finds a record and writes it in two steps, so that two changes that expect the
 * same could both be applied. Those of one record then wait for each other; nobody else writes to such a database.
 */
export const makeUpdates = ({ run, withinDeadline }: MongoConnection["Service"], takingTurns: boolean) => {
  const turns = Array.from({ length: TURNS }, () => Semaphore.makeUnsafe(1))

  /** @param write gives the record when it was found as expected */
  const change = (
    collection: string,
    id: number,
    write: (db: Db) => Promise<RecordDocument | null>,
  ): Effect.Effect<RecordDocument, RecordNotFound | RecordChanged | StoreUnavailable> => {
    const changing = run(async (db) => {
      const document = await write(db)
      if (document !== null) return Effect.succeed(document)
      const there = await recordsOf(db, collection).findOne({ _id: id }, { projection: { _id: 1 } })
      return Effect.fail(there === null ? new RecordNotFound({ collection }) : new RecordChanged({ collection }))
    })
    const turn = takingTurns ? turns[id % TURNS] : undefined
    return Effect.flatten(turn === undefined ? changing : withinDeadline(turn.withPermit(changing)))
  }

  return {
    replace: (collection: string, id: number, expected: Fields, fields: Fields) =>
      change(collection, id, async (db) => {
        const found = await recordsOf(db, collection).replaceOne(expecting(id, expected), { fields })
        // A record that is replaced by the same one is found, and not modified.
        return found.matchedCount === 1 ? { _id: id, fields } : null
      }),
    remove: (collection: string, id: number, expected?: Fields) =>
      change(collection, id, (db) => recordsOf(db, collection).findOneAndDelete(expecting(id, expected))),
  }
}
