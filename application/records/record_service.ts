import { Effect } from "effect"
import type { Collection } from "../../domain/records/collection.ts"
import type { InvalidPage, InvalidRecord, RecordNotFound, StoreUnavailable } from "../../domain/records/errors.ts"
import { makePage, type Page } from "../../domain/records/page.ts"
import type { Fields, RecordRepository, Stored } from "../../domain/records/record_repository.ts"

/** One collection's view of the repository: the `store` of the seed's setup call. */
export interface RecordStore<F extends object> {
  readonly list: (page: Page) => Effect.Effect<ReadonlyArray<Stored<F>>, StoreUnavailable>
  /** The record when it is in memory and certainly current; `undefined` says nothing. */
  readonly recall: (id: number) => Stored<F> | undefined
  /** The same of a page. */
  readonly recallPage: (page: Page) => ReadonlyArray<Stored<F>> | undefined
  readonly get: (id: number) => Effect.Effect<Stored<F>, RecordNotFound | StoreUnavailable>
  readonly create: (fields: F) => Effect.Effect<Stored<F>, StoreUnavailable>
  readonly remove: (id: number) => Effect.Effect<Stored<F>, RecordNotFound | StoreUnavailable>
  readonly count: Effect.Effect<number, StoreUnavailable>
}

/** The use cases of one collection: what every face of the service calls. */
export interface RecordService<F extends object> {
  /** @fails {InvalidPage} when `start` or `limit` is not a whole number in 0..2^53-1 */
  readonly list: (wanted: {
    readonly start?: number
    readonly limit?: number
  }) => Effect.Effect<
    { readonly records: ReadonlyArray<Stored<F>>; readonly page: Page },
    InvalidPage | StoreUnavailable
  >
  /** The record when it is in memory and certainly current; `undefined` says nothing. */
  readonly recall: (id: number) => Stored<F> | undefined
  /** The same of a page. */
  readonly recallPage: (page: Page) => ReadonlyArray<Stored<F>> | undefined
  readonly get: (id: number) => Effect.Effect<Stored<F>, RecordNotFound | StoreUnavailable>
  /** @param input untrusted: judged by the collection before the store is called */
  readonly create: (input: unknown) => Effect.Effect<Stored<F>, InvalidRecord | StoreUnavailable>
  /** Deletes and returns the record. */
  readonly remove: (id: number) => Effect.Effect<Stored<F>, RecordNotFound | StoreUnavailable>
  readonly count: Effect.Effect<number, StoreUnavailable>
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
  const { name } = collection
  return {
    list: (page) => repository.list(name, page) as ReturnType<RecordStore<F>["list"]>,
    recall: (id) => repository.recall(name, id) as Stored<F> | undefined,
    recallPage: (page) => repository.recallPage(name, page) as ReadonlyArray<Stored<F>> | undefined,
    get: (id) => repository.get(name, id) as ReturnType<RecordStore<F>["get"]>,
    create: (fields) => repository.create(name, fields as Fields) as ReturnType<RecordStore<F>["create"]>,
    remove: (id) => repository.remove(name, id) as ReturnType<RecordStore<F>["remove"]>,
    count: repository.count(name),
  }
}

/** The use cases of one collection over its store (seed 4.1). */
export const makeRecordService = <F extends object>(
  collection: Collection<F>,
  store: RecordStore<F>,
): RecordService<F> => ({
  list: (wanted) =>
    Effect.flatMap(makePage(wanted), (page) => Effect.map(store.list(page), (records) => ({ records, page }))),
  recall: store.recall,
  recallPage: store.recallPage,
  get: store.get,
  create: (input) => Effect.flatMap(collection.check(input), store.create),
  remove: store.remove,
  count: store.count,
})
