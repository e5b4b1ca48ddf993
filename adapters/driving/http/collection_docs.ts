import type { CollectionShape, Operation } from "../../../domain/records/collection.ts"
import { PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX } from "../../../domain/records/page.ts"
import { okDoc, PROTECTED_RESPONSES, problemDoc, SECURITY } from "./problem_docs.ts"

/** Example record made of the schema's own `examples` and `default`s. */
const exampleOf = (collection: CollectionShape): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(collection.fields.properties).flatMap(([key, schema]) => {
      const { examples, default: fallback } = schema as { examples?: ReadonlyArray<unknown>; default?: unknown }
      const example = examples?.[0] ?? fallback
      return example === undefined ? [] : [[key, example]]
    }),
  )

const NOT_FOUND = problemDoc(404, "RECORD_NOT_FOUND", "Not found", "No such record")

/**
 * OpenAPI operations of a collection, from the same schema that judges its records.
 *
 * @see OpenAPI 3.1, operation object
 */
export const collectionDocs = (collection: CollectionShape): Readonly<Record<Operation, object>> => {
  const { name, fields, roles } = collection
  const example = exampleOf(collection)
  const idSchema = { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER }
  const record = {
    ...fields,
    properties: { id: idSchema, ...fields.properties },
    required: ["id", ...(fields.required ?? [])],
  }
  const stored = { id: 7, ...example }
  const idParameter = { name: "id", in: "path", required: true, schema: idSchema, example: 7 }
  const count = (parameter: string, description: string, fallback: number) => ({
    name: parameter,
    in: "query",
    description,
    schema: { type: "integer", minimum: 0, default: fallback },
  })
  const operation = (kind: Operation, summary: string, rest: object, responses: object) => ({
    tags: [name],
    operationId: `${kind}_${name}`,
    summary,
    ...(roles[kind] === undefined ? {} : { description: `Needs one of the realm roles: ${roles[kind].join(", ")}` }),
    security: SECURITY,
    ...rest,
    responses: { ...responses, ...PROTECTED_RESPONSES },
  })
  const header = (description: string) => ({ description, schema: { type: "string" } })
  return {
    list: operation(
      "list",
      `List ${name}`,
      {
        parameters: [
          count("start", "Records to skip", 0),
          count("limit", `Page size; clamped to ${PAGE_LIMIT_MAX}`, PAGE_LIMIT_DEFAULT),
          {
            name: "Prefer",
            in: "header",
            description: "`count=exact` asks for `X-Total-Count`",
            schema: { type: "string", enum: ["count=exact"] },
          },
        ],
      },
      {
        200: okDoc("A page in ascending id order", { type: "array", items: record }, [stored], {
          Link: header('`rel="next"` and `rel="prev"` with the effective limit'),
          "X-Total-Count": header("Exact number of records, when asked for"),
        }),
        400: problemDoc(
          400,
          "INVALID_QUERY",
          "Invalid query parameter",
          "Query parameter 'limit' must be a plain decimal number from 0 to 9007199254740991",
        ),
      },
    ),
    get: operation(
      "get",
      `Get one of ${name}`,
      { parameters: [idParameter] },
      {
        200: okDoc("The record", record, stored),
        404: NOT_FOUND,
      },
    ),
    create: operation(
      "create",
      `Create one of ${name}`,
      { requestBody: { required: true, content: { "application/json": { schema: fields, example } } } },
      {
        201: okDoc("The record with its id", record, stored, { Location: header("Path of the new record") }),
        400: problemDoc(400, "INVALID_JSON", "Invalid JSON", "The body is not valid JSON"),
        408: problemDoc(408, "REQUEST_TIMEOUT", "Request timeout", "The body must arrive within 30 s"),
        413: problemDoc(413, "BODY_TOO_LARGE", "Body too large", "The body must not exceed 1048576 bytes"),
        415: problemDoc(
          415,
          "UNSUPPORTED_MEDIA_TYPE",
          "Unsupported media type",
          "The body must be application/json in UTF-8, without content coding",
        ),
        422: problemDoc(422, "INVALID_RECORD", "Invalid record", "The record breaks the rules listed in 'errors'", {
          errors: [{ pointer: "/id", message: "is assigned by the server" }],
        }),
      },
    ),
    delete: operation(
      "delete",
      `Delete one of ${name}`,
      { parameters: [idParameter] },
      {
        200: okDoc("The deleted record", record, stored),
        404: NOT_FOUND,
      },
    ),
  }
}
