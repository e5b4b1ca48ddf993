import { BATCH_MAX } from "../../../domain/records/batch.ts"
import { KeyInUse, KeyReused } from "../../../domain/records/errors.ts"
import { IDEMPOTENCY_KEY, invalidKey } from "./idempotency_key.ts"
import type { ServiceError } from "./problem.ts"
import { plainDoc, type ResponseDocs } from "./problem_docs.ts"
import { LINES_TYPE } from "./record_export.ts"

/** One of something, or an array of up to {@link BATCH_MAX}. */
export const oneOrMany = (schema: object) => ({
  anyOf: [schema, { type: "array", minItems: 1, maxItems: BATCH_MAX, items: schema }],
})

/** The header by which a create happens once. */
export const KEY_PARAMETER = {
  name: IDEMPOTENCY_KEY,
  in: "header",
  description:
    "A text of the caller's own choice, such as a UUID. A repeated request with the same key and body makes nothing " +
    "again and gets the first answer, for 24 hours",
  schema: { type: "string", minLength: 1, maxLength: 255 },
  example: "8e03978e-40d5-43dd-bc93-6894a57f9324",
} as const

/** What a create with a key can be refused for, beside what any create can. */
export const keyRefusals = (collection: string): ReadonlyArray<ServiceError> => [
  invalidKey,
  new KeyInUse({ collection }),
  new KeyReused({ collection }),
]

/** A body of lines: one record in JSON on each. */
export const linesBody = (example: object | undefined) => ({
  requestBody: {
    required: true,
    description: `1 to ${BATCH_MAX} lines, each of them one record as JSON`,
    content: {
      [LINES_TYPE]: {
        schema: { type: "string" },
        ...(example === undefined ? {} : { example: `${JSON.stringify(example)}\n` }),
      },
    },
  },
})

/** What an import answers. */
export const IMPORTED_SCHEMA = {
  type: "object",
  required: ["created", "firstId", "lastId"],
  properties: {
    created: { type: "integer", minimum: 1, maximum: BATCH_MAX, description: "Number of records" },
    firstId: { type: "integer", minimum: 1, description: "Id of the first line's record" },
    lastId: {
      type: "integer",
      minimum: 1,
      description: "Id of the last line's record; those between follow each other",
    },
  },
} as const

/** An example of {@link IMPORTED_SCHEMA}. */
export const IMPORTED_EXAMPLE = { created: 1, firstId: 7, lastId: 7 }

/** Where an export goes on. */
export const EXPORT_PARAMETERS = [
  {
    name: "after",
    in: "query",
    description: "Id after which to go on: that of the last whole line of an export that broke",
    schema: { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 },
  },
]

/** @param record an example of the collection's records, when there is one */
export const exportAnswer = (record: object | undefined): ResponseDocs => ({
  200: plainDoc(
    "Every record as one line of JSON, in ascending id order. A connection that breaks before the body's end means that it is not whole",
    LINES_TYPE,
    { type: "string" },
    `${JSON.stringify(record ?? { id: 7 })}\n`,
  ),
})
