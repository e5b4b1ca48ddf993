import { Effect } from "effect"
import { CHANGES_KEPT, type Change } from "../../../domain/records/change.ts"
import { PositionGone } from "../../../domain/records/errors.ts"
import type { Stored } from "../../../domain/records/record_repository.ts"
import { type ChangeLog, followLog, newLogName, positionIn, TAKEN_MAX } from "./change_log.ts"

/** Keeps a log of one collection's changes in this process's memory. */
export const makeMemoryLog = (collection: string) => {
  const name = newLogName()
  // The change of number n lies at n modulo the number of places, over the one that is dropped for it.
  const places: Array<Change<Stored>> = []
  let last = 0

  const read = (after: number) =>
    Effect.suspend(() => {
      if (last - after > CHANGES_KEPT) return Effect.fail(new PositionGone({ collection }))
      const count = Math.min(TAKEN_MAX, last - after)
      return Effect.succeed(
        Array.from({ length: count }, (_, at) => places[(after + 1 + at) % CHANGES_KEPT] as Change<Stored>),
      )
    })

  return {
    /** @param record nobody may write to it; of a deleted one its id */
    add: (kind: Change<Stored>["kind"], record: Stored): void => {
      last++
      places[last % CHANGES_KEPT] = { kind, position: positionIn(name, last), record }
    },
    follow: (after: string | undefined) => {
      const log: ChangeLog = { name, last }
      return followLog(collection, log, after, read)
    },
  }
}
