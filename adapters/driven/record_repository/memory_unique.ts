// Unique fields in this process's memory.
import { type Fields, fieldsOf, type Stored } from "../../../domain/records/record_repository.ts"
import { findTaken, type UniqueField, type UniqueValue, uniqueValue } from "../../../domain/records/unique_fields.ts"

/** Knows which record of a collection has which value of its unique fields. */
export const makeMemoryUnique = (unique: ReadonlyArray<UniqueField>) => {
  const owners = new Map(unique.map((field) => [field, new Map<UniqueValue, number>()]))
  const each = (record: Stored, work: (ids: Map<UniqueValue, number>, value: UniqueValue) => void): void => {
    for (const [field, ids] of owners) {
      const value = uniqueValue(field, record)
      if (value !== undefined) work(ids, value)
    }
  }
  /** As {@link findTaken}. @param id of the record that is to have the fields; 0 for new ones */
  const taken = (id: number, records: ReadonlyArray<Fields>) =>
    findTaken(unique, records, (field, value) => (owners.get(field)?.get(value) ?? id) !== id)
  const add = (record: Stored): void => each(record, (ids, value) => ids.set(value, record.id))

  return {
    taken,
    add,
    remove: (record: Stored): void => each(record, (ids, value) => ids.delete(value)),
    /** Adds records that are there. @returns a field of which two of them have the same value */
    addAll: (records: ReadonlyArray<Stored>): string | undefined => {
      for (const record of records) {
        const broken = taken(record.id, [fieldsOf(record)])
        if (broken !== undefined) return broken.field
        add(record)
      }
      return undefined
    },
  }
}
