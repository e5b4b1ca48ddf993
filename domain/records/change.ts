import type { Stream } from "effect"
import type { StoreUnavailable } from "../store_unavailable.ts"
import type { PositionGone } from "./errors.ts"

/** Changes that a store with a log of its own keeps for each collection: whoever was away for longer begins anew. */
export const CHANGES_KEPT = 10_000

/**
 * A place in a collection's log of changes: letters, digits, `-`, `_` and `.`, whose meaning only the store knows. It is a
 * place of this collection in this store alone.
 */
export type Position = string

/**
 * One write that was done. `position` is its place: going on after it gives what came next.
 *
 * @typeParam R the stored records
 */
export type Change<R> =
  | { readonly kind: "create" | "replace"; readonly position: Position; readonly record: R }
  | { readonly kind: "delete"; readonly position: Position; readonly record: { readonly id: number } }

/**
 * A collection's changes from a place on.
 *
 * @typeParam R the stored records
 */
export interface ChangeFeed<R> {
  /** Where it begins: after it comes the first of `changes`. */
  readonly position: Position
  /**
   * Every change in the order of the writes, once, as far as the log goes, and then as they come. It waits for its reader, and
   * fails with {@link PositionGone} when that is so slow that the log no longer holds what comes next.
   */
  readonly changes: Stream.Stream<Change<R>, PositionGone | StoreUnavailable>
}
