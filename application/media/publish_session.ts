import { Clock, Effect, Random, Semaphore } from "effect"
import { invalidMedia, PublishBusy } from "../../domain/media/errors.ts"
import { type PublishEntry, PublishJournal } from "../../domain/media/publish_journal.ts"
import type { StoreUnavailable } from "../../domain/store_unavailable.ts"

/** How long others keep away after each step, ms: longer than a look's pause and one exchange together. */
const LEASE_MS = 180_000

/** How often a run that waits for another looks again, ms. */
const BUSY_LOOK_MS = 5_000

/** The work on one post while this run holds it. */
export interface PublishSession {
  /** The journal's entry after the last step. */
  readonly entry: () => PublishEntry
  /** What the journal keeps instead of a description, as `PublishJournal` says. */
  readonly fingerprint: (description: string) => string
  /**
   * Writes the next step and prolongs the hold. Steps of one run never overlap.
   *
   * @fails {PublishBusy} when another run has taken over; nothing more may be done then
   */
  readonly update: (
    change: (entry: PublishEntry) => Partial<Pick<PublishEntry, "slots" | "progress">>,
  ) => Effect.Effect<void, StoreUnavailable | PublishBusy>
}

const fresh = (key: string, accountId: string): PublishEntry => ({
  key,
  accountId,
  slots: {},
  progress: { state: "preparing" },
  lease: undefined,
})

/** Waits for the hold on a key, at most `waitMs`, and takes it by compare-and-set. */
const claim = Effect.fnUntraced(function* (key: string, accountId: string, waitMs: number) {
  const journal = yield* PublishJournal
  const owner = `${(yield* Random.nextInt).toString(36)}.${(yield* Random.nextInt).toString(36)}`
  const startedAt = yield* Clock.currentTimeMillis
  for (;;) {
    const stored = yield* journal.find(key)
    const nowMs = yield* Clock.currentTimeMillis
    const entry = stored?.entry ?? fresh(key, accountId)
    const heldMs = (entry.lease?.untilMs ?? 0) - nowMs
    if (entry.accountId !== accountId) return yield* invalidMedia("/key", "key", "names a post of another account")
    if (heldMs <= 0) {
      const mine = { ...entry, lease: { owner, untilMs: nowMs + LEASE_MS } }
      const version = stored?.version ?? 0
      if (yield* journal.put(mine, version)) return { entry: mine, version: version + 1, owner }
      continue
    }
    const leftMs = startedAt + waitMs - nowMs
    if (leftMs <= 0) return yield* new PublishBusy({ key, retryAfterMs: heldMs })
    yield* Effect.sleep(Math.min(heldMs, leftMs, BUSY_LOOK_MS))
  }
})

/**
 * Runs work on a post while no other run, of any instance, works on it.
 *
 * @param waitMs how long to wait for another run's hold to end; 0 refuses at once
 * @fails {PublishBusy} when the hold did not end in time
 */
export const withPublishSession = Effect.fnUntraced(function* <A, E, R>(
  hold: { readonly key: string; readonly accountId: string; readonly waitMs: number },
  work: (session: PublishSession) => Effect.Effect<A, E, R>,
) {
  const journal = yield* PublishJournal
  const oneByOne = yield* Semaphore.make(1)
  const claimed = yield* claim(hold.key, hold.accountId, hold.waitMs)
  const { owner } = claimed
  let entry: PublishEntry = claimed.entry
  let version = claimed.version

  const write = Effect.fnUntraced(function* (next: PublishEntry) {
    if (!(yield* journal.put(next, version))) {
      // The entry still names this run when an earlier write of this run was stored and its answer was lost.
      const stored = yield* journal.find(hold.key)
      const ours = stored !== undefined && stored.entry.lease?.owner === owner
      if (!ours || !(yield* journal.put(next, stored.version)))
        return yield* new PublishBusy({ key: hold.key, retryAfterMs: LEASE_MS })
      version = stored.version
    }
    version += 1
    entry = next
  })

  const session: PublishSession = {
    entry: () => entry,
    fingerprint: journal.fingerprint,
    update: (change) =>
      oneByOne.withPermits(1)(
        Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
          write({ ...entry, ...change(entry), lease: { owner, untilMs: nowMs + LEASE_MS } }),
        ),
      ),
  }
  // A failed release needs no cure: the hold was taken over already, or it ends by time.
  const release = Effect.suspend(() => write({ ...entry, lease: undefined })).pipe(
    Effect.catch((failure) =>
      Effect.logDebug("The hold on a post ends by time").pipe(Effect.annotateLogs({ code: failure.code })),
    ),
  )
  return yield* Effect.ensuring(work(session), release)
})
