/** How long a key of a create is remembered, milliseconds: 24 hours. */
export const KEY_LIFE_MS = 24 * 60 * 60 * 1000

/** Most keys that are remembered for one caller and collection; the oldest are forgotten first. */
export const KEYS_MAX = 10_000

/**
 * What makes a create happen once, however often it is asked for.
 *
 * @see draft-ietf-httpapi-idempotency-key-header
 */
export interface CreateKey {
  /** Whose key it is: two callers may choose the same one. At most 64 characters. */
  readonly caller: string
  /** The caller's key. At most 64 characters. */
  readonly key: string
  /** Tells what was asked for from anything else. At most 64 characters. */
  readonly digest: string
  /** Now, milliseconds since the epoch. */
  readonly atMs: number
}

/** What creating several records gave. */
export interface Created {
  /** Id of the first record; the others follow it without a gap. */
  readonly firstId: number
  /** When an earlier call with the same key made the records, milliseconds since the epoch; else absent. */
  readonly firstAtMs?: number
}
