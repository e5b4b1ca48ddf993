import { Context, type Effect } from "effect"
import type { StoreUnavailable } from "../store_unavailable.ts"

/** A container made for a post, and of what it was made. */
export interface Slot {
  readonly containerId: string
  /** Milliseconds since the epoch; a container lives 24 hours. */
  readonly createdAtMs: number
  /** Of the description it was made from; another fingerprint asks for another container. */
  readonly fingerprint: string
}

/** How far the one publish call of a post has come. */
export type Progress =
  | { readonly state: "preparing" }
  /** Written before the call: from here on a post may exist. */
  | {
      readonly state: "intended"
      readonly containerId: string
      /** Publish calls begun for this container. */
      readonly sends: number
      /** When the last of them began, milliseconds since the epoch. */
      readonly sinceMs: number
      /** Only look, never send again. */
      readonly lookOnly: boolean
    }
  | { readonly state: "published"; readonly containerId: string; readonly mediaId: string | undefined }

/** What is known of one post. Holds ids, numbers and fingerprints; no text, no address, no token. */
export interface PublishEntry {
  /** Names the post for good: the same key never makes a second one. */
  readonly key: string
  readonly accountId: string
  /** Containers by place: `parent`, or the index of a carousel unit. */
  readonly slots: Readonly<Record<string, Slot>>
  readonly progress: Progress
  /** Who works on it, and until when the others keep away (milliseconds since the epoch). */
  readonly lease: { readonly owner: string; readonly untilMs: number } | undefined
}

/** How many posts have come how far. */
export type Tally = Readonly<Record<Progress["state"], number>>

/** Nothing counted yet. */
export const EMPTY_TALLY: Tally = { preparing: 0, intended: 0, published: 0 }

/** An entry as stored; `version` counts its writes. */
export interface StoredEntry {
  readonly entry: PublishEntry
  readonly version: number
}

/**
 * Driven port: the memory that makes a post exist once, across crashes and instances.
 *
 * `put` is a compare-and-set and returns only once the entry is durable.
 */
export class PublishJournal extends Context.Service<
  PublishJournal,
  {
    /** The entry of a key, `undefined` when there is none. */
    readonly find: (key: string) => Effect.Effect<StoredEntry | undefined, StoreUnavailable>
    /**
     * Stores the entry if the stored version is still `version` (0: no entry yet), which then becomes `version + 1`.
     *
     * @returns whether it was stored
     */
    readonly put: (entry: PublishEntry, version: number) => Effect.Effect<boolean, StoreUnavailable>
    /** How many posts have come how far, of every account and instance. */
    readonly tally: Effect.Effect<Tally, StoreUnavailable>
    /** What an entry keeps instead of a description: its SHA-256, 64 hex digits, from which it cannot be computed. */
    readonly fingerprint: (description: string) => string
  }
>()("portolan/domain/media/PublishJournal") {}
