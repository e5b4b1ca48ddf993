// The cursor of a list: the place that the next page begins behind, and which list it belongs to. It grants nothing: what
// it holds is judged like any other value of a query, so it needs no signature.
import { Buffer } from "node:buffer"
import { createHash } from "node:crypto"
import type { WantedList } from "../../../domain/records/list_query.ts"
import type { Place } from "../../../domain/records/query.ts"

/** Longest cursor, characters: a client must be able to send it back in a head of at most 16 KiB. */
export const CURSOR_LENGTH_MAX = 6_000

/** The lists that share a cursor: one collection, one order, the same conditions in any order. */
export const listFingerprint = (collection: string, { where = [], order = [] }: WantedList): string =>
  createHash("sha256")
    .update(JSON.stringify([collection, where.map((each) => JSON.stringify(each)).toSorted(), order]))
    .digest("base64url")
    .slice(0, 12)

/** A place in a list as opaque text. */
export const cursorOf = (fingerprint: string, place: Place): string =>
  Buffer.from(JSON.stringify([fingerprint, ...place])).toString("base64url")

/** @returns the place; nothing for a text that is no cursor, or one of another list */
export const readCursor = (fingerprint: string, text: string): Place | undefined => {
  if (!/^[\w-]+$/.test(text)) return undefined
  try {
    const bytes = Buffer.from(text, "base64url")
    const held: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes))
    // That each value is one of its field is judged where the query is made.
    return Array.isArray(held) && held[0] === fingerprint ? held.slice(1) : undefined
  } catch {
    return undefined
  }
}
