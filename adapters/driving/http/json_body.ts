import { Effect } from "effect"
import { HttpRefusal } from "./http_refusal.ts"

/** Largest request body, bytes (specification 12). The runtime's own limit lies a little above. */
export const BODY_BYTES_MAX = 1_048_576

/** Longest time a body may take to arrive, milliseconds: a sender of single bytes must not hold a connection for ever. */
const BODY_DEADLINE_MS = 30_000

/** `application/json`, any case, with no parameter but `charset=utf-8` (RFC 8259: JSON is UTF-8). */
const JSON_TYPE_REGEXP = /^application\/json[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8")[ \t]*)?$/i

/** Lines of JSON under either of the names in use; no parameter but `charset=utf-8`. */
const LINES_TYPE_REGEXP = /^application\/(?:x-)?ndjson[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8")[ \t]*)?$/i

/** Media type of a JSON Merge Patch (RFC 7396). */
export const MERGE_PATCH_TYPE = "application/merge-patch+json"

const MERGE_PATCH_TYPE_REGEXP = /^application\/merge-patch\+json[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8")[ \t]*)?$/i

const tooLarge = new HttpRefusal({ code: "BODY_TOO_LARGE", detail: `The body must not exceed ${BODY_BYTES_MAX} bytes` })
const wrongType = (type: string, extra: { readonly acceptPatch?: string } = {}) =>
  new HttpRefusal({
    code: "UNSUPPORTED_MEDIA_TYPE",
    detail: `The body must be ${type} in UTF-8, without content coding`,
    ...extra,
  })

/** A media type that a route takes. */
interface BodyType {
  readonly regexp: RegExp
  readonly refusal: HttpRefusal
}

const JSON_BODY: BodyType = { regexp: JSON_TYPE_REGEXP, refusal: wrongType("application/json") }
const LINES_BODY: BodyType = { regexp: LINES_TYPE_REGEXP, refusal: wrongType("application/x-ndjson") }
const PATCH_BODY: BodyType = {
  regexp: MERGE_PATCH_TYPE_REGEXP,
  refusal: wrongType(MERGE_PATCH_TYPE, { acceptPatch: MERGE_PATCH_TYPE }),
}

const broken = (detail: string) => new HttpRefusal({ code: "INVALID_JSON", detail })
const tooSlow = new HttpRefusal({
  code: "REQUEST_TIMEOUT",
  detail: `The body must arrive within ${BODY_DEADLINE_MS / 1000} s`,
})

const refusalsOf = ({ refusal }: BodyType): ReadonlyArray<HttpRefusal> => [
  broken("The body is not valid JSON"),
  tooSlow,
  tooLarge,
  refusal,
]

/** What reading a body of JSON can end with. */
export const BODY_REFUSALS = refusalsOf(JSON_BODY)

/** What reading a body of lines can end with. */
export const LINES_REFUSALS = refusalsOf(LINES_BODY)

/** What reading a merge patch can end with. */
export const PATCH_REFUSALS = refusalsOf(PATCH_BODY)

const utf8 = new TextDecoder("utf-8", { fatal: true })

const parseJson = (bytes: ArrayBuffer, parse: (text: string) => unknown): Effect.Effect<unknown, HttpRefusal> => {
  if (bytes.byteLength > BODY_BYTES_MAX) return Effect.fail(tooLarge)
  if (bytes.byteLength === 0) return Effect.fail(broken("The body is empty"))
  return Effect.flatMap(
    Effect.try({ try: () => utf8.decode(bytes), catch: () => broken("The body is not valid UTF-8") }),
    (text) =>
      Effect.try({
        try: () => parse(text),
        catch: (failure) => (failure instanceof HttpRefusal ? failure : broken("The body is not valid JSON")),
      }),
  )
}

const readBody = (
  { regexp, refusal }: BodyType,
  request: Request,
  parse: (text: string) => unknown,
  deadlineMs: number,
): Effect.Effect<unknown, HttpRefusal> => {
  const { headers } = request
  const coding = headers.get("content-encoding")
  if (!regexp.test(headers.get("content-type") ?? "") || (coding !== null && coding !== "identity"))
    return Effect.fail(refusal)
  if (Number(headers.get("content-length") ?? 0) > BODY_BYTES_MAX) return Effect.fail(tooLarge)
  return Effect.tryPromise({
    try: () => request.arrayBuffer(),
    catch: () => broken("The body ended before it was complete"),
  }).pipe(
    Effect.timeoutOrElse({ duration: deadlineMs, orElse: () => Effect.fail(tooSlow) }),
    Effect.flatMap((bytes) => parseJson(bytes, parse)),
  )
}

/**
 * Reads the request's body as one JSON value.
 *
 * @param parse reads the text as JSON; throws when it is not
 * @param deadlineMs longest time the body may take to arrive, milliseconds
 * @fails {HttpRefusal} 415 for another media type or a content coding, 413 over {@link BODY_BYTES_MAX} (declared or
 *   counted), 408 after the deadline, 400 for an empty body, broken UTF-8 or broken JSON
 */
export const readJson = (
  request: Request,
  parse: (text: string) => unknown = JSON.parse,
  deadlineMs: number = BODY_DEADLINE_MS,
): Effect.Effect<unknown, HttpRefusal> => readBody(JSON_BODY, request, parse, deadlineMs)

/** @throws {HttpRefusal} that names the line, from 1, which is not JSON; blank lines are passed over */
const parseLines = (text: string): ReadonlyArray<unknown> =>
  text.split("\n").flatMap((line, at) => {
    if (line.trim() === "") return []
    try {
      return [JSON.parse(line)]
    } catch {
      throw broken(`Line ${at + 1} of the body is not valid JSON`)
    }
  })

/**
 * Reads the request's body as one JSON value a line, as {@link readJson} reads one.
 *
 * @returns an array of the values
 * @see github.com/ndjson/ndjson-spec
 */
export const readLines = (request: Request): Effect.Effect<unknown, HttpRefusal> =>
  readBody(LINES_BODY, request, parseLines, BODY_DEADLINE_MS)

/**
 * Reads the request's body as a JSON Merge Patch, as {@link readJson} reads one value.
 *
 * @see RFC 7396 section 4
 */
export const readMergePatch = (request: Request): Effect.Effect<unknown, HttpRefusal> =>
  readBody(PATCH_BODY, request, JSON.parse, BODY_DEADLINE_MS)
