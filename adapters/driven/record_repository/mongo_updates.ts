// Changes of records in MongoDB: each is one write that names what it expects to find.
import { Effect, Result, Semaphore } from "effect"
import type { Db } from "mongodb"
import { NotUnique, RecordChanged, RecordNotFound } from "../../../domain/records/errors.ts"
import type { Fields } from "../../../domain/records/record_repository.ts"
import type { StoreUnavailable } from "../../../domain/store_unavailable.ts"
import type { MongoConnection } from "../mongo_connection.ts"
import { type FindTaken, type RecordDocument, recordsOf } from "./mongo_creates.ts"

/** `$eq` holds against the whole object, so that nothing in the fields is ever read as an operator. */
const expecting = (_id: number, expected: Fields | undefined) =>
  expected === undefined ? { _id } : { _id, fields: { $eq: expected } }

/** How many records are changed at a time, at most, where changes take turns. */
const TURNS = 64

/**
 * Changes over one connection.
 *
 * @param taken finds the unique field for which the server refused a record
 * @param takingTurns true for a server that finds a record and writes it in two steps, so that two changes that expect the
 * same could both be applied. Those of one record then wait for each other; nobody else writes to such a database.
 */
export const makeUpdates = (
  { run, withinDeadline }: MongoConnection["Service"],
  taken: FindTaken,
  takingTurns: boolean,
) => {
  const turns = Array.from({ length: TURNS }, () => Semaphore.makeUnsafe(1))

  /** @param write gives the record when it was found as expected, or says why it cannot be changed */
  const change = <E = never>(
    collection: string,
    id: number,
    write: (db: Db) => Promise<Result.Result<RecordDocument | null, E>>,
  ): Effect.Effect<RecordDocument, E | RecordNotFound | RecordChanged | StoreUnavailable> => {
    const changing = run(async (db): Promise<Result.Result<RecordDocument, E | RecordNotFound | RecordChanged>> => {
      const written = await write(db)
      if (Result.isFailure(written)) return Result.fail(written.failure)
      if (written.success !== null) return Result.succeed(written.success)
      const there = await recordsOf(db, collection).findOne({ _id: id }, { projection: { _id: 1 } })
      return Result.fail(there === null ? new RecordNotFound({ collection }) : new RecordChanged({ collection }))
    })
    const turn = takingTurns ? turns[id % TURNS] : undefined
    return Effect.flatMap(turn === undefined ? changing : withinDeadline(turn.withPermit(changing)), Effect.fromResult)
  }

  return {
    replace: (collection: string, id: number, expected: Fields, fields: Fields) =>
      change<NotUnique>(collection, id, async (db) => {
        try {
          const found = await recordsOf(db, collection).replaceOne(expecting(id, expected), { fields })
          // A record that is replaced by the same one is found, and not modified.
          return Result.succeed(found.matchedCount === 1 ? { _id: id, fields } : null)
        } catch (failure) {
          const field = await taken(db, collection, id, fields, failure)
          if (field === undefined) throw failure
          return Result.fail(new NotUnique({ collection, field }))
        }
      }),
    remove: (collection: string, id: number, expected?: Fields) =>
      change(collection, id, async (db) =>
        Result.succeed(await recordsOf(db, collection).findOneAndDelete(expecting(id, expected))),
      ),
  }
}
