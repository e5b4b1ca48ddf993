import type { TObject } from "typebox"
import { Check } from "typebox/schema"
import type { JsonObject } from "../json_object.ts"
import { type QueryField, queryFieldsOf } from "./query_field.ts"

/** Most unique fields of one collection: each is looked up at every write. */
export const UNIQUE_MAX = 16

/** A field of which no two records of a collection have the same value. Records without the field, or with `null`, do not count. */
export interface UniqueField extends QueryField {
  /** True when the field may be `null`. */
  readonly nullable: boolean
}

/** A value that a unique field may have. */
export type UniqueValue = string | number

/** The fields of a collection that may be unique, by name: those of texts alone, or of numbers alone, `null` aside. */
export const possiblyUnique = (fields: TObject): ReadonlyMap<string, UniqueField> =>
  new Map(
    [...queryFieldsOf({ fields })].flatMap(([name, field]): ReadonlyArray<[string, UniqueField]> => {
      const schema = fields.properties[name]
      return schema === undefined || field.kind === "flag" ? [] : [[name, { ...field, nullable: Check(schema, null) }]]
    }),
  )

/** The value that must be a record's alone; `undefined` when it has none, or one of another kind, from an earlier schema. */
export const uniqueValue = ({ name, kind }: QueryField, fields: JsonObject): UniqueValue | undefined => {
  const value = fields[name]
  if (kind === "text") return typeof value === "string" ? value : undefined
  return typeof value === "number" ? value : undefined
}

/**
 * The first of several new records with a value that another one has, stored or among them.
 *
 * @param isStored whether another stored record has this value of the field
 * @returns the field, and the record's place among the new ones
 */
export const findTaken = (
  unique: ReadonlyArray<UniqueField>,
  records: ReadonlyArray<JsonObject>,
  isStored: (field: UniqueField, value: UniqueValue) => boolean,
): { readonly field: string; readonly at: number } | undefined => {
  const seen = new Map(unique.map((field) => [field, new Set<UniqueValue>()]))
  for (const [at, fields] of records.entries())
    for (const [field, values] of seen) {
      const value = uniqueValue(field, fields)
      if (value === undefined) continue
      if (values.has(value) || isStored(field, value)) return { field: field.name, at }
      values.add(value)
    }
  return undefined
}

/** Why a collection cannot be served: its records break what it declares now. */
export const notUniqueYet = (collection: string, field: string): string =>
  `collection '${collection}', field '${field}' is to be unique, and two stored records have the same value`
