import type { Fields, Stored } from "../../../domain/records/record_repository.ts"

const freezeDeep = <A>(value: A): A => {
  if (typeof value === "object" && value !== null) {
    Object.values(value).forEach(freezeDeep)
    Object.freeze(value)
  }
  return value
}

/** The record as handed out: `id` first, immutable at every depth. Takes `fields` over. */
export const storedRecord = (id: number, fields: Fields): Stored => freezeDeep({ id, ...fields })

/** Fields as JSON text: what is kept has no tie to the caller's objects. */
export const encodeFields = (fields: Fields): string => JSON.stringify(fields)

export const decodeFields = (body: string): Fields => JSON.parse(body)

export const decodeRecord = (id: number, body: string): Stored => storedRecord(id, decodeFields(body))
