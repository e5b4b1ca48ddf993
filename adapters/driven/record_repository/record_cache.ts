import type { Page } from "../../../domain/records/page.ts"
import type { Stored } from "../../../domain/records/record_repository.ts"

/**
 * A map bounded by weight that forgets what was not asked for lately.
 *
 * Two generations: a hit in the old one moves to the young one; when the young one is half the capacity, it becomes the
 * old one. A hit costs one look-up, nothing is reordered.
 */
class Generations<K, V> {
  readonly #capacity: number
  #young = new Map<K, { readonly value: V; readonly weight: number }>()
  #old = this.#young
  #youngWeight = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get(key: K): V | undefined {
    const young = this.#young.get(key)
    if (young !== undefined) return young.value
    const old = this.#old.get(key)
    if (old === undefined) return undefined
    this.set(key, old.value, old.weight)
    return old.value
  }

  set(key: K, value: V, weight: number): void {
    if (weight > this.#capacity / 2) return
    if (this.#youngWeight + weight > this.#capacity / 2) {
      this.#old = this.#young
      this.#young = new Map()
      this.#youngWeight = 0
    }
    this.#young.set(key, { value, weight })
    this.#youngWeight += weight
  }

  delete(key: K): void {
    this.#young.delete(key)
    this.#old.delete(key)
  }

  clear(): void {
    this.#young = new Map()
    this.#old = this.#young
    this.#youngWeight = 0
  }
}

/** Most characters of JSON remembered per collection, once for records and once for pages. */
const CAPACITY = 16 * 1024 * 1024

/** Room an entry takes besides its text, in characters. */
const OVERHEAD = 200

const pageKey = (page: Page): string => `${page.start},${page.limit}`

/** What is known of one collection: decoded records, and lists of them as they were handed out. */
class CollectionCache {
  readonly #records = new Generations<number, Stored>(CAPACITY)
  readonly #pages = new Generations<string, ReadonlyArray<Stored>>(CAPACITY)

  record(id: number): Stored | undefined {
    return this.#records.get(id)
  }

  page(page: Page): ReadonlyArray<Stored> | undefined {
    return this.#pages.get(pageKey(page))
  }

  /** @param length characters of the record's JSON */
  keep(record: Stored, length: number): void {
    this.#records.set(record.id, record, length + OVERHEAD)
  }

  /** @param length characters of the page's JSON */
  keepPage(page: Page, records: ReadonlyArray<Stored>, length: number): void {
    this.#pages.set(pageKey(page), records, length + (records.length + 1) * OVERHEAD)
  }

  forget(id: number): void {
    this.#records.delete(id)
  }

  forgetPages(): void {
    this.#pages.clear()
  }
}

/** A {@link CollectionCache} for each collection that was asked for. */
export class RecordCache {
  #collections = new Map<string, CollectionCache>()

  of(collection: string): CollectionCache {
    const known = this.#collections.get(collection)
    if (known !== undefined) return known
    const cache = new CollectionCache()
    this.#collections.set(collection, cache)
    return cache
  }

  clear(): void {
    this.#collections.clear()
  }
}
