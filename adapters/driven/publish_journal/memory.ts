import { Effect, Layer } from "effect"
import { PublishJournal, type StoredEntry } from "../../../domain/media/publish_journal.ts"

/** Keeps the journal in this process: it holds while the process lives. */
export const layer: Layer.Layer<PublishJournal> = Layer.sync(PublishJournal, () => {
  const entries = new Map<string, StoredEntry>()
  return PublishJournal.of({
    find: (key) => Effect.sync(() => entries.get(key)),
    put: (entry, version) =>
      Effect.sync(() => {
        if ((entries.get(entry.key)?.version ?? 0) !== version) return false
        entries.set(entry.key, { entry: structuredClone(entry), version: version + 1 })
        return true
      }),
  })
})
