import { Effect, Exit } from "effect"
import type { TObject, TSchema } from "typebox"
import { isObject } from "../../../domain/json_object.ts"
import { assignedFields, stamped } from "../../../domain/records/assigned_fields.ts"
import type { Collection, Operation } from "../../../domain/records/collection.ts"
import { InvalidRecord, RecordNotFound } from "../../../domain/records/errors.ts"
import {
  EXPORT_PARAMETERS,
  exportAnswer,
  IMPORTED_EXAMPLE,
  IMPORTED_SCHEMA,
  KEY_PARAMETER,
  keyRefusals,
  linesBody,
  oneOrMany,
} from "./bulk_docs.ts"
import { CHANGES_PARAMETERS, changesAnswer, changesRefusals } from "./change_feed_docs.ts"
import { BODY_REFUSALS, LINES_REFUSALS } from "./json_body.ts"
import { listParameters, selectDoc } from "./list_docs.ts"
import type { ServiceError } from "./problem.ts"
import {
  guardRefusals,
  headerDoc,
  jsonBody,
  okDoc,
  type ResponseDocs,
  refusalDocs,
  rolesSentence,
  type Schemas,
  SECURITY,
  STORE_AWAY,
  schemaRef,
} from "./problem_docs.ts"
import { invalidAfterId } from "./record_export.ts"
import { invalidCount, UNKNOWN_PARAMETER } from "./record_query.ts"
import {
  changeCondition,
  changeDocs,
  ETAG_HEADER,
  IF_NONE_MATCH,
  NOT_MODIFIED,
  patchSchema,
  uniqueRefusals,
} from "./record_write_docs.ts"

const ID_SCHEMA = { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER } as const
const EXAMPLE_ID = 7

/**
 * The schema with another list of required members, in objects inside it too. A field with a `default` may be left out of
 * a request, and is in every answer; the service fills in those of the record and of objects inside it.
 */
const withRequired = (schema: TSchema, requires: (member: TSchema, listed: boolean) => boolean): TSchema => {
  if (!("properties" in schema)) return schema
  const { properties, required = [] }: { readonly properties: object; readonly required?: ReadonlyArray<string> } =
    schema as TObject
  const members: ReadonlyArray<[string, TSchema]> = Object.entries(properties)
  return {
    ...schema,
    properties: Object.fromEntries(members.map(([key, member]) => [key, withRequired(member, requires)])),
    required: members.filter(([key, member]) => requires(member, required.includes(key))).map(([key]) => key),
  } as TSchema
}

/**
 * A member without its `default`, which the description then tells: generators of types take a member with a default for
 * one that is always there, and here it is the client that leaves it out.
 */
const withDefaultInWords = (schema: TSchema): TSchema => {
  const { default: fallback, description, properties, ...rest } = schema as Readonly<Record<string, unknown>>
  const words = fallback === undefined ? [] : [`${JSON.stringify(fallback)} when left out`]
  const described = [...(typeof description === "string" ? [description] : []), ...words].join("; ")
  return {
    ...rest,
    ...(described === "" ? {} : { description: described }),
    ...(isObject(properties)
      ? {
          properties: Object.fromEntries(
            Object.entries(properties).map(([key, member]) => [key, withDefaultInWords(member as TSchema)]),
          ),
        }
      : {}),
  }
}

const submittedOf = (fields: TObject): TSchema =>
  withDefaultInWords(withRequired(fields, (member, listed) => listed && !("default" in member)))

const TIME_SCHEMA = { type: "string", format: "date-time" } as const
const EXAMPLE_TIME = "2026-11-22T09:30:00.000Z"

const stored = (collection: Collection<object>): TSchema => {
  const fields = withRequired(collection.fields, (member, listed) => listed || "default" in member) as TObject
  const { required = [], ...rest } = fields
  const times = assignedFields(collection).filter((name) => name !== "id")
  return {
    ...rest,
    properties: {
      id: ID_SCHEMA,
      ...rest.properties,
      ...Object.fromEntries(times.map((name) => [name, TIME_SCHEMA])),
    },
    required: ["id", ...required, ...times],
  } as TSchema
}

/**
 * An example record made of the schema's own `examples` and `default`s, and what the service makes of it; nothing when the
 * schema does not give enough of them for a record that it accepts.
 */
const exampleOf = ({ fields, timestamps, check }: Collection<object>) => {
  const sent = Object.fromEntries(
    Object.entries(fields.properties).flatMap(([key, schema]) => {
      const { examples, default: fallback } = schema as { examples?: ReadonlyArray<unknown>; default?: unknown }
      const example = examples?.[0] ?? fallback
      return example === undefined ? [] : [[key, example]]
    }),
  )
  const checked = Effect.runSyncExit(check(sent))
  if (!Exit.isSuccess(checked)) return undefined
  const record = timestamps ? stamped(checked.value, EXAMPLE_TIME) : checked.value
  return { sent, record: { id: EXAMPLE_ID, ...record } }
}

/** Names of a collection's components. The name of a collection has no dot, so that they are nobody else's. */
const namesOf = (name: string) => ({
  record: name,
  selection: `${name}.selection`,
  submitted: `${name}.new`,
  patch: `${name}.patch`,
})

/**
 * The components of a collection: its stored record under the collection's name, some fields of one, what is submitted, and a
 * merge patch.
 */
export const collectionSchemas = (collection: Collection<object>): Schemas => {
  const names = namesOf(collection.name)
  const record = stored(collection)
  return {
    [names.record]: record,
    [names.selection]: { ...record, description: "The fields that `select` names", required: [] },
    [names.submitted]: submittedOf(collection.fields),
    ...(collection.updates?.includes("patch") === true ? { [names.patch]: patchSchema(collection.fields) } : {}),
  }
}

/**
 * OpenAPI operations of a collection, from the same schema that judges its records.
 *
 * @see OpenAPI 3.1, operation object
 */
export const collectionDocs = (
  collection: Collection<object>,
): Readonly<Record<Operation | "import" | "export", object>> => {
  const { name, roles } = collection
  const example = exampleOf(collection)
  const names = namesOf(name)
  const [record, submitted, patch] = [schemaRef(names.record), schemaRef(names.submitted), schemaRef(names.patch)]
  const selected = { anyOf: [record, schemaRef(names.selection)] }
  const invalidRecord = new InvalidRecord({
    collection: name,
    issues: [{ pointer: "/id", message: "is assigned by the server" }],
  })
  const notFound = new RecordNotFound({ collection: name })
  const idParameter = { name: "id", in: "path", required: true, schema: ID_SCHEMA, example: EXAMPLE_ID }
  const operation = (
    kind: Operation,
    summary: string,
    rest: object,
    successes: ResponseDocs,
    errors: ReadonlyArray<ServiceError> = [],
    id: string = kind,
  ) => ({
    tags: [name],
    operationId: `${id}_${name}`,
    summary,
    ...(roles[kind] === undefined ? {} : { description: rolesSentence(roles[kind]) }),
    security: SECURITY,
    ...rest,
    responses: { ...successes, ...refusalDocs([...errors, ...guardRefusals(roles[kind]), STORE_AWAY]) },
  })
  const deletion = changeCondition(name, collection.requireMatch === true)
  return {
    list: operation(
      "list",
      `List ${name}`,
      { parameters: listParameters(collection) },
      {
        200: okDoc(
          "A page, in ascending id order unless `order` says otherwise",
          { type: "array", items: selected },
          example === undefined ? undefined : [example.record],
          {
            headers: {
              Link: headerDoc('`rel="next"` and, without `after`, `rel="prev"` with the effective limit (RFC 8288)'),
              "X-Total-Count": headerDoc(
                "Exact number of records that the conditions let through, when asked for",
                "integer",
              ),
              "Preference-Applied": headerDoc("`count=exact`, when it was asked for (RFC 7240)"),
            },
          },
        ),
      },
      [invalidCount("limit")],
    ),
    get: operation(
      "get",
      "Get a record by its id",
      { parameters: [idParameter, selectDoc(collection), IF_NONE_MATCH] },
      { 200: okDoc("The record", selected, example?.record, { headers: ETAG_HEADER }), 304: NOT_MODIFIED },
      [notFound, UNKNOWN_PARAMETER],
    ),
    create: operation(
      "create",
      "Create a record, or several, all or nothing",
      { parameters: [KEY_PARAMETER], ...jsonBody(oneOrMany(submitted), example?.sent) },
      {
        201: okDoc(
          "The record with its id, or the records in the order of the body",
          oneOrMany(record),
          example?.record,
          {
            headers: { Location: headerDoc("Path of the new record, when it is one"), ...ETAG_HEADER },
          },
        ),
      },
      [...BODY_REFUSALS, invalidRecord, ...keyRefusals(name), ...uniqueRefusals(collection)],
    ),
    import: operation(
      "create",
      "Create records from lines of JSON, all or nothing",
      { parameters: [KEY_PARAMETER], ...linesBody(example?.sent) },
      { 201: okDoc("How many records, and their ids", IMPORTED_SCHEMA, IMPORTED_EXAMPLE) },
      [...LINES_REFUSALS, invalidRecord, ...keyRefusals(name), ...uniqueRefusals(collection)],
      "import",
    ),
    export: operation(
      "list",
      "Export every record as lines of JSON",
      { parameters: EXPORT_PARAMETERS },
      exportAnswer(example?.record),
      [invalidAfterId],
      "export",
    ),
    delete: operation(
      "delete",
      "Delete a record by its id",
      { parameters: [idParameter, ...deletion.parameters] },
      { 200: okDoc("The deleted record", record, example?.record) },
      [notFound, ...deletion.refusals],
    ),
    ...changeDocs({ collection, operation, idParameter, notFound, record, submitted, patch, example }),
    changes: operation(
      "changes",
      `Follow the changes of ${name}`,
      { parameters: CHANGES_PARAMETERS },
      changesAnswer(example?.record),
      changesRefusals(name),
    ),
  }
}
