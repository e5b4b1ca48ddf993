import { entityTag } from "./entity_tag.ts"
import { type Answer, envelope } from "./respond.ts"

/** Canonical decimal 1..2^53-1: one record has one address. */
const ID_REGEXP = /^[1-9]\d{0,15}$/

/** The id in a path; `undefined` for a text that is no id. */
export const readId = (text: string | null | undefined): number | undefined => {
  const id = typeof text === "string" && ID_REGEXP.test(text) ? Number(text) : 0
  return id >= 1 && id <= Number.MAX_SAFE_INTEGER ? id : undefined
}

/** A value in the success envelope (specification 2.1). */
export const render = (value: object): string => envelope(JSON.stringify(value))

/** A record as it is stored now, with its validator. */
export const recordAnswer = (record: object): Answer & { readonly headers: { readonly etag: string } } => {
  const json = JSON.stringify(record)
  return { status: 200, headers: { etag: entityTag(json) }, body: envelope(json) }
}
