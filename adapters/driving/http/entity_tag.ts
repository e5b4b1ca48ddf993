import { hash } from "node:crypto"
import { uncodedTag } from "./compression.ts"

/** Characters of the digest that a tag shows: 132 bits. */
const LENGTH = 22

/**
 * The strong validator of a record: a digest of its JSON text, so the same record has the same tag in every store.
 *
 * @param json the record as JSON text
 * @returns the tag in its double quotes, as `ETag` shows it
 * @see RFC 9110 section 8.8.3
 */
export const entityTag = (json: string): string => `"${hash("sha256", json, "base64url").slice(0, LENGTH)}"`

/** One tag of a list; what lies between the quotes may hold commas (RFC 9110 section 8.8.3). */
const TAG_REGEXP = /[ \t]*(?:((?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")[ \t]*)?(?:,|$)/y

/** The tags of a conditional header; `any` for `*`. */
export type TagList = "any" | ReadonlyArray<string>

/**
 * Reads `If-Match` or `If-None-Match`. A tag that came with a compressed answer stands for the record's own one, too.
 *
 * @returns `undefined` when the text is neither `*` nor a list of tags
 * @see RFC 9110 sections 13.1.1 and 13.1.2
 */
export const readTags = (text: string): TagList | undefined => {
  if (text.trim() === "*") return "any"
  const tags: Array<string> = []
  for (let at = 0; at < text.length; at = TAG_REGEXP.lastIndex) {
    TAG_REGEXP.lastIndex = at
    const found = TAG_REGEXP.exec(text)
    if (found === null) return undefined
    if (found[1] !== undefined) tags.push(...new Set([found[1], uncodedTag(found[1])]))
  }
  return tags.length === 0 ? undefined : tags
}

/** True when the list names the tag and neither is weak: for `If-Match` (RFC 9110 section 8.8.3.2). */
export const matchesStrongly = (tags: TagList, tag: string): boolean => tags === "any" || tags.includes(tag)

/** True when the list names the tag, weak or not: for `If-None-Match`. */
export const matchesWeakly = (tags: TagList, tag: string): boolean =>
  tags === "any" || tags.some((each) => each.replace(/^W\//, "") === tag)
