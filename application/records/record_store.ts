import { Clock, Effect } from "effect"
import { stampCreated, stampUpdated } from "../../domain/records/assigned_fields.ts"
import type { Collection } from "../../domain/records/collection.ts"
import type { RecordChanged, RecordNotFound } from "../../domain/records/errors.ts"
import type { Page } from "../../domain/records/page.ts"
import { type Fields, fieldsOf, type RecordRepository, type Stored } from "../../domain/records/record_repository.ts"
import type { StoreUnavailable } from "../../domain/store_unavailable.ts"

/** One collection's view of the {@link RecordRepository}: the `store` of the seed's setup call. */
export interface RecordStore<F extends object> {
  /** Records in ascending id order. */
  readonly list: (page: Page) => Effect.Effect<ReadonlyArray<Stored<F>>, StoreUnavailable>
  readonly get: (id: number) => Effect.Effect<Stored<F>, RecordNotFound | StoreUnavailable>
  /** @param fields already judged by the collection */
  readonly create: (fields: F) => Effect.Effect<Stored<F>, StoreUnavailable>
  /**
   * Puts other fields in the place of those of a record.
   *
   * @param before the record as it was read
   * @param fields already judged by the collection
   * @fails {RecordChanged} when the record is not the same any more
   */
  readonly replace: (
    before: Stored<F>,
    fields: F,
  ) => Effect.Effect<Stored<F>, RecordNotFound | RecordChanged | StoreUnavailable>
  /**
   * Deletes and returns the record.
   *
   * @param before the record as it was read; whatever it is now when omitted
   * @fails {RecordChanged} when the record is not the same any more
   */
  readonly remove: (
    id: number,
    before?: Stored<F>,
  ) => Effect.Effect<Stored<F>, RecordNotFound | RecordChanged | StoreUnavailable>
  /** Exact number of records. */
  readonly count: () => Effect.Effect<number, StoreUnavailable>
}

/** Now, as a record notes it. */
const now = Effect.map(Clock.currentTimeMillis, (ms) => new Date(ms).toISOString())

/**
 * Binds a repository to one collection.
 *
 * The repository knows no record types. That its records have the collection's fields holds because everything stored
 * under the collection's name passed the collection's judgement.
 */
export const makeRecordStore = <F extends object>(
  { name, timestamps }: Collection<F>,
  repository: RecordRepository["Service"],
): RecordStore<F> => ({
  list: (page) => repository.list(name, page) as ReturnType<RecordStore<F>["list"]>,
  get: (id) => repository.get(name, id) as ReturnType<RecordStore<F>["get"]>,
  create: (fields) =>
    (timestamps
      ? Effect.flatMap(now, (time) => repository.create(name, stampCreated(fields, time)))
      : repository.create(name, fields as Fields)) as ReturnType<RecordStore<F>["create"]>,
  replace: (before, fields) => {
    const expected = fieldsOf(before)
    const swap = (next: Fields) => repository.replace(name, before.id, expected, next)
    return (
      timestamps ? Effect.flatMap(now, (time) => swap(stampUpdated(expected, fields, time))) : swap(fields as Fields)
    ) as ReturnType<RecordStore<F>["replace"]>
  },
  remove: (id, before) =>
    repository.remove(name, id, before && fieldsOf(before)) as ReturnType<RecordStore<F>["remove"]>,
  count: () => repository.count(name),
})
