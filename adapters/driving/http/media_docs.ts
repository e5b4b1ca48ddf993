import { CAROUSEL_POST_SCHEMA, CONTAINER_SCHEMAS } from "../../../domain/media/container.ts"
import {
  CarouselIncomplete,
  invalidMedia,
  OutcomeUnknown,
  PublishBusy,
  QuotaExhausted,
  RequestTargetTooLong,
} from "../../../domain/media/errors.ts"
import { type FailureKind, GraphFailure } from "../../../domain/media/graph_failure.ts"
import { BODY_REFUSALS } from "./json_body.ts"
import { GRAPH } from "./media_problem.ts"
import type { ServiceError } from "./problem.ts"
import {
  guardRefusals,
  headerDoc,
  jsonBody,
  okDoc,
  PROBLEM_SCHEMA,
  type ResponseDocs,
  refusalDocs,
  rolesSentence,
  type Schemas,
  SECURITY,
  STORE_AWAY,
  schemaRef,
} from "./problem_docs.ts"

type Members = Readonly<Record<string, object>>

const text = { type: "string" } as const
const integer = { type: "integer" } as const
const ACCOUNT_ID = { ...text, pattern: "^[A-Za-z0-9_-]{1,64}$" } as const
const accountId = { ...ACCOUNT_ID, description: "Media account; the configured one when omitted" }
const KEY = {
  ...text,
  pattern: "^[!-~]{1,200}$",
  description: "Name of the post: the same key never makes a second one",
} as const
const CONTAINER_ID = "17889455560051444"

const object = (properties: Members, required: ReadonlyArray<string> = Object.keys(properties)) => ({
  type: "object",
  required,
  properties,
})
const listOf = (items: object) => ({ type: "array", items })

/** A schema of the domain with members of the call. */
const withMembers = (
  schema: { readonly properties: object; readonly required?: ReadonlyArray<string> },
  members: Members,
  required: ReadonlyArray<string> = [],
) => ({
  ...schema,
  properties: { ...schema.properties, ...members },
  required: [...required, ...(schema.required ?? [])],
})

const { image, video, reel, carousel } = CONTAINER_SCHEMAS
const POST = { key: KEY, accountId }
const item = object({ index: integer, containerId: text })
const created = { containerId: text, createdAtMs: { ...integer, description: "Milliseconds since 1970" } }
const warnings = { ...listOf(schemaRef("MediaWarning")), description: "Doubtful rules; it was created all the same" }
const still = { state: { const: "still-processing" } }

/** The media area's shapes. */
export const MEDIA_SCHEMAS: Schemas = {
  ImageContainer: withMembers(image, { accountId }),
  VideoContainer: withMembers(video, { accountId }),
  ReelContainer: withMembers(reel, { accountId }),
  CarouselContainer: withMembers(carousel, { accountId }),
  CarouselUnits: withMembers(CAROUSEL_POST_SCHEMA, { accountId }),
  ImagePost: withMembers(image, { ...POST, isCarouselItem: { const: false } }, ["key"]),
  ReelPost: withMembers(reel, POST, ["key"]),
  CarouselPost: withMembers(CAROUSEL_POST_SCHEMA, { ...POST, kind: { const: "carousel" } }, ["key", "kind"]),
  MediaWarning: object({ pointer: text, rule: text, message: text }),
  CreatedContainer: object({ ...created, kind: { enum: Object.keys(CONTAINER_SCHEMAS) }, warnings }),
  CreatedCarousel: object({ state: { const: "created" }, ...created, items: listOf(item), warnings }),
  UnreadyCarousel: object({ ...still, items: listOf(item), containerId: text }, ["state"]),
  ContainerStatus: object(
    {
      containerId: text,
      state: { enum: ["in-progress", "finished", "error", "expired", "published", "unknown"] },
      detail: { ...text, description: "The platform's own words" },
      subcode: { ...integer, description: "The error number in those words" },
    },
    ["containerId", "state"],
  ),
  PublishedPost: object(
    {
      state: { const: "published" },
      containerId: text,
      mediaId: { ...text, description: "Absent when the post is certain and only the answer with its id was lost" },
    },
    ["state", "containerId"],
  ),
  UnreadyPost: object({ ...still, containerId: text }, ["state"]),
  PublishingLimit: object(
    {
      used: integer,
      total: { ...integer, description: "Absent when the platform does not say" },
      periodS: { ...integer, description: "Length of the period, seconds" },
    },
    ["used"],
  ),
  MediaProblem: {
    ...PROBLEM_SCHEMA,
    properties: {
      ...PROBLEM_SCHEMA.properties,
      graphCode: { ...integer, description: "The platform's `code`" },
      graphSubcode: { ...integer, description: "The platform's `error_subcode`" },
      graphTraceId: { ...text, description: "The platform's reference for its support" },
      containerId: { ...text, description: "With `OUTCOME_UNKNOWN`" },
      seen: { ...text, description: "With `OUTCOME_UNKNOWN`: what the last look at the container said" },
      created: { ...listOf(item), description: "With `CAROUSEL_INCOMPLETE`: units that can be used again" },
      failed: {
        ...listOf(object({ index: integer, code: text, detail: text })),
        description: "With `CAROUSEL_INCOMPLETE`: units that could not be created",
      },
      skipped: { ...listOf(integer), description: "With `CAROUSEL_INCOMPLETE`: units that were never started" },
    },
  },
}

const failures = (kinds: ReadonlyArray<FailureKind>): ReadonlyArray<ServiceError> =>
  kinds.map((kind) => new GraphFailure({ kind, operation: "create", applied: "no" }))

/** What any call to the platform can end with. */
const GRAPH_ERRORS: ReadonlyArray<ServiceError> = [
  invalidMedia("/imageUrl", "url-scheme", "must start with https://"),
  new RequestTargetTooLong({ bytes: 15_872, bytesMax: 15_000 }),
  ...failures(Object.keys(GRAPH) as ReadonlyArray<FailureKind>),
]
const INCOMPLETE = new CarouselIncomplete({
  created: [{ index: 0, containerId: CONTAINER_ID }],
  failed: [{ index: 1, error: new GraphFailure({ kind: "MediaFetch", operation: "create", applied: "no" }) }],
  skipped: [],
})
const PUBLISH_ERRORS: ReadonlyArray<ServiceError> = [
  STORE_AWAY,
  new OutcomeUnknown({ containerId: CONTAINER_ID, seen: "unreadable" }),
  new PublishBusy({ key: "summer-1", retryAfterMs: 2_000 }),
  new QuotaExhausted({ used: 50, total: 50, retryAfterMs: 3_600_000 }),
]

const ID = { name: "id", in: "path", required: true, schema: ACCOUNT_ID, example: CONTAINER_ID }
const EXAMPLE_IMAGE = { kind: "image", imageUrl: "https://cdn.example.com/a.jpg" }
const EXAMPLE_UNITS = {
  caption: "trip",
  items: [EXAMPLE_IMAGE, { kind: "video", videoUrl: "https://cdn.example.com/v.mp4" }],
}
const EXAMPLE_ITEMS = [
  { index: 0, containerId: "17889455560051441" },
  { index: 1, containerId: "17889455560051442" },
]
const EXAMPLE_CREATED = { containerId: CONTAINER_ID, createdAtMs: 1_767_225_600_000, warnings: [] }

const LOCATION = { Location: headerDoc("Path of the new container") }
const CONTAINER_LINKS = Object.fromEntries(
  ["containerStatus", "publishContainer"].map((operationId) => [
    operationId,
    { operationId, parameters: { id: "$response.body#/data/containerId" } },
  ]),
)
const PUBLISHED = {
  200: okDoc("Published", schemaRef("PublishedPost"), {
    state: "published",
    containerId: CONTAINER_ID,
    mediaId: "17920238422030506",
  }),
  202: okDoc("Still being processed; ask again", schemaRef("UnreadyPost"), {
    state: "still-processing",
    containerId: CONTAINER_ID,
  }),
}

/**
 * OpenAPI operations of the media routes, from the schemas that judge the requests.
 *
 * @param roles realm roles that may use them, any one of them
 */
export const mediaDocs = (roles: ReadonlyArray<string>) => {
  const operation = (
    operationId: string,
    summary: string,
    rest: object,
    successes: ResponseDocs,
    errors: ReadonlyArray<ServiceError> = [],
  ): object => ({
    tags: ["media"],
    operationId,
    summary,
    description: rolesSentence(roles),
    security: SECURITY,
    ...rest,
    responses: {
      ...successes,
      ...refusalDocs([...errors, ...GRAPH_ERRORS, ...guardRefusals(roles)], "MediaProblem"),
    },
  })
  return {
    create: operation(
      "createContainer",
      "Create a media container",
      jsonBody(
        { oneOf: ["ImageContainer", "VideoContainer", "ReelContainer", "CarouselContainer"].map(schemaRef) },
        EXAMPLE_IMAGE,
      ),
      {
        201: okDoc(
          "The container",
          schemaRef("CreatedContainer"),
          { ...EXAMPLE_CREATED, kind: "image" },
          {
            headers: LOCATION,
            links: CONTAINER_LINKS,
          },
        ),
      },
      BODY_REFUSALS,
    ),
    carousel: operation(
      "createCarousel",
      "Create a carousel from its units: all of them, or none and a report",
      jsonBody(schemaRef("CarouselUnits"), EXAMPLE_UNITS),
      {
        201: okDoc(
          "The carousel's container",
          schemaRef("CreatedCarousel"),
          { state: "created", ...EXAMPLE_CREATED, items: EXAMPLE_ITEMS },
          { headers: LOCATION, links: CONTAINER_LINKS },
        ),
        202: okDoc("Units are still being processed; send them again as `existing`", schemaRef("UnreadyCarousel"), {
          state: "still-processing",
          items: EXAMPLE_ITEMS,
        }),
      },
      [...BODY_REFUSALS, INCOMPLETE],
    ),
    status: operation(
      "containerStatus",
      "Read a container's state",
      { parameters: [ID] },
      { 200: okDoc("Its state", schemaRef("ContainerStatus"), { containerId: CONTAINER_ID, state: "finished" }) },
    ),
    publish: operation(
      "publishContainer",
      "Publish a finished container, at most once",
      {
        parameters: [ID],
        ...jsonBody(
          {
            ...object({ accountId, kind: { enum: Object.keys(CONTAINER_SCHEMAS) } }, []),
            additionalProperties: false,
          },
          {},
          false,
        ),
      },
      PUBLISHED,
      [...BODY_REFUSALS, ...PUBLISH_ERRORS],
    ),
    post: operation(
      "publishPost",
      "Create, wait and publish; the same key never makes a second post",
      jsonBody(
        { oneOf: ["ImagePost", "ReelPost", "CarouselPost"].map(schemaRef) },
        { key: "summer-1", ...EXAMPLE_IMAGE },
      ),
      PUBLISHED,
      [...BODY_REFUSALS, INCOMPLETE, ...PUBLISH_ERRORS],
    ),
    limit: operation(
      "publishingLimit",
      "Read how much of the publish quota is used",
      { parameters: [{ name: "accountId", in: "query", required: false, schema: accountId }] },
      {
        200: okDoc("Posts in the rolling period", schemaRef("PublishingLimit"), {
          used: 2,
          total: 50,
          periodS: 86_400,
        }),
      },
    ),
  }
}
