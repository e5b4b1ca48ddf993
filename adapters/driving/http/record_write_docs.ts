import { Effect, Exit } from "effect"
import { isObject } from "../../../domain/json_object.ts"
import type { Collection, Operation } from "../../../domain/records/collection.ts"
import { InvalidRecord, NotUnique, RecordChanged, type RecordNotFound } from "../../../domain/records/errors.ts"
import { mergePatch } from "../../../domain/records/merge_patch.ts"
import { BODY_REFUSALS, MERGE_PATCH_TYPE, PATCH_REFUSALS } from "./json_body.ts"
import type { ServiceError } from "./problem.ts"
import { headerDoc, ID_HEADER, jsonBody, okDoc, type ResponseDoc, type ResponseDocs } from "./problem_docs.ts"
import { conditionRequired, invalidCondition } from "./record_condition.ts"

/** Header of every answer that shows one record as it is stored. */
export const ETAG_HEADER = { ETag: headerDoc("Strong validator of the record (RFC 9110 section 8.8.3)") }

const condition = (name: "If-Match" | "If-None-Match", description: string, required = false) => ({
  name,
  in: "header",
  description,
  required,
  schema: { type: "string" },
})

/** What a GET of one record takes. */
export const IF_NONE_MATCH = condition(
  "If-None-Match",
  "Entity tags of what the client has: the answer is 304 when the record is one of them (RFC 9110 section 13.1.2)",
)

/** The answer to a client that has the record already. */
export const NOT_MODIFIED: ResponseDoc = {
  description: "The record is what the client has",
  headers: { ...ID_HEADER, ...ETAG_HEADER },
}

/**
 * What a request that changes one record takes as a condition, and the refusals that come of it.
 *
 * @param required true where the collection takes no change without `If-Match`
 */
export const changeCondition = (collection: string, required: boolean) => ({
  parameters: [
    condition(
      "If-Match",
      "Entity tag of the record as it was read, several, or `*`: another state of the record is 412 (RFC 9110 section 13.1.1)",
      required,
    ),
  ],
  refusals: [
    invalidCondition("If-Match"),
    new RecordChanged({ collection }),
    ...(required ? [conditionRequired] : []),
  ] as ReadonlyArray<ServiceError>,
})

/** The refusal of a value that another record has, of a collection with unique fields. */
export const uniqueRefusals = ({ name, unique = [] }: Collection<object>): ReadonlyArray<ServiceError> =>
  unique.slice(0, 1).map((field) => new NotUnique({ collection: name, field }))

/** What the operations of one collection are described with. */
interface Parts {
  readonly collection: Collection<object>
  readonly operation: (
    kind: Operation,
    summary: string,
    rest: { readonly parameters: ReadonlyArray<object> },
    successes: ResponseDocs,
    errors: ReadonlyArray<ServiceError>,
  ) => object
  readonly idParameter: object
  readonly notFound: RecordNotFound
  /** Schemas of a record, of what a client submits of it, and of a patch. */
  readonly record: object
  readonly submitted: object
  readonly patch: object
  readonly example: { readonly sent: object; readonly record: object } | undefined
}

/** An example of a patch: the first field of the example record that may be sent alone. */
const patchExample = ({ collection, example }: Parts) => {
  if (example === undefined) return undefined
  const patches = Object.entries(example.sent).map(([key, value]) => ({ [key]: value }))
  return patches.find((patch) => Exit.isSuccess(Effect.runSyncExit(collection.check(mergePatch(example.sent, patch)))))
}

const NULL = { type: "null" } as const

/**
 * The schema of a merge patch: any fields of the record, `null` for one to be removed. Those that a record cannot be without
 * have no `null`; those with a default have it again once they are removed.
 */
export const patchSchema = (schema: object): object => {
  const { default: fallback, ...plain } = schema as { readonly default?: unknown; readonly required?: unknown }
  if (!("properties" in plain) || !isObject(plain.properties)) return plain
  const { required, properties, ...rest } = plain
  const needed: ReadonlyArray<unknown> = Array.isArray(required) ? required : []
  const members = Object.entries(properties).map(([key, member]): [string, unknown] => {
    if (!isObject(member)) return [key, member]
    const changed = patchSchema(member)
    return [key, needed.includes(key) && !("default" in member) ? changed : { anyOf: [changed, NULL] }]
  })
  return { ...rest, properties: Object.fromEntries(members) }
}

/** OpenAPI operations that change a record as a whole or in part, from the same schema that judges its records. */
export const changeDocs = (parts: Parts): Readonly<Record<"replace" | "patch", object>> => {
  const { collection, operation, idParameter, notFound, record, submitted, patch, example } = parts
  const { name, requireMatch = false } = collection
  const { parameters, refusals } = changeCondition(name, requireMatch)
  const changed = { 200: okDoc("The record as it is now", record, example?.record, { headers: ETAG_HEADER }) }
  const assigned = new InvalidRecord({
    collection: name,
    issues: [{ pointer: "/id", message: "is assigned by the server" }],
  })
  return {
    replace: operation(
      "replace",
      "Replace a record",
      { parameters: [idParameter, ...parameters], ...jsonBody(submitted, example?.sent) },
      changed,
      [notFound, ...refusals, ...BODY_REFUSALS, ...uniqueRefusals(collection), assigned],
    ),
    patch: operation(
      "patch",
      "Change some fields of a record",
      {
        parameters: [idParameter, ...parameters],
        ...jsonBody(patch, patchExample(parts), true, MERGE_PATCH_TYPE),
      },
      changed,
      [notFound, ...refusals, ...PATCH_REFUSALS, ...uniqueRefusals(collection), assigned],
    ),
  }
}
