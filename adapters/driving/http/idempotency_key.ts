import { createHash } from "node:crypto"
import { Clock, Effect } from "effect"
import type { KeysUnavailable, Unauthenticated } from "../../../domain/identity/errors.ts"
import type { CreateKey } from "../../../domain/records/create_key.ts"
import type { Guard } from "./guard.ts"
import { HttpRefusal } from "./http_refusal.ts"

/** Longest key, characters. */
const KEY_MAX = 255

/** The header by which a client makes a create happen once. */
export const IDEMPOTENCY_KEY = "Idempotency-Key"

/** A string of structured fields, as the draft asks for (RFC 9651 section 3.3.3): printable, in quotes, `"` and `\` escaped. */
const QUOTED_REGEXP = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])+)"$/

/** The same key without quotes, as most clients send it: a UUID, or another word. */
const BARE_REGEXP = /^[\w.:~+/=-]+$/

/** The refusal of a header that holds no key. */
export const invalidKey = new HttpRefusal({
  code: "INVALID_IDEMPOTENCY_KEY",
  detail: `${IDEMPOTENCY_KEY} must be one text in quotes, or one word, of 1 to ${KEY_MAX} characters`,
})

/** @returns the key that the header's value holds; undefined when it holds none */
const keyIn = (value: string): string | undefined => {
  const key = QUOTED_REGEXP.exec(value)?.[1]?.replace(/\\(.)/g, "$1") ?? (BARE_REGEXP.test(value) ? value : undefined)
  return key === undefined || key.length > KEY_MAX ? undefined : key
}

const digestOf = (...parts: ReadonlyArray<unknown>): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("base64url")

/** Makes the key of a create from the request's header and what it asks for. */
export type KeyOf = (
  request: Request,
) => Effect.Effect<((input: unknown) => CreateKey) | undefined, HttpRefusal | Unauthenticated | KeysUnavailable>

/**
 * Reads the `Idempotency-Key` header.
 *
 * Keys are the caller's own: the subject of the token takes part. Callers whose tokens name no subject share theirs. What is
 * kept are digests, so that no text of a client becomes part of a name in a store.
 *
 * @param guard knows the caller
 * @param form of the body, such as `json`: bodies of different forms are different bodies
 * @returns a function: undefined for a request without the header, which asks for nothing more
 * @fails {HttpRefusal} 400 when the header is there and holds no key
 * @see draft-ietf-httpapi-idempotency-key-header
 */
export const keyReader =
  (guard: Pick<Guard, "identify">, form: string): KeyOf =>
  (request) => {
    const value = request.headers.get(IDEMPOTENCY_KEY)
    if (value === null) return Effect.undefined
    const key = keyIn(value.trim())
    if (key === undefined) return Effect.fail(invalidKey)
    return Effect.map(
      Effect.all([guard.identify(request), Clock.currentTimeMillis]),
      ([{ subject }, atMs]) =>
        (input) => ({
          caller: digestOf(subject ?? null),
          key: digestOf(key),
          digest: digestOf(form, input),
          atMs,
        }),
    )
  }
