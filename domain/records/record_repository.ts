import { Context, type Effect } from "effect"
import type { StoreUnavailable } from "../store_unavailable.ts"
import type { RecordNotFound } from "./errors.ts"
import type { Page } from "./page.ts"
import type { StoredShape } from "./stored_shape.ts"

/** The fields of a record, checked by its collection; never contains `id`. */
export type Fields = Readonly<Record<string, unknown>>

/** A stored record. `id` is assigned by the repository: 1..2^53-1, strictly increasing per collection, never reused. */
export type Stored<F extends object = Fields> = { readonly id: number } & Readonly<F>

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
     */
    readonly prepare: (collection: StoredShape) => Effect.Effect<void, StoreUnavailable>
    /** Records in ascending id order; `page.limit` 0 gives none. */
    readonly list: (collection: string, page: Page) => Effect.Effect<ReadonlyArray<Stored>, StoreUnavailable>
    /** @fails {RecordNotFound} when no record has this id now */
    readonly get: (collection: string, id: number) => Effect.Effect<Stored, RecordNotFound | StoreUnavailable>
    /** Succeeds only once the record is durable by the adapter's own measure. */
    readonly create: (collection: string, fields: Fields) => Effect.Effect<Stored, StoreUnavailable>
    /** Removes and returns the record; of several concurrent calls one wins, the others fail with `RecordNotFound`. */
    readonly remove: (collection: string, id: number) => Effect.Effect<Stored, RecordNotFound | StoreUnavailable>
    /** Exact number of records. */
    readonly count: (collection: string) => Effect.Effect<number, StoreUnavailable>
    /** Succeeds when a create would succeed now: each time it is run, it writes something small that no collection shows. */
    readonly ready: Effect.Effect<void, StoreUnavailable>
  }
>()("portolan/domain/records/RecordRepository") {}
