import { createHash } from "node:crypto"
import type { PublishEntry } from "../../../domain/media/publish_journal.ts"

/** An entry as text: what every adapter keeps, so that all of them give back the same. */
export const encodeEntry = (entry: PublishEntry): string => JSON.stringify(entry)

/** The entry in a text of {@link encodeEntry}. JSON has no `undefined`; the members that may be so are put back. */
export const decodeEntry = (text: string): PublishEntry => {
  const { progress, ...entry } = JSON.parse(text) as PublishEntry
  return {
    ...entry,
    progress: progress.state === "published" ? { ...progress, mediaId: progress.mediaId } : progress,
    lease: entry.lease,
  }
}

/** SHA-256 of a text in UTF-8, 64 hex digits. */
export const fingerprint = (text: string): string => createHash("sha256").update(text).digest("hex")
