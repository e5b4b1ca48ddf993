import { Effect, Layer } from "effect"
import type { Db } from "mongodb"
import { RecordNotFound } from "../../../domain/records/errors.ts"
import type { Query } from "../../../domain/records/query.ts"
import { RecordRepository, type Stored } from "../../../domain/records/record_repository.ts"
import { MongoConnection } from "../mongo_connection.ts"
import { makeMongoChanges } from "./mongo_change_feed.ts"
import { makeCreateAll } from "./mongo_create_all.ts"
import { makeCreate, type RecordDocument, recordsOf, toStored } from "./mongo_creates.ts"
import { filterOf, listOf } from "./mongo_query.ts"
import { countsAtomically, makeIds, tryWrite } from "./mongo_sequence.ts"
import { makeUniqueFields } from "./mongo_unique.ts"
import { makeUpdates } from "./mongo_updates.ts"

/** What is known of the server and of who writes to it. */
export interface MongoRecordOptions {
  /**
   * True when this process is the only one that writes records to the database. A server that counts or changes in two steps
   * is then taken, because the steps of one process never overlap. False when omitted.
   */
  readonly singleWriter?: boolean
}

/** The records of a query, range by range until the page is full. */
const list = async (db: Db, collection: string, query: Query): Promise<ReadonlyArray<Stored>> => {
  const { filters, sort } = listOf(query)
  const records: Array<Stored> = []
  for (const filter of filters) {
    const limit = query.limit - records.length
    // To MongoDB a limit of 0 means "no limit".
    if (limit === 0) break
    const cursor = recordsOf(db, collection).find(filter, { sort, skip: query.start, limit })
    records.push(...(await cursor.toArray()).map(toStored))
  }
  return records
}

const found = (collection: string) => (document: RecordDocument | null) =>
  document === null ? Effect.fail(new RecordNotFound({ collection })) : Effect.succeed(toStored(document))

const NOT_ATOMIC =
  "the server loses increments ($inc) that come at once, so that two instances could give an id twice; " +
  "MONGODB_SINGLE_WRITER=true takes it for a service that alone creates records in this database"

/**
 * Records in MongoDB: a create is acknowledged by the majority of the replica set, several services may share a database.
 *
 * A write whose answer is lost fails, and may have been applied. A list makes the server pass over `start`
 * entries of its index, so a page far behind costs the server more; this process only waits.
 *
 * @fails {StoreUnavailable} when the server does not count atomically and there is more than a single writer
 */
export const layer = ({ singleWriter = false }: MongoRecordOptions = {}) =>
  Layer.effect(
    RecordRepository,
    Effect.gen(function* () {
      const connection = yield* MongoConnection
      const { run, refuse } = connection
      if (!singleWriter && !(yield* run(countsAtomically))) return yield* refuse(NOT_ATOMIC)
      const ids = makeIds()
      const { prepare, taken } = makeUniqueFields()
      const create = makeCreate(connection, ids, taken)
      const { createAll, settled } = yield* makeCreateAll(connection, ids, taken, singleWriter)
      const updates = makeUpdates(connection, taken, singleWriter)

      return RecordRepository.of({
        prepare: (shape) =>
          Effect.flatMap(
            run((db) => prepare(db, shape)),
            (reason) => (reason === undefined ? Effect.void : refuse(reason)),
          ),
        list: (collection, query) => run((db) => list(db, collection, query)),
        get: (collection, id) =>
          Effect.flatMap(
            run((db) => recordsOf(db, collection).findOne({ _id: id })),
            found(collection),
          ),
        // Only what JSON keeps is stored, as in every other store, and later writes to the caller's fields do not reach it.
        create: (collection, fields) => Effect.map(create(collection, JSON.parse(JSON.stringify(fields))), toStored),
        createAll,
        replace: (collection, id, expected, fields) =>
          Effect.map(
            Effect.andThen(
              settled(collection, id),
              updates.replace(collection, id, expected, JSON.parse(JSON.stringify(fields))),
            ),
            toStored,
          ),
        remove: (collection, id, expected) =>
          Effect.map(Effect.andThen(settled(collection, id), updates.remove(collection, id, expected)), toStored),
        count: (collection, where = []) => run((db) => recordsOf(db, collection).countDocuments(filterOf(where))),
        changes: makeMongoChanges(connection),
        ready: run(tryWrite),
      })
    }),
  )
