import type { Claims } from "./claims.ts"

/** Verified tokens remembered when the setup does not say: at 1 KB each about 10 MB. */
export const VERIFIED_TOKENS_DEFAULT = 10_000

interface Verified {
  readonly claims: Claims
  /** `nbf` of the token, seconds since the epoch; a clock set back must not open a token early. */
  readonly notBefore: number
}

/**
 * Remembers verified tokens: bounded, keyed by the whole token, least recently used out first, never beyond `exp`.
 * Refused tokens are not remembered, so a flood of them cannot push good ones out.
 */
export class VerifiedTokens {
  // A Map iterates in insertion order, so re-inserting on use keeps the least recently used entry first.
  readonly #entries = new Map<string, Verified>()
  readonly #capacity: number

  /** @param capacity tokens kept at most; 0 remembers nothing */
  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get size(): number {
    return this.#entries.size
  }

  /** @param nowS seconds since the epoch */
  get(token: string, nowS: number): Claims | undefined {
    const entry = this.#entries.get(token)
    if (entry === undefined) return undefined
    if (nowS >= entry.claims.expiresAt) {
      this.#entries.delete(token)
      return undefined
    }
    // Order only matters once something may have to go.
    if (this.#entries.size * 2 > this.#capacity) {
      this.#entries.delete(token)
      this.#entries.set(token, entry)
    }
    return nowS >= entry.notBefore ? entry.claims : undefined
  }

  /** @param notBefore `nbf` of the token, seconds since the epoch; 0 without one */
  add(token: string, claims: Claims, notBefore: number): void {
    this.#entries.set(token, { claims, notBefore })
    if (this.#entries.size <= this.#capacity) return
    const oldest = this.#entries.keys().next().value
    if (oldest !== undefined) this.#entries.delete(oldest)
  }
}
