// The log of changes of a store that counts them: each has the number after the one before it, and the last ones are kept.
import { Effect, Stream } from "effect"
import type { Change, ChangeFeed } from "../../../domain/records/change.ts"
import { PositionGone } from "../../../domain/records/errors.ts"
import type { Stored } from "../../../domain/records/record_repository.ts"
import type { StoreUnavailable } from "../../../domain/store_unavailable.ts"

/** How often a feed that has told everything looks for more. A look that finds nothing costs some microseconds. */
const LOOK_PERIOD = "100 millis"

/** Most changes that one look takes out of the log: what a slow reader has not taken yet lies in memory. */
export const TAKEN_MAX = 50

/** The log of one collection. */
export interface ChangeLog {
  /** Random name of the log, of letters and digits: a position of another log must not be taken for one of this. */
  readonly name: string
  /** Number of the newest change; 0 before the first. */
  readonly last: number
}

/** A new name of a log. */
export const newLogName = (): string => crypto.randomUUID().replaceAll("-", "").slice(0, 12)

/** The position of a change by its number. */
export const positionIn = (log: string, number: number): string => `${log}.${number}`

const POSITION_REGEXP = /^([\da-z]{12})\.(0|[1-9]\d{0,15})$/

const numberIn = (log: ChangeLog, position: string): number | undefined => {
  const [, name, digits] = POSITION_REGEXP.exec(position) ?? []
  const number = Number(digits)
  return name === log.name && number <= log.last ? number : undefined
}

/**
 * Follows a log.
 *
 * @param log as it is now
 * @param after a position, or undefined for the end of the log
 * @param read the changes after the one of this number, oldest first, at most {@link TAKEN_MAX}; it fails when they are not kept
 */
export const followLog = Effect.fnUntraced(function* (
  collection: string,
  log: ChangeLog,
  after: string | undefined,
  read: (after: number) => Effect.Effect<ReadonlyArray<Change<Stored>>, PositionGone | StoreUnavailable>,
) {
  const start = after === undefined ? log.last : numberIn(log, after)
  if (start === undefined) return yield* new PositionGone({ collection })
  // What a stream finds out only later is asked once now: a client is then told by a status, not by the end of its stream.
  yield* read(start)
  let told = start
  const next = Effect.gen(function* () {
    for (;;) {
      const changes = yield* read(told)
      told += changes.length
      if (changes.length > 0) return changes
      yield* Effect.sleep(LOOK_PERIOD)
    }
  })
  const feed: ChangeFeed<Stored> = {
    position: positionIn(log.name, start),
    changes: Stream.fromIterableEffectRepeat(next),
  }
  return feed
})
