import { Clock, Effect, type Scope } from "effect"
import { stamped } from "../../domain/records/assigned_fields.ts"
import { checkBatch } from "../../domain/records/batch.ts"
import type { ChangeFeed, Position } from "../../domain/records/change.ts"
import type { Collection } from "../../domain/records/collection.ts"
import type { CreateKey } from "../../domain/records/create_key.ts"
import {
  type ChangesUnsupported,
  type InvalidPage,
  type InvalidQuery,
  type InvalidRecord,
  type KeyInUse,
  type KeyReused,
  NotUnique,
  type PositionGone,
  type RecordNotFound,
} from "../../domain/records/errors.ts"
import { makeQuery, makeWhere, type WantedList } from "../../domain/records/list_query.ts"
import { PAGE_LIMIT_MAX, type Page } from "../../domain/records/page.ts"
import { type Condition, ID_ORDER, type Place, placeOf, type Query } from "../../domain/records/query.ts"
import { queryFieldsOf } from "../../domain/records/query_field.ts"
import { type Fields, fieldsOf, type RecordRepository, type Stored } from "../../domain/records/record_repository.ts"
import { storedShapeOf } from "../../domain/records/stored_shape.ts"
import type { StoreUnavailable } from "../../domain/store_unavailable.ts"
import { makeRecordUpdates, type RecordUpdates, type UpdatedStore } from "./record_updates.ts"

/** One collection's view of the {@link RecordRepository}: the `store` that the setup call returns (specification 4.1). */
export interface RecordStore<F extends object> extends UpdatedStore<F> {
  /**
   * Makes what the collection declares, such as indexes. Every other method does so before its first use; a service does it
   * when it starts, so that a store that cannot is found out then.
   */
  readonly prepare: Effect.Effect<void, StoreUnavailable>
  /** @param query already judged by the collection */
  readonly list: (query: Query) => Effect.Effect<ReadonlyArray<Stored<F>>, StoreUnavailable>
  /** @param fields already judged by the collection */
  readonly create: (fields: F) => Effect.Effect<Stored<F>, NotUnique | StoreUnavailable>
  /**
   * Creates all or none.
   *
   * @param records already judged by the collection; 1 to 1000
   * @param key of a call that may be repeated
   * @returns the records in their order, as the first call with the key made them
   */
  readonly createAll: (
    records: ReadonlyArray<F>,
    key?: CreateKey,
  ) => Effect.Effect<ReadonlyArray<Stored<F>>, NotUnique | KeyReused | KeyInUse | StoreUnavailable>
  /** Exact number of records for which all conditions, already judged, hold. */
  readonly count: (where?: ReadonlyArray<Condition>) => Effect.Effect<number, StoreUnavailable>
  /** Follows the collection's changes until the scope ends, after a position or from now on. */
  readonly changes: (
    after?: Position,
  ) => Effect.Effect<ChangeFeed<Stored<F>>, PositionGone | ChangesUnsupported | StoreUnavailable, Scope.Scope>
}

/** A page as it was read: `page` is what was asked for, with defaults filled in and `limit` clamped. */
export interface Listed<F extends object> {
  readonly records: ReadonlyArray<Stored<F>>
  readonly page: Page
  /** Where the next page begins, as `after`; absent when this one was not full, and is the last. */
  readonly next?: Place
}

/** What a create with a key can fail with. */
export type CreateOnceError = InvalidRecord | NotUnique | KeyReused | KeyInUse | StoreUnavailable

/**
 * The use cases of one collection: what every face of the service calls.
 *
 * As with the repository, a use case may be complete when the call returns: to ask again, call again.
 */
export interface RecordService<F extends object> extends RecordUpdates<F> {
  /**
   * @fails {InvalidPage} when `start` or `limit` is not a whole number in 0..2^53-1
   * @fails {InvalidQuery} naming the field or parameter that the list cannot be filtered, sorted or continued by
   */
  readonly list: (wanted: WantedList) => Effect.Effect<Listed<F>, InvalidPage | InvalidQuery | StoreUnavailable>
  /**
   * The first {@link PAGE_LIMIT_MAX} records with an id above `after`, in ascending order. Whoever reads all of a collection this
   * way sees each record once that is there all the time, whatever is created and deleted meanwhile.
   *
   * @param after an id, or 0 for the beginning
   */
  readonly above: (after: number) => Effect.Effect<ReadonlyArray<Stored<F>>, StoreUnavailable>
  readonly get: (id: number) => Effect.Effect<Stored<F>, RecordNotFound | StoreUnavailable>
  /** @param input untrusted: judged by the collection before the store is called */
  readonly create: (input: unknown) => Effect.Effect<Stored<F>, InvalidRecord | NotUnique | StoreUnavailable>
  /**
   * Creates once, however often it is called with this key and this input: every call gives what the first one gave.
   *
   * @param input untrusted
   */
  readonly createOnce: (input: unknown, key: CreateKey) => Effect.Effect<Stored<F>, CreateOnceError>
  /**
   * Creates all or none, and with a key once, as {@link RecordService.createOnce} does.
   *
   * @param input untrusted: an array of 1 to 1000 records
   * @fails {InvalidRecord} with pointers that begin with a record's place in the array
   */
  readonly createAll: (input: unknown, key?: CreateKey) => Effect.Effect<ReadonlyArray<Stored<F>>, CreateOnceError>
  /** Exact number of records for which all conditions hold; of all records without any. */
  readonly count: (wanted?: Pick<WantedList, "where">) => Effect.Effect<number, InvalidQuery | StoreUnavailable>
  /**
   * Follows the changes of a collection that was defined with `changes`, whoever makes them, until the scope ends.
   *
   * @param after a position that this collection gave; only what comes from now on when omitted
   * @fails {PositionGone} when what came after the position is no longer kept
   * @fails {ChangesUnsupported} when the store keeps no log of this collection's changes
   */
  readonly changes: (
    after?: Position,
  ) => Effect.Effect<ChangeFeed<Stored<F>>, PositionGone | ChangesUnsupported | StoreUnavailable, Scope.Scope>
}

/**
 * Binds a repository to one collection.
 *
 * The repository knows no record types. That its records have the collection's fields holds because everything stored
 * under the collection's name passed the collection's judgement.
 */
export const makeRecordStore = <F extends object>(
  collection: Collection<F>,
  repository: RecordRepository["Service"],
): RecordStore<F> => {
  const { name, timestamps } = collection
  let prepared = false
  const prepare = Effect.tap(
    Effect.suspend(() => repository.prepare(storedShapeOf(collection))),
    Effect.sync(() => {
      prepared = true
    }),
  )
  const first = <A, E, R>(call: () => Effect.Effect<A, E, R>): Effect.Effect<A, E | StoreUnavailable, R> =>
    prepared ? call() : Effect.andThen(prepare, Effect.suspend(call))
  /** The time that a record notes, milliseconds since the epoch; nobody looks for it where none is noted. */
  const timeOf = (key?: CreateKey): Effect.Effect<number> =>
    timestamps && key === undefined ? Clock.currentTimeMillis : Effect.succeed(key?.atMs ?? 0)
  const stamp = (fields: F, ms: number, before?: Fields): Fields =>
    timestamps ? stamped(fields, new Date(ms).toISOString(), before) : (fields as Fields)
  return {
    prepare,
    list: (query) => first(() => repository.list(name, query) as ReturnType<RecordStore<F>["list"]>),
    get: (id) => first(() => repository.get(name, id) as ReturnType<RecordStore<F>["get"]>),
    create: (fields) =>
      first(
        () =>
          Effect.flatMapEager(timeOf(), (ms) => repository.create(name, stamp(fields, ms))) as ReturnType<
            RecordStore<F>["create"]
          >,
      ),
    createAll: (records, key) =>
      first(() =>
        Effect.flatMapEager(timeOf(key), (ms) =>
          Effect.mapEager(
            repository.createAll(
              name,
              records.map((fields) => stamp(fields, ms)),
              key,
            ),
            ({ firstId, firstAtMs = ms }) =>
              records.map((fields, at) => ({ id: firstId + at, ...stamp(fields, firstAtMs) }) as Stored<F>),
          ),
        ),
      ),
    replace: (before, fields) => {
      const expected = fieldsOf(before)
      return first(
        () =>
          Effect.flatMapEager(timeOf(), (ms) =>
            repository.replace(name, before.id, expected, stamp(fields, ms, expected)),
          ) as ReturnType<RecordStore<F>["replace"]>,
      )
    },
    remove: (id, before) =>
      first(() => repository.remove(name, id, before && fieldsOf(before)) as ReturnType<RecordStore<F>["remove"]>),
    count: (where) => first(() => repository.count(name, where)),
    changes: (after) => first(() => repository.changes(name, after) as ReturnType<RecordStore<F>["changes"]>),
  }
}

/** Of a record that was created alone, nobody asks for its place. */
const alone = <E>(failure: E | NotUnique): E | NotUnique =>
  failure instanceof NotUnique ? new NotUnique({ collection: failure.collection, field: failure.field }) : failure

/** The use cases of one collection over its store (specification 4.1). */
export const makeRecordService = <F extends object>(
  collection: Collection<F>,
  store: RecordStore<F>,
): RecordService<F> => {
  const known = queryFieldsOf(collection)
  return {
    list: (wanted) =>
      Effect.flatMapEager(makeQuery(wanted, known), (page) =>
        Effect.mapEager(store.list(page), (records) => {
          const last = records.length === page.limit ? records.at(-1) : undefined
          return { records, page, ...(last === undefined ? {} : { next: placeOf(last, page.order ?? ID_ORDER) }) }
        }),
      ),
    above: (after) => store.list({ start: 0, limit: PAGE_LIMIT_MAX, after: [after] }),
    count: ({ where = [] } = {}) => Effect.flatMapEager(makeWhere(where, known), store.count),
    get: store.get,
    create: (input) => Effect.flatMapEager(collection.check(input), store.create),
    createOnce: (input, key) =>
      Effect.flatMapEager(collection.check(input), (fields) =>
        Effect.mapEager(Effect.mapError(store.createAll([fields], key), alone), ([record]) => record as Stored<F>),
      ),
    createAll: (input, key) =>
      Effect.flatMapEager(checkBatch(collection, input), (records) => store.createAll(records, key)),
    ...makeRecordUpdates(collection, store),
    changes: store.changes,
  }
}
