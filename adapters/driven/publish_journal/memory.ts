import { Effect, Layer } from "effect"
import { EMPTY_TALLY, PublishJournal } from "../../../domain/media/publish_journal.ts"
import { decodeEntry, encodeEntry, fingerprint } from "./stored_entry.ts"

/** Keeps the journal in this process: it holds while the process lives. */
export const layer: Layer.Layer<PublishJournal> = Layer.sync(PublishJournal, () => {
  const entries = new Map<string, { readonly body: string; readonly version: number }>()
  return PublishJournal.of({
    fingerprint,
    find: (key) =>
      Effect.sync(() => {
        const stored = entries.get(key)
        return stored === undefined ? undefined : { entry: decodeEntry(stored.body), version: stored.version }
      }),
    put: (entry, version) =>
      Effect.sync(() => {
        if ((entries.get(entry.key)?.version ?? 0) !== version) return false
        entries.set(entry.key, { body: encodeEntry(entry), version: version + 1 })
        return true
      }),
    tally: Effect.sync(() => {
      const tally = { ...EMPTY_TALLY }
      for (const { body } of entries.values()) tally[decodeEntry(body).progress.state]++
      return tally
    }),
  })
})
