// Keys of creates in this process's memory.
import { Effect } from "effect"
import { type Created, type CreateKey, KEY_LIFE_MS, KEYS_MAX } from "../../../domain/records/create_key.ts"
import { KeyReused } from "../../../domain/records/errors.ts"

interface Remembered {
  readonly digest: string
  readonly atMs: number
  readonly firstId: number
}

/** Remembers what was made under which key. */
export const memoryKeys = () => {
  /** By collection and caller; each in the order in which its keys came. */
  const keys = new Map<string, Map<string, Remembered>>()
  const keysOf = (collection: string, caller: string): Map<string, Remembered> => {
    const owner = JSON.stringify([collection, caller])
    const known = keys.get(owner) ?? new Map<string, Remembered>()
    keys.set(owner, known)
    return known
  }
  return {
    /** What an earlier call with the key gave, or why this one is refused; undefined for a key that is new or forgotten. */
    find: (
      collection: string,
      { caller, key, digest, atMs }: CreateKey,
    ): Effect.Effect<Created, KeyReused> | undefined => {
      const known = keysOf(collection, caller).get(key)
      if (known === undefined || known.atMs <= atMs - KEY_LIFE_MS) return undefined
      if (known.digest !== digest) return Effect.fail(new KeyReused({ collection }))
      return Effect.succeed({ firstId: known.firstId, firstAtMs: known.atMs })
    },
    /** Remembers the key, and forgets those that are too old or too many. */
    remember: (collection: string, { caller, key, digest, atMs }: CreateKey, firstId: number): void => {
      const known = keysOf(collection, caller)
      known.delete(key)
      known.set(key, { digest, atMs, firstId })
      for (const [oldest, entry] of known) {
        if (known.size <= KEYS_MAX && entry.atMs > atMs - KEY_LIFE_MS) break
        known.delete(oldest)
      }
    },
  }
}
