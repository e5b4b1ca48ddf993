import { Effect } from "effect"
import { LRUCache } from "lru-cache"
import type { RecordRepository, Stored } from "../../../domain/records/record_repository.ts"
import type { StoreUnavailable } from "../../../domain/store_unavailable.ts"
import { freezeDeep } from "./freeze_deep.ts"

/** Most characters of JSON that all remembered pages have together. */
const CHARACTERS_MAX = 16 * 1024 * 1024

/**
 * A repository that remembers its pages: one that was listed before costs no reading of its rows.
 *
 * A page is remembered under the store's version, so any write, whoever made it, makes all of them out of reach; the
 * bound then pushes them out. Everything but `list` goes straight to the repository.
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
    sizeCalculation: (records) => JSON.stringify(records).length,
  })
  return {
    ...repository,
    list: (collection, page) =>
      // The version is read first: of a write between the two, the page may know more than its version says, never less.
      Effect.flatMapEager(version(), (version) => {
        const key = `${version} ${collection} ${page.start} ${page.limit}`
        const known = pages.get(key)
        if (known !== undefined) return Effect.succeed(known)
        return Effect.mapEager(repository.list(collection, page), (records) => {
          // Many callers will share these records.
          records.forEach(freezeDeep)
          pages.set(key, records)
          return records
        })
      }),
  }
}
