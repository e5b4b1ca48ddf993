import { Context, type Effect, Result, type Scope } from "effect"
import type { StoreUnavailable } from "../store_unavailable.ts"
import type { ChangeFeed, Position } from "./change.ts"
import type { Created, CreateKey } from "./create_key.ts"
import {
  type ChangesUnsupported,
  type KeyInUse,
  type KeyReused,
  type NotUnique,
  type PositionGone,
  RecordChanged,
  RecordNotFound,
} from "./errors.ts"
import type { Condition, Query } from "./query.ts"
import type { StoredShape } from "./stored_shape.ts"

/** The fields of a record, checked by its collection; never contains `id`. */
export type Fields = Readonly<Record<string, unknown>>

/** A stored record. `id` is assigned by the repository: 1..2^53-1, strictly increasing per collection, never reused. */
export type Stored<F extends object = Fields> = { readonly id: number } & Readonly<F>

/** A record without its id: what the repository was given. */
export const fieldsOf = ({ id: _, ...fields }: Stored): Fields => fields

/**
 * The record that a change is about, as long as it is what the caller read.
 *
 * @param record what is stored now, if anything is
 * @param expected the fields as they were read, compared as JSON text; whatever they are when undefined
 */
export const expectRecord = (
  collection: string,
  record: Stored | undefined,
  expected: Fields | undefined,
): Result.Result<Stored, RecordNotFound | RecordChanged> => {
  if (record === undefined) return Result.fail(new RecordNotFound({ collection }))
  return expected === undefined || JSON.stringify(fieldsOf(record)) === JSON.stringify(expected)
    ? Result.succeed(record)
    : Result.fail(new RecordChanged({ collection }))
}

/**
 * Driven port: where records live.
 *
 * A method may do its work while it is called and return what came of it: an `Exit` is an `Effect`, and one that is
 * complete needs no fiber. So to read again, call the method again; do not run the same effect twice.
 *
 * Records are immutable: nobody may write to one that was handed out, and no write to the caller's fields reaches one.
 */
export class RecordRepository extends Context.Service<
  RecordRepository,
  {
    /**
     * Makes what the collection declares, and takes away what an earlier version of it declared. Whoever serves a collection
     * calls it once before anything else; to call it again changes nothing.
     *
     * @fails {StoreUnavailable} also when stored records break what is declared, naming collection and field
     */
    readonly prepare: (collection: StoredShape) => Effect.Effect<void, StoreUnavailable>
    /** The records of a query that the collection judged, in its order; `limit` 0 gives none. */
    readonly list: (collection: string, query: Query) => Effect.Effect<ReadonlyArray<Stored>, StoreUnavailable>
    /** @fails {RecordNotFound} when no record has this id now */
    readonly get: (collection: string, id: number) => Effect.Effect<Stored, RecordNotFound | StoreUnavailable>
    /**
     * Succeeds only once the record is durable by the adapter's own measure.
     *
     * @fails {NotUnique} when another record has the same value of a field that was prepared as unique; an id may stay unused
     */
    readonly create: (collection: string, fields: Fields) => Effect.Effect<Stored, NotUnique | StoreUnavailable>
    /**
     * Creates all of 1..1000 records or, when it fails, none: at once, or where the store cannot do that, shortly after.
     *
     * @param key of a call that may be repeated: what was made by an earlier call with the same one is not made again
     * @fails {KeyReused} when the earlier call asked for something else
     * @fails {KeyInUse} when the earlier call is still under way
     */
    readonly createAll: (
      collection: string,
      records: ReadonlyArray<Fields>,
      key?: CreateKey,
    ) => Effect.Effect<Created, NotUnique | KeyReused | KeyInUse | StoreUnavailable>
    /**
     * Puts `fields` in the place of those of the record, if they still are what was read; as durable as a create.
     *
     * Of several concurrent calls that expect the same, one wins: the others find another record than they expect.
     *
     * @param expected the fields as they were read
     * @fails {RecordChanged} when the record has other fields now
     */
    readonly replace: (
      collection: string,
      id: number,
      expected: Fields,
      fields: Fields,
    ) => Effect.Effect<Stored, RecordNotFound | RecordChanged | NotUnique | StoreUnavailable>
    /**
     * Removes and returns the record; of several concurrent calls one wins, the others fail with `RecordNotFound`.
     *
     * @param expected the fields as they were read; whatever they are now when omitted
     * @fails {RecordChanged} when the record has other fields than those expected
     */
    readonly remove: (
      collection: string,
      id: number,
      expected?: Fields,
    ) => Effect.Effect<Stored, RecordNotFound | RecordChanged | StoreUnavailable>
    /** Exact number of records for which all conditions hold; of all records without any. */
    readonly count: (collection: string, where?: ReadonlyArray<Condition>) => Effect.Effect<number, StoreUnavailable>
    /**
     * Follows the changes of a collection, whoever makes them, until the scope ends. Only a collection that was prepared with
     * `changes` has any.
     *
     * @param after a position that the collection gave; only what comes from now on when undefined
     * @fails {PositionGone} when what came after the position is no longer kept, or the position is none of this log
     * @fails {ChangesUnsupported} when the store keeps no log of this collection
     */
    readonly changes: (
      collection: string,
      after: Position | undefined,
    ) => Effect.Effect<ChangeFeed<Stored>, PositionGone | ChangesUnsupported | StoreUnavailable, Scope.Scope>
    /** Succeeds when a create would succeed now: each time it is run, it writes something small that no collection shows. */
    readonly ready: Effect.Effect<void, StoreUnavailable>
  }
>()("portolan/domain/records/RecordRepository") {}
