import { Effect } from "effect"
import { HttpRefusal } from "./http_refusal.ts"

/** Largest request body, bytes (contract section 2). The runtime's own limit lies a little above. */
export const BODY_BYTES_MAX = 1_048_576

/** Longest time a body may take to arrive, milliseconds: a sender of single bytes must not hold a connection for ever. */
const BODY_DEADLINE_MS = 30_000

/** A media type in any case, with no parameter but `charset=utf-8` (RFC 8259: JSON is UTF-8). */
const typeRegExp = (type: string): RegExp =>
  new RegExp(`^${type.replace("+", "\\+")}[ \\t]*(?:;[ \\t]*charset=(?:utf-8|"utf-8")[ \\t]*)?$`, "i")

/** What a JSON body is sent as. */
interface BodyType {
  readonly regExp: RegExp
  readonly wrong: HttpRefusal
}

const tooLarge = new HttpRefusal({ code: "BODY_TOO_LARGE", detail: `The body must not exceed ${BODY_BYTES_MAX} bytes` })
const bodyType = (type: string, extra: { readonly acceptPatch?: string } = {}): BodyType => ({
  regExp: typeRegExp(type),
  wrong: new HttpRefusal({
    code: "UNSUPPORTED_MEDIA_TYPE",
    detail: `The body must be ${type} in UTF-8, without content coding`,
    ...extra,
  }),
})
/** Media type of a JSON Merge Patch (RFC 7396). */
export const MERGE_PATCH_TYPE = "application/merge-patch+json"
const JSON_BODY = bodyType("application/json")
const MERGE_PATCH_BODY = bodyType(MERGE_PATCH_TYPE, { acceptPatch: MERGE_PATCH_TYPE })
const broken = (detail: string) => new HttpRefusal({ code: "INVALID_JSON", detail })
const tooSlow = new HttpRefusal({
  code: "REQUEST_TIMEOUT",
  detail: `The body must arrive within ${BODY_DEADLINE_MS / 1000} s`,
})

const refusalsOf = ({ wrong }: BodyType): ReadonlyArray<HttpRefusal> => [
  broken("The body is not valid JSON"),
  tooSlow,
  tooLarge,
  wrong,
]

/** What reading a JSON body can end with. */
export const BODY_REFUSALS = refusalsOf(JSON_BODY)

/** What reading a merge patch can end with. */
export const PATCH_REFUSALS = refusalsOf(MERGE_PATCH_BODY)

const utf8 = new TextDecoder("utf-8", { fatal: true })

const parseJson = (bytes: ArrayBuffer, parse: (text: string) => unknown): Effect.Effect<unknown, HttpRefusal> => {
  if (bytes.byteLength > BODY_BYTES_MAX) return Effect.fail(tooLarge)
  if (bytes.byteLength === 0) return Effect.fail(broken("The body is empty"))
  return Effect.flatMap(
    Effect.try({ try: () => utf8.decode(bytes), catch: () => broken("The body is not valid UTF-8") }),
    (text) => Effect.try({ try: () => parse(text), catch: () => broken("The body is not valid JSON") }),
  )
}

const readBody = (
  request: Request,
  { regExp, wrong }: BodyType,
  parse: (text: string) => unknown,
  deadlineMs: number,
): Effect.Effect<unknown, HttpRefusal> => {
  const { headers } = request
  const coding = headers.get("content-encoding")
  if (!regExp.test(headers.get("content-type") ?? "") || (coding !== null && coding !== "identity"))
    return Effect.fail(wrong)
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
): Effect.Effect<unknown, HttpRefusal> => readBody(request, JSON_BODY, parse, deadlineMs)

/**
 * Reads the request's body as a JSON Merge Patch; the same rules hold as for {@link readJson}.
 *
 * @see RFC 7396 section 4
 */
export const readMergePatch = (request: Request): Effect.Effect<unknown, HttpRefusal> =>
  readBody(request, MERGE_PATCH_BODY, JSON.parse, BODY_DEADLINE_MS)
