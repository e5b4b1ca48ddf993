import { Deferred, Effect, type Scope } from "effect"
import { type HttpRefusal, tooManyFeeds } from "./http_refusal.ts"

/** Feeds that may be open at a time, where nobody says how many. */
export const FEEDS_MAX = 256

/** The feeds of changes that are open: how many there may be, and their common end. */
export interface OpenFeeds {
  /**
   * Takes a place until the scope ends.
   *
   * @fails {HttpRefusal} 503 when none is free
   */
  readonly enter: Effect.Effect<void, HttpRefusal, Scope.Scope>
  /** Completes when every feed is to end. */
  readonly ended: Effect.Effect<void>
  /** Ends them all, and those that are opened later: the service is about to stop, and they would never end by themselves. */
  readonly end: () => void
}

/** @param max how many feeds may be open at a time */
export const makeOpenFeeds = (max: number = FEEDS_MAX): OpenFeeds => {
  const end = Deferred.makeUnsafe<void>()
  let open = 0
  return {
    enter: Effect.acquireRelease(
      Effect.suspend(() => {
        if (open >= max) return Effect.fail(tooManyFeeds)
        open++
        return Effect.void
      }),
      () =>
        Effect.sync(() => {
          open--
        }),
    ),
    ended: Deferred.await(end),
    end: () => {
      Deferred.doneUnsafe(end, Effect.void)
    },
  }
}
