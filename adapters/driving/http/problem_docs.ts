/** A response object of OpenAPI 3.1. */
export interface ResponseDoc {
  readonly description: string
  readonly headers?: Readonly<
    Record<string, { readonly description: string; readonly schema: { readonly type: string } }>
  >
  readonly content?: Readonly<Record<string, { readonly schema: object; readonly example?: unknown }>>
}

/** Schema of every error body (RFC 9457 with our extension members). */
export const PROBLEM_SCHEMA = {
  type: "object",
  required: ["type", "title", "status", "detail", "instance", "code", "requestId"],
  properties: {
    type: { type: "string", description: "urn:portolan:error:<code>" },
    title: { type: "string" },
    status: { type: "integer" },
    detail: { type: "string" },
    instance: { type: "string", description: "urn:portolan:request:<requestId>" },
    code: { type: "string", description: "Stable; listed in the README" },
    errors: {
      type: "array",
      description: "The broken rules, by JSON Pointer",
      items: {
        type: "object",
        required: ["pointer", "message"],
        properties: { pointer: { type: "string" }, message: { type: "string" } },
      },
    },
    requestId: { type: "string" },
  },
} as const

const EXAMPLE_REQUEST_ID = "6b0c8f5e-6f0d-4a53-9a0f-3f8c1f0a7a11"

/** A documented refusal: its status, code and texts, with an example body. */
export const problemDoc = (
  status: number,
  code: string,
  title: string,
  detail: string,
  extra?: { readonly errors?: ReadonlyArray<object>; readonly headers?: ResponseDoc["headers"] },
): ResponseDoc => ({
  description: detail,
  ...(extra?.headers === undefined ? {} : { headers: extra.headers }),
  content: {
    "application/problem+json": {
      schema: { $ref: "#/components/schemas/Problem" },
      example: {
        type: `urn:portolan:error:${code}`,
        title,
        status,
        detail,
        instance: `urn:portolan:request:${EXAMPLE_REQUEST_ID}`,
        code,
        ...(extra?.errors === undefined ? {} : { errors: extra.errors }),
        requestId: EXAMPLE_REQUEST_ID,
      },
    },
  },
})

const header = (description: string) => ({ description, schema: { type: "string" } })

/**
 * The 503 of a route: what it depends on is away, which is the example, or the service is busy.
 *
 * @param detail of the example, a sentence without its full stop
 */
export const unavailableDoc = (code: string, title: string, detail: string): ResponseDoc => ({
  ...problemDoc(503, code, title, detail, {
    headers: { "Retry-After": header("Seconds after which to try again") },
  }),
  description: `${detail}. Code \`OVERLOADED\`: more requests are running than MAX_IN_FLIGHT allows`,
})

/** The refusals any protected route can give. */
export const PROTECTED_RESPONSES: Readonly<Record<string, ResponseDoc>> = {
  401: problemDoc(401, "UNAUTHENTICATED", "Unauthenticated", "A bearer token is required", {
    headers: { "WWW-Authenticate": header("RFC 6750 challenge") },
  }),
  403: problemDoc(403, "FORBIDDEN", "Forbidden", "None of the required realm roles is held", {
    headers: { "WWW-Authenticate": header('RFC 6750 challenge with error="insufficient_scope"') },
  }),
  500: problemDoc(
    500,
    "INTERNAL",
    "Internal error",
    "Something unexpected happened; the service's log knows it by the request id",
  ),
  503: unavailableDoc("STORE_UNAVAILABLE", "Store unavailable", "The store cannot be reached now"),
}

/** A success of the service: the envelope of seed 2.1 around `data`. */
export const okDoc = (
  description: string,
  data: object,
  example: unknown,
  headers?: ResponseDoc["headers"],
): ResponseDoc => ({
  description,
  ...(headers === undefined ? {} : { headers }),
  content: {
    "application/json": {
      schema: {
        type: "object",
        required: ["response", "data"],
        properties: { response: { type: "string", const: "OK" }, data },
      },
      example: { response: "OK", data: example },
    },
  },
})

/** What every operation of a protected area carries. */
export const SECURITY = [{ bearer: [] }]
