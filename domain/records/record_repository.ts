import { Context, type Effect } from "effect"
import type { RecordNotFound, StoreUnavailable } from "./errors.ts"
import type { Page } from "./page.ts"

/** The fields of a record, checked by its collection; never contains `id`. */
export type Fields = Readonly<Record<string, unknown>>

/** A stored record. `id` is assigned by the repository: 1..2^53-1, strictly increasing per collection, never reused. */
export type Stored<F extends object = Fields> = { readonly id: number } & Readonly<F>

/**
 * Driven port: where records live.
 *
 * Records handed out are immutable. An adapter may hand out the same object again for an unchanged record or page;
 * callers may remember what they derived from it (the HTTP face keeps rendered bytes that way).
 */
export class RecordRepository extends Context.Service<
  RecordRepository,
  {
    /** Records in ascending id order. `page.limit` 0 gives none (drivers that read 0 as "all" are the adapter's care). */
    readonly list: (collection: string, page: Page) => Effect.Effect<ReadonlyArray<Stored>, StoreUnavailable>
    /**
     * The record when it is in memory and certainly current, at once: what is read often is read without a program.
     * `undefined` says nothing about the record; only `get` knows.
     */
    readonly recall: (collection: string, id: number) => Stored | undefined
    /** The same of a page; only `list` knows. */
    readonly recallPage: (collection: string, page: Page) => ReadonlyArray<Stored> | undefined
    readonly get: (collection: string, id: number) => Effect.Effect<Stored, RecordNotFound | StoreUnavailable>
    /** Succeeds only once the record is durable by the adapter's own measure. */
    readonly create: (collection: string, fields: Fields) => Effect.Effect<Stored, StoreUnavailable>
    /** Removes and returns the record; of several concurrent calls one wins. */
    readonly remove: (collection: string, id: number) => Effect.Effect<Stored, RecordNotFound | StoreUnavailable>
    /** Exact number of records. */
    readonly count: (collection: string) => Effect.Effect<number, StoreUnavailable>
    /** Succeeds when the store answers now; used by readiness. */
    readonly ping: Effect.Effect<void, StoreUnavailable>
  }
>()("portolan/domain/records/RecordRepository") {}
