import { Effect } from "effect"
import type { Collection } from "../../domain/records/collection.ts"
import type { InvalidPage, InvalidRecord, RecordNotFound } from "../../domain/records/errors.ts"
import { makePage, type Page } from "../../domain/records/page.ts"
import type { Stored } from "../../domain/records/record_repository.ts"
import type { StoreUnavailable } from "../../domain/store_unavailable.ts"
import { makeRecordChanges, type RecordChanges } from "./record_changes.ts"
import type { RecordStore } from "./record_store.ts"

/** A page as it was read: `page` is what was asked for, with defaults filled in and `limit` clamped. */
export interface Listed<F extends object> {
  readonly records: ReadonlyArray<Stored<F>>
  readonly page: Page
}

/**
 * The use cases of one collection: what every face of the service calls.
 *
 * As with the repository, a use case may be complete when the call returns: to ask again, call again.
 */
export interface RecordService<F extends object> extends RecordChanges<F> {
  /** @fails {InvalidPage} when `start` or `limit` is not a whole number in 0..2^53-1 */
  readonly list: (wanted: {
    readonly start?: number
    readonly limit?: number
  }) => Effect.Effect<Listed<F>, InvalidPage | StoreUnavailable>
  readonly get: (id: number) => Effect.Effect<Stored<F>, RecordNotFound | StoreUnavailable>
  /** @param input untrusted: judged by the collection before the store is called */
  readonly create: (input: unknown) => Effect.Effect<Stored<F>, InvalidRecord | StoreUnavailable>
  /** Exact number of records. */
  readonly count: () => Effect.Effect<number, StoreUnavailable>
}

/** The use cases of one collection over its store (seed 4.1). */
export const makeRecordService = <F extends object>(
  collection: Collection<F>,
  store: RecordStore<F>,
): RecordService<F> => ({
  list: (wanted) =>
    Effect.flatMapEager(makePage(wanted), (page) =>
      Effect.mapEager(store.list(page), (records) => ({ records, page })),
    ),
  get: store.get,
  create: (input) => Effect.flatMapEager(collection.check(input), store.create),
  ...makeRecordChanges(collection, store),
  count: store.count,
})
