import { Effect } from "effect"
import { InvalidPage } from "./errors.ts"

/** Rows a list returns when `limit` is omitted (specification 4.1 does not tell). */
export const PAGE_LIMIT_DEFAULT = 100

/** Largest page; a larger `limit` is clamped to it (specification 8). */
export const PAGE_LIMIT_MAX = 1000

/** A slice of a collection in ascending id order: skip `start` records, take at most `limit`. */
export interface Page {
  /** Records to skip, 0..2^53-1. */
  readonly start: number
  /** Records to return at most, 0..{@link PAGE_LIMIT_MAX}. */
  readonly limit: number
}

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0

const invalid = (parameter: InvalidPage["parameter"]) =>
  Effect.fail(new InvalidPage({ parameter, rule: "a whole number from 0 to 9007199254740991" }))

/**
 * Makes a page from optional numbers, clamping `limit`.
 *
 * @param wanted.start records to skip; 0 when omitted
 * @param wanted.limit page size; {@link PAGE_LIMIT_DEFAULT} when omitted, clamped to {@link PAGE_LIMIT_MAX}
 * @fails {InvalidPage} when either is not a whole number in 0..2^53-1
 * @see specification 4.1 and 8
 */
export const makePage = ({
  start = 0,
  limit = PAGE_LIMIT_DEFAULT,
}: {
  readonly start?: number
  readonly limit?: number
}): Effect.Effect<Page, InvalidPage> => {
  if (!isCount(start)) return invalid("start")
  if (!isCount(limit)) return invalid("limit")
  return Effect.succeed({ start, limit: Math.min(limit, PAGE_LIMIT_MAX) })
}
