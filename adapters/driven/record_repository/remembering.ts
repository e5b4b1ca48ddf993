import { Effect } from "effect"
import { LRUCache } from "lru-cache"
import { isPlainPage } from "../../../domain/records/query.ts"
import type { RecordRepository, Stored } from "../../../domain/records/record_repository.ts"
import type { StoreUnavailable } from "../../../domain/store_unavailable.ts"
import { freezeDeep } from "./freeze_deep.ts"

/** Most characters of JSON that all remembered pages have together: as records, 4 to 5 bytes of memory for each. */
const CHARACTERS_MAX = 4 * 1024 * 1024

/** What a remembered page costs beside its characters, in characters. */
const ENTRY_CHARACTERS = 100

/**
 * A repository that remembers its pages: one that was listed before costs no reading of its rows.
 *
 * Pages are remembered while the store's version is the one they were read at: any write, whoever made it, ends them all.
 * Everything but `list` goes straight to the repository.
 *
 * @param repository where the records live
 * @param version a text that is another one after every committed write to the store, by this process or any other
 */
export const remembering = (
  repository: RecordRepository["Service"],
  version: () => Effect.Effect<string, StoreUnavailable>,
): RecordRepository["Service"] => {
  const pages = new LRUCache<string, ReadonlyArray<Stored>>({
    maxSize: CHARACTERS_MAX,
    // The key counts too: many lists of nothing, each for another value, must not fill the memory.
    sizeCalculation: (records, key) => key.length + JSON.stringify(records).length + ENTRY_CHARACTERS,
  })
  /** Version of the store that all remembered pages are of. */
  let current = ""
  return {
    ...repository,
    list: (collection, query) =>
      // The version is read first: of a write between the two, the page may know more than its version says, never less.
      Effect.flatMapEager(version(), (version) => {
        const { start, limit, where, order, after } = query
        const rest = isPlainPage(query) ? "" : JSON.stringify([where, order, after])
        if (version !== current) {
          pages.clear()
          current = version
        }
        const key = `${collection} ${start} ${limit} ${rest}`
        const known = pages.get(key)
        if (known !== undefined) return Effect.succeed(known)
        return Effect.mapEager(repository.list(collection, query), (records) => {
          // Many callers will share these records.
          records.forEach(freezeDeep)
          if (version === current) pages.set(key, records)
          return records
        })
      }),
  }
}
