import { Effect } from "effect"
import { assignedFields } from "../../domain/records/assigned_fields.ts"
import type { Collection } from "../../domain/records/collection.ts"
import { type InvalidRecord, type NotUnique, RecordChanged, type RecordNotFound } from "../../domain/records/errors.ts"
import { mergePatch, readPatch } from "../../domain/records/merge_patch.ts"
import type { Stored } from "../../domain/records/record_repository.ts"
import type { StoreUnavailable } from "../../domain/store_unavailable.ts"

/** True for the state of a record that the caller means; asked of what is stored when the change is made. */
export type Meant<F extends object> = (record: Stored<F>) => boolean

/** What of a collection's store a change needs. */
export interface UpdatedStore<F extends object> {
  readonly get: (id: number) => Effect.Effect<Stored<F>, RecordNotFound | StoreUnavailable>
  /**
   * Puts other fields in the place of those of a record.
   *
   * @param before the record as it was read
   * @param fields already judged by the collection
   * @fails {RecordChanged} when the record is not the same any more
   */
  readonly replace: (before: Stored<F>, fields: F) => Changing<F, NotUnique>
  /**
   * Deletes and returns the record.
   *
   * @param before the record as it was read; whatever it is now when omitted
   * @fails {RecordChanged} when the record is not the same any more
   */
  readonly remove: (id: number, before?: Stored<F>) => Changing<F>
}

type Changing<F extends object, E = never> = Effect.Effect<
  Stored<F>,
  E | RecordNotFound | RecordChanged | StoreUnavailable
>

/**
 * The use cases that change a record. Each changes the record that it has read, or none: when another write comes between,
 * it reads again, asks again whether that is the record the caller means, and judges again.
 *
 * @fails {RecordChanged} when the record is not, or no longer, in the state that is meant
 */
export interface RecordUpdates<F extends object> {
  /** @param input untrusted: the whole record without what the server assigns */
  readonly replace: (id: number, input: unknown, meant?: Meant<F>) => Changing<F, InvalidRecord | NotUnique>
  /** @param patch untrusted: a JSON Merge Patch (RFC 7396); what it makes of the record is judged as a create is */
  readonly patch: (id: number, patch: unknown, meant?: Meant<F>) => Changing<F, InvalidRecord | NotUnique>
  /** Deletes and returns the record. */
  readonly remove: (id: number, meant?: Meant<F>) => Changing<F>
}

/**
 * How often a change is tried. Each lost try is another caller's success, so only a record that is written without end is
 * not changed by then.
 */
const TRIES_MAX = 1000

/** The changes of one collection over its store. */
export const makeRecordUpdates = <F extends object>(
  collection: Collection<F>,
  store: UpdatedStore<F>,
): RecordUpdates<F> => {
  const assigned = assignedFields(collection)
  const changed = Effect.fail(new RecordChanged({ collection: collection.name }))

  const change = <E>(
    id: number,
    meant: Meant<F>,
    write: (record: Stored<F>) => Changing<F, E>,
    triesLeft = TRIES_MAX,
  ): Changing<F, E> =>
    Effect.flatMap(store.get(id), (record) => {
      if (!meant(record) || triesLeft === 0) return changed
      return Effect.catchIf(
        write(record),
        (failure) => failure instanceof RecordChanged,
        () => change(id, meant, write, triesLeft - 1),
      )
    })

  /** The record as a client would have to submit it. */
  const submittable = (record: Stored<F>): object =>
    Object.fromEntries(Object.entries(record).filter(([key]) => !assigned.includes(key)))

  const always: Meant<F> = () => true

  return {
    replace: (id, input, meant = always) =>
      Effect.flatMap(collection.check(input), (fields) => change(id, meant, (record) => store.replace(record, fields))),
    patch: (id, input, meant = always) =>
      Effect.flatMap(readPatch(collection, input), (patch) =>
        change(id, meant, (record) =>
          Effect.flatMap(collection.check(mergePatch(submittable(record), patch)), (fields) =>
            store.replace(record, fields),
          ),
        ),
      ),
    remove: (id, meant) =>
      meant === undefined ? store.remove(id) : change(id, meant, (record) => store.remove(id, record)),
  }
}
