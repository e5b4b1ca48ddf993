import { CAROUSEL_POST_SCHEMA, CONTAINER_SCHEMAS } from "../../../domain/media/container.ts"
import { okDoc, PROTECTED_RESPONSES, problemDoc, SECURITY, unavailableDoc } from "./problem_docs.ts"

const text = { type: "string" } as const
const accountId = { ...text, description: "Media account; the configured one when omitted" }
const warnings = { type: "array", items: { type: "object", properties: { pointer: text, rule: text, message: text } } }

/** A schema of the domain with the call's own members. */
const withMembers = (
  schema: { readonly properties: object; readonly required?: ReadonlyArray<string> },
  members: Readonly<Record<string, object>>,
  required: ReadonlyArray<string> = [],
) => ({
  ...schema,
  properties: { ...members, ...schema.properties },
  required: [...required, ...(schema.required ?? [])],
})

const jsonBody = (schema: object, example: unknown, required = true) => ({
  requestBody: { required, content: { "application/json": { schema, example } } },
})

const idParameter = {
  parameters: [{ name: "id", in: "path", required: true, schema: text, example: "17889455560051444" }],
}

const INVALID = problemDoc(
  422,
  "INVALID_MEDIA",
  "Invalid media request",
  "The request breaks the rules listed in 'errors'",
  { errors: [{ pointer: "/imageUrl", rule: "url-scheme", message: "must start with https://" }] },
)
const PLATFORM = {
  502: problemDoc(
    502,
    "GRAPH_TOKEN_INVALID",
    "Platform refuses the service's token",
    "The service must be set up anew",
  ),
  503: unavailableDoc("GRAPH_SERVER_TRANSIENT", "Platform failed", "Try again after Retry-After"),
}

const operation = (operationId: string, summary: string, rest: object, responses: object): object => ({
  tags: ["media"],
  operationId,
  summary,
  security: SECURITY,
  ...rest,
  responses: { ...PROTECTED_RESPONSES, ...PLATFORM, ...responses },
})

const containers = Object.values(CONTAINER_SCHEMAS).map((schema) => withMembers(schema, { accountId }))
const image = { kind: "image", imageUrl: "https://cdn.example.com/a.jpg" }
const created = { containerId: "17889455560051444", kind: "image", createdAtMs: 1767225600000, warnings: [] }
const published = { state: "published", containerId: "17889455560051444", mediaId: "17920238422030506" }

const createdData = {
  type: "object",
  properties: { containerId: text, kind: text, createdAtMs: { type: "integer" }, warnings },
}
const publishedData = {
  type: "object",
  properties: {
    state: { enum: ["published", "still-processing"] },
    containerId: text,
    mediaId: { ...text, description: "Absent when the post is certain and only the answer with its id was lost" },
  },
}
const STILL = okDoc("Still being processed; ask again", publishedData, { state: "still-processing" })

/** OpenAPI operations of the media routes, from the schemas that judge the requests. */
export const MEDIA_DOCS = {
  create: operation("createContainer", "Create a media container", jsonBody({ oneOf: containers }, image), {
    201: okDoc("The container", createdData, created),
    422: INVALID,
  }),
  carousel: operation(
    "createCarousel",
    "Create a carousel from its units: all of them, or none and a report",
    jsonBody(withMembers(CAROUSEL_POST_SCHEMA, { accountId }), {
      caption: "trip",
      items: [image, { kind: "video", videoUrl: "https://cdn.example.com/v.mp4" }],
    }),
    {
      201: okDoc("The carousel's container", createdData, { state: "created", containerId: "17889455560051444" }),
      202: STILL,
      422: INVALID,
    },
  ),
  status: operation("containerStatus", "Read a container's state", idParameter, {
    200: okDoc(
      "Its state",
      { type: "object", properties: { containerId: text, state: text, detail: text } },
      { containerId: "17889455560051444", state: "finished" },
    ),
    422: INVALID,
  }),
  publish: operation(
    "publishContainer",
    "Publish a finished container, at most once",
    { ...idParameter, ...jsonBody({ type: "object", properties: { accountId, kind: text } }, {}, false) },
    { 200: okDoc("Published", publishedData, published), 202: STILL, 422: INVALID },
  ),
  post: operation(
    "publishPost",
    "Create, wait and publish; the same key never makes a second post",
    jsonBody(
      {
        oneOf: [
          ...Object.entries(CONTAINER_SCHEMAS)
            .filter(([kind]) => kind !== "carousel")
            .map(([, schema]) => withMembers(schema, { key: text, accountId }, ["key"])),
          withMembers(CAROUSEL_POST_SCHEMA, { key: text, accountId, kind: { const: "carousel" } }, ["key", "kind"]),
        ],
      },
      { key: "summer-1", ...image },
    ),
    { 200: okDoc("Published", publishedData, published), 202: STILL, 422: INVALID },
  ),
  limit: operation(
    "publishingLimit",
    "Read how much of the publish quota is used",
    { parameters: [{ name: "accountId", in: "query", required: false, schema: text }] },
    {
      200: okDoc(
        "Posts in the rolling period",
        {
          type: "object",
          properties: { used: { type: "integer" }, total: { type: "integer" }, periodS: { type: "integer" } },
        },
        { used: 2, total: 50, periodS: 86_400 },
      ),
      422: INVALID,
    },
  ),
}
