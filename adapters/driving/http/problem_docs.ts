import { Forbidden, KeysUnavailable, Unauthenticated } from "../../../domain/identity/errors.ts"
import { StoreUnavailable } from "../../../domain/store_unavailable.ts"
import { invalidHost, overloaded } from "./http_refusal.ts"
import { describe, type ServiceError } from "./problem.ts"
import { INTERNAL, PROBLEM_TYPE, type Problem, problemBody } from "./problem_body.ts"

/** JSON Schemas by the name that the document's components give them. */
export type Schemas = Readonly<Record<string, object>>

/** A header of an answer. */
export interface HeaderDoc {
  readonly description: string
  readonly schema: { readonly type: "string" | "integer" }
}

/** A response object of OpenAPI 3.1. */
export interface ResponseDoc {
  readonly description: string
  readonly headers: Readonly<Record<string, HeaderDoc>>
  readonly content?: Readonly<Record<string, { readonly schema: object; readonly example?: unknown }>>
  readonly links?: Readonly<Record<string, object>>
}

/** The responses of an operation, by status. */
export type ResponseDocs = Readonly<Record<string, ResponseDoc>>

/** Describes a header of an answer. */
export const headerDoc = (description: string, type: HeaderDoc["schema"]["type"] = "string"): HeaderDoc => ({
  description,
  schema: { type },
})

/** A schema of the document's components. */
export const schemaRef = (name: string) => ({ $ref: `#/components/schemas/${name}` })

const text = { type: "string" } as const

/** Schema of every error body (RFC 9457 with our extension members). */
export const PROBLEM_SCHEMA = {
  type: "object",
  required: ["type", "title", "status", "detail", "instance", "code", "requestId"],
  properties: {
    type: { ...text, description: "urn:portolan:error:<code>" },
    title: text,
    status: { type: "integer" },
    detail: text,
    instance: { ...text, description: "urn:portolan:request:<requestId>" },
    code: { ...text, description: "Stable name of the error" },
    errors: {
      type: "array",
      description: "The broken rules, by JSON Pointer",
      items: {
        type: "object",
        required: ["pointer", "message"],
        properties: {
          pointer: { ...text, description: "Place in the body (RFC 6901); empty for the whole of it" },
          message: text,
          rule: { ...text, description: "Stable name of the rule, of the media routes" },
        },
      },
    },
    requestId: text,
  },
} as const

const EXAMPLE_REQUEST_ID = "6b0c8f5e-6f0d-4a53-9a0f-3f8c1f0a7a11"

/** What every answer carries. */
export const ID_HEADER = {
  "X-Request-Id": headerDoc("Id of the request: the caller's own when it sent one, else a new one"),
}

/** Headers of a problem that a client acts on, by the name they are set with. */
const PROBLEM_HEADERS: ReadonlyArray<readonly [set: string, name: string, doc: HeaderDoc]> = [
  ["www-authenticate", "WWW-Authenticate", headerDoc("Challenge (RFC 6750 section 3)")],
  ["retry-after", "Retry-After", headerDoc("Seconds after which to try again", "integer")],
  ["accept-patch", "Accept-Patch", headerDoc("What a PATCH may be (RFC 5789 section 3.1)")],
]

const problemResponse = (problems: ReadonlyArray<Problem>, schema: string): ResponseDoc => ({
  description: problems.map(({ code, title }) => `\`${code}\`: ${title}`).join("\n\n"),
  headers: {
    ...ID_HEADER,
    ...Object.fromEntries(
      PROBLEM_HEADERS.flatMap(([set, name, doc]) =>
        problems.some(({ headers }) => headers?.[set] !== undefined) ? [[name, doc]] : [],
      ),
    ),
  },
  content: {
    [PROBLEM_TYPE]: {
      schema: schemaRef(schema),
      example: problems.map((problem) => JSON.parse(problemBody(EXAMPLE_REQUEST_ID, problem)))[0],
    },
  },
})

/**
 * The refusals of an operation by status, in the very words that the service answers with.
 *
 * @param errors every error the operation can give; of those with the same status the first is the example
 * @param schema component that describes the bodies
 */
export const refusalDocs = (errors: ReadonlyArray<ServiceError | Problem>, schema = "Problem"): ResponseDocs => {
  const problems = errors.map((error) => ("_tag" in error ? describe(error) : error))
  const byStatus = Map.groupBy(problems, ({ status }) => status)
  return Object.fromEntries([...byStatus].map(([status, group]) => [status, problemResponse(group, schema)]))
}

/** What any route can answer: the `Host` rule, and what nobody expected. */
export const ANY_REFUSALS: ReadonlyArray<ServiceError | Problem> = [invalidHost, INTERNAL]

/** The store is away; what it is called is for the log. */
export const STORE_AWAY = new StoreUnavailable({ store: { user: "", host: "", database: "" }, reason: "" })

/** The realm's keys cannot be had. */
export const KEYS_AWAY = new KeysUnavailable({ reason: "" })

/**
 * The refusals of every route behind the token check.
 *
 * @param roles realm roles, any one of which the route asks for; none when a token is enough
 */
export const guardRefusals = (roles: ReadonlyArray<string> | undefined): ReadonlyArray<ServiceError | Problem> => [
  ...ANY_REFUSALS,
  new Unauthenticated({ reason: "missing" }),
  KEYS_AWAY,
  overloaded,
  ...(roles === undefined ? [] : [new Forbidden({ anyOf: roles })]),
]

/** A success of the service: the envelope of specification 2.1 around `data`. */
export const okDoc = (
  description: string,
  data: object,
  example: unknown,
  extra: Partial<Pick<ResponseDoc, "headers" | "links">> = {},
): ResponseDoc => ({
  description,
  ...extra,
  headers: { ...ID_HEADER, ...extra.headers },
  content: {
    "application/json": {
      schema: {
        type: "object",
        required: ["response", "data"],
        properties: { response: { type: "string", const: "OK" }, data },
      },
      ...(example === undefined ? {} : { example: { response: "OK", data: example } }),
    },
  },
})

/** A success that is not in the envelope: health and metrics. */
export const plainDoc = (description: string, type: string, schema: object, example: unknown): ResponseDoc => ({
  description,
  headers: ID_HEADER,
  content: { [type]: { schema, example } },
})

/** A JSON body that a request must have, or may have. */
export const jsonBody = (schema: object, example: unknown, required = true, type = "application/json") => ({
  requestBody: {
    required,
    content: { [type]: { schema, ...(example === undefined ? {} : { example }) } },
  },
})

/** What every operation of a protected area carries. */
export const SECURITY = [{ bearer: [] }]

/** "Needs one of ...": who may use a route. */
export const rolesSentence = (roles: ReadonlyArray<string>): string =>
  roles.length === 1 ? `Needs the realm role: ${roles[0]}` : `Needs one of the realm roles: ${roles.join(", ")}`
