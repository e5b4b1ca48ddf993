import type { Access } from "../../../domain/identity/claims.ts"
import type { BoundAnswer } from "./request_info.ts"

/** What routing a request of one URL came to: who may have it, and what answers it. */
export interface KnownUrl {
  readonly route: string | undefined
  readonly rules: ReadonlyArray<Access>
  readonly bound: BoundAnswer
}

const URLS_MAX = 10_000
const URL_LENGTH_MAX = 500

/**
 * Remembers where URLs lead. Routes never change while the service runs, so what is remembered is the way to the answer,
 * never the answer: the caller is judged and the store is asked every time.
 */
export class KnownUrls {
  readonly #known = new Map<string, KnownUrl>()

  get(url: string): KnownUrl | undefined {
    return this.#known.get(url)
  }

  /** Bounded: the URL known longest goes first. */
  add(url: string, known: KnownUrl): void {
    if (url.length > URL_LENGTH_MAX) return
    this.#known.set(url, known)
    if (this.#known.size <= URLS_MAX) return
    const oldest = this.#known.keys().next().value
    if (oldest !== undefined) this.#known.delete(oldest)
  }
}
