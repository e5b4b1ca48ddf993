import { Effect } from "effect"
import type { Meant } from "../../../application/records/record_updates.ts"
import { entityTag, matchesStrongly, matchesWeakly, readTags, type TagList } from "./entity_tag.ts"
import { HttpRefusal } from "./http_refusal.ts"

/** The refusal of a conditional header that cannot be read. To ignore it could overwrite what the client wants to keep. */
export const invalidCondition = (header: "If-Match" | "If-None-Match"): HttpRefusal =>
  new HttpRefusal({ code: "INVALID_CONDITION", detail: `The header '${header}' must be '*' or a list of entity tags` })

/** The refusal of a change that does not say which state of the record it is about. */
export const conditionRequired = new HttpRefusal({
  code: "CONDITION_REQUIRED",
  detail: "This collection takes a change only with 'If-Match' and the 'ETag' of the record as it was read",
})

const read = (headers: Headers, name: "If-Match" | "If-None-Match"): TagList | HttpRefusal | undefined => {
  const text = headers.get(name)
  return text === null ? undefined : (readTags(text) ?? invalidCondition(name))
}

/**
 * The state of a record that a request wants to change, as its conditional headers say.
 *
 * @param required true when there must be an `If-Match`
 * @returns a test of the record; `undefined` when the request has no condition
 * @fails {HttpRefusal} 400 for a header that cannot be read, 428 without the required one
 * @see RFC 9110 section 13, RFC 6585 section 3
 */
export const readCondition = (
  headers: Headers,
  required: boolean,
): Effect.Effect<Meant<object> | undefined, HttpRefusal> => {
  const match = read(headers, "If-Match")
  const noneMatch = read(headers, "If-None-Match")
  if (match instanceof HttpRefusal) return Effect.fail(match)
  if (noneMatch instanceof HttpRefusal) return Effect.fail(noneMatch)
  if (required && match === undefined) return Effect.fail(conditionRequired)
  if (match === undefined && noneMatch === undefined) return Effect.succeed(undefined)
  return Effect.succeed((record) => {
    const tag = entityTag(JSON.stringify(record))
    return (
      (match === undefined || matchesStrongly(match, tag)) &&
      (noneMatch === undefined || !matchesWeakly(noneMatch, tag))
    )
  })
}

/** True when the client of a GET has this state of the record already. A header that cannot be read asks for nothing. */
export const isKnown = (headers: Headers, tag: string): boolean => {
  const text = headers.get("if-none-match")
  const tags = text === null ? undefined : readTags(text)
  return tags !== undefined && matchesWeakly(tags, tag)
}
