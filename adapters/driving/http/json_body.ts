import { Effect } from "effect"
import { HttpRefusal } from "./refusal.ts"
import type { Asked } from "./request_info.ts"

/** Largest request body, bytes (contract section 2). */
const BODY_BYTES_MAX = 1_048_576

/** Longest time a body may take to arrive, milliseconds: a sender of single bytes must not hold a connection for ever. */
const BODY_DEADLINE_MS = 30_000

/** `application/json`, any case, with no parameter but `charset=utf-8` (RFC 8259: JSON is UTF-8). */
const JSON_TYPE_REGEXP = /^application\/json[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8")[ \t]*)?$/i

const tooLarge = new HttpRefusal({ code: "BODY_TOO_LARGE", detail: `The body must not exceed ${BODY_BYTES_MAX} bytes` })
const wrongType = new HttpRefusal({
  code: "UNSUPPORTED_MEDIA_TYPE",
  detail: "The body must be application/json in UTF-8, without content coding",
})
const broken = (detail: string) => new HttpRefusal({ code: "INVALID_JSON", detail })
const tooSlow = new HttpRefusal({
  code: "REQUEST_TIMEOUT",
  detail: `The body must arrive within ${BODY_DEADLINE_MS / 1000} s`,
})

/** Stops reading. A stream that has failed meanwhile has nothing left to stop. */
const drop = (reader: { readonly cancel: () => Promise<void> }): void => {
  reader.cancel().catch(() => {})
}

/** Reads a body of unknown length, stopping at the first byte too many, or when nobody waits for it any more. */
const readChunks = async (
  body: ReadableStream<Uint8Array>,
  abandoned: AbortSignal,
): Promise<Uint8Array | "too large"> => {
  const chunks: Array<Uint8Array> = []
  let length = 0
  const reader = body.getReader()
  abandoned.addEventListener("abort", () => drop(reader))
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    length += value.byteLength
    if (length > BODY_BYTES_MAX) {
      drop(reader)
      return "too large"
    }
    chunks.push(value)
  }
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.byteLength
  }
  return bytes
}

/** The bytes of a body that is still arriving. */
const arriving = (body: ReadableStream<Uint8Array>, deadlineMs: number): Effect.Effect<Uint8Array, HttpRefusal> =>
  Effect.callback((resume) => {
    const abandoned = new AbortController()
    // A timer rather than a racing program: every create passes here.
    const timer = setTimeout(() => {
      abandoned.abort()
      resume(Effect.fail(tooSlow))
    }, deadlineMs)
    const settle = (result: Effect.Effect<Uint8Array, HttpRefusal>) => {
      clearTimeout(timer)
      resume(result)
    }
    readChunks(body, abandoned.signal).then(
      (bytes) => settle(bytes === "too large" ? Effect.fail(tooLarge) : Effect.succeed(bytes)),
      () => settle(Effect.fail(broken("The body ended before it was complete"))),
    )
  })

const NOTHING = new Uint8Array()

const utf8 = new TextDecoder("utf-8", { fatal: true })

const decode = (bytes: Uint8Array): string | undefined => {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}

const parseJson = (bytes: Uint8Array, parse: (text: string) => unknown): Effect.Effect<unknown, HttpRefusal> => {
  if (bytes.byteLength === 0) return Effect.fail(broken("The body is empty"))
  const text = decode(bytes)
  if (text === undefined) return Effect.fail(broken("The body is not valid UTF-8"))
  return Effect.try({ try: () => parse(text), catch: () => broken("The body is not valid JSON") })
}

/**
 * Reads the request's body as one JSON value.
 *
 * @param deadlineMs longest time the body may take to arrive, milliseconds
 * @fails {HttpRefusal} 415 for another media type or a content coding, 413 over {@link BODY_BYTES_MAX} (declared or
 *   counted), 408 after {@link BODY_DEADLINE_MS}, 400 for an empty body, broken UTF-8 or broken JSON
 * @param parse reads the text as JSON; throws when it is not
 */
export const readJson = (
  request: Asked,
  parse: (text: string) => unknown = JSON.parse,
  deadlineMs: number = BODY_DEADLINE_MS,
): Effect.Effect<unknown, HttpRefusal> =>
  Effect.suspend(() => {
    const { headers } = request
    const coding = headers.get("content-encoding")
    if (!JSON_TYPE_REGEXP.test(headers.get("content-type") ?? "") || (coding !== null && coding !== "identity"))
      return Effect.fail(wrongType)
    const declared = headers.get("content-length")
    if (declared !== null && Number(declared) > BODY_BYTES_MAX) return Effect.fail(tooLarge)
    const { body } = request
    if (body === null) return parseJson(NOTHING, parse)
    if (body instanceof Uint8Array) return body.length > BODY_BYTES_MAX ? Effect.fail(tooLarge) : parseJson(body, parse)
    return Effect.flatMap(arriving(body, deadlineMs), (bytes) => parseJson(bytes, parse))
  })
