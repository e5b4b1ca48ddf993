import { type Context, Duration, Effect } from "effect"
import { Elysia } from "elysia"
import { createCarouselFromItems } from "../../../application/media/carousel.ts"
import { containerStatus, createContainer, publishingLimit } from "../../../application/media/containers.ts"
import type { GraphPacing } from "../../../application/media/graph_pacing.ts"
import { publish } from "../../../application/media/publish.ts"
import { publishPost } from "../../../application/media/publish_post.ts"
import { isObject } from "../../../domain/json_object.ts"
import type { MediaKind } from "../../../domain/media/container.ts"
import { invalidMedia } from "../../../domain/media/errors.ts"
import { GraphFailure } from "../../../domain/media/graph_failure.ts"
import type { MediaGraphPort } from "../../../domain/media/media_graph_port.ts"
import type { PublishJournal } from "../../../domain/media/publish_journal.ts"
import type { Guard } from "./guard.ts"
import { methodNotAllowed, routeNotFound } from "./http_refusal.ts"
import { readJson } from "./json_body.ts"
import { mediaDocs } from "./media_docs.ts"
import type { ServiceError } from "./problem.ts"
import type { RequestContext } from "./request_context.ts"
import { envelope, type Responder, refusing } from "./respond.ts"

/** What the media use cases need. */
export type MediaServices = MediaGraphPort | PublishJournal | GraphPacing

/**
 * Longest a request waits for the platform, ms: a client should not wait longer for an answer. What is interrupted goes
 * on with the next request: a post is journalled, a container nobody publishes is invisible.
 */
const ANSWER_WITHIN_MS = 15_000

/** How long a request waits for media to be processed, ms. */
const WAITING = { budgetMs: 10_000 }

/** The body's account, or the configured one, and the rest of the body. */
const readCall = Effect.fnUntraced(function* (request: Request, fallback: string | undefined) {
  const body = yield* readJson(request)
  if (!isObject(body)) return yield* invalidMedia("", "type", "must be an object")
  const { accountId = fallback, ...rest } = body
  if (accountId === undefined)
    return yield* invalidMedia("/accountId", "required", "is required: no account is configured")
  if (typeof accountId !== "string") return yield* invalidMedia("/accountId", "type", "must be string")
  return { accountId, rest }
})

const KINDS: ReadonlyArray<string> = ["image", "video", "reel", "carousel"] satisfies ReadonlyArray<MediaKind>

/** A publish call's body: all of it optional, and so is the body itself. */
const readPublish = Effect.fnUntraced(function* (request: Request, fallback: string | undefined) {
  const empty = request.body === null || request.headers.get("content-length") === "0"
  if (empty && fallback !== undefined) return { accountId: fallback }
  const { accountId, rest } = yield* readCall(request, fallback)
  const { kind, ...others } = rest
  const unknown = Object.keys(others)[0]
  if (unknown !== undefined)
    return yield* invalidMedia(`/${unknown}`, "unknown-field", "is not a field of this request")
  if (kind !== undefined && !(typeof kind === "string" && KINDS.includes(kind)))
    return yield* invalidMedia("/kind", "kind", `must be one of ${KINDS.join(", ")}`)
  return { accountId, ...(kind === undefined ? {} : { kind: kind as MediaKind }) }
})

const readAccount = ({ url }: Request, fallback: string | undefined) => {
  const accountId = new URL(url).searchParams.get("accountId") ?? fallback
  return accountId === undefined
    ? Effect.fail(invalidMedia("/accountId", "required", "is required: no account is configured"))
    : Effect.succeed(accountId)
}

const NO_PARSE = { parse: "none" } as const
const HIDDEN = { parse: "none", detail: { hide: true } } as const

/**
 * The media routes of specification 14; they guard themselves.
 *
 * @param parts.services built once, at start
 * @param parts.roles realm roles, any one of which may use them
 * @param parts.accountId media account for requests that name none
 */
export const mediaRoutes = (parts: {
  readonly services: Context.Context<MediaServices>
  readonly guard: Guard
  readonly responder: Responder
  readonly roles: ReadonlyArray<string>
  readonly accountId: string | undefined
}) => {
  const { responder, accountId: fallback } = parts
  const docs = mediaDocs(parts.roles)

  const slow = new GraphFailure({ kind: "Network", operation: "create", applied: "unknown", text: "timeout" })
  const within = <A, B>(program: Effect.Effect<A, ServiceError, MediaServices>, late: Effect.Effect<B, ServiceError>) =>
    program.pipe(
      Effect.timeoutOrElse({ duration: Duration.millis(ANSWER_WITHIN_MS), orElse: () => late }),
      Effect.provideContext(parts.services),
    )
  const respond = <A, B = never>(
    context: RequestContext,
    program: Effect.Effect<A, ServiceError, MediaServices>,
    status: (value: A | B) => number,
    late: Effect.Effect<B, ServiceError> = Effect.fail(slow),
  ) =>
    responder.respond(
      context,
      () => within(program, late),
      (value) => {
        const made = status(value) === 201 && isObject(value) && typeof value["containerId"] === "string"
        return {
          status: status(value),
          ...(made ? { headers: { location: `/media/containers/${value["containerId"]}` } } : {}),
          body: envelope(JSON.stringify(value)),
        }
      },
    )
  const refuse = (error: ServiceError) => refusing(responder, error)
  const still = (containerId: string | undefined) => Effect.succeed({ state: "still-processing" as const, containerId })
  const stateStatus = ({ state }: { readonly state: string }): number => (state === "still-processing" ? 202 : 200)

  return new Elysia().group("/media", (group) =>
    group
      .use(parts.guard.protect({ roles: parts.roles }))
      .post(
        "/containers",
        async ({ request, set, route }) =>
          respond(
            { request, set, route },
            Effect.flatMap(readCall(request, fallback), ({ accountId, rest }) => createContainer(accountId, rest)),
            () => 201,
          ),
        { ...NO_PARSE, detail: docs.create },
      )
      .post(
        "/carousels",
        async ({ request, set, route }) =>
          respond(
            { request, set, route },
            Effect.flatMap(readCall(request, fallback), ({ accountId, rest }) =>
              createCarouselFromItems(accountId, rest, { waiting: WAITING }),
            ),
            ({ state }) => (state === "created" ? 201 : 202),
          ),
        { ...NO_PARSE, detail: docs.carousel },
      )
      .get(
        "/containers/:id",
        async ({ request, set, route, params }) =>
          respond({ request, set, route }, containerStatus(params.id), () => 200),
        {
          ...NO_PARSE,
          detail: docs.status,
        },
      )
      .post(
        "/containers/:id/publish",
        async ({ request, set, route, params }) =>
          respond(
            { request, set, route },
            Effect.flatMap(readPublish(request, fallback), (call) =>
              publish({ ...call, containerId: params.id }, { waiting: WAITING }),
            ),
            stateStatus,
            still(params.id),
          ),
        { ...NO_PARSE, detail: docs.publish },
      )
      .post(
        "/posts",
        async ({ request, set, route }) =>
          respond(
            { request, set, route },
            Effect.flatMap(readCall(request, fallback), ({ accountId, rest: { key, ...post } }) =>
              // The use case checks both; the types speak of callers that are trusted.
              publishPost({ key, accountId, post } as never, { waiting: WAITING }),
            ),
            stateStatus,
            still(undefined),
          ),
        { ...NO_PARSE, detail: docs.post },
      )
      .get(
        "/limit",
        async ({ request, set, route }) =>
          respond({ request, set, route }, Effect.flatMap(readAccount(request, fallback), publishingLimit), () => 200),
        { ...NO_PARSE, detail: docs.limit },
      )
      .all("/containers", refuse(methodNotAllowed("POST")), HIDDEN)
      .all("/carousels", refuse(methodNotAllowed("POST")), HIDDEN)
      .all("/posts", refuse(methodNotAllowed("POST")), HIDDEN)
      .all("/containers/:id", refuse(methodNotAllowed("GET, HEAD")), HIDDEN)
      .all("/containers/:id/publish", refuse(methodNotAllowed("POST")), HIDDEN)
      .all("/limit", refuse(methodNotAllowed("GET, HEAD")), HIDDEN)
      .all("/*", refuse(routeNotFound), HIDDEN)
      .all("", refuse(routeNotFound), HIDDEN),
  )
}
