import { Effect } from "effect"
import { Elysia } from "elysia"
import {
  makeRecordService,
  makeRecordStore,
  type RecordService,
  type RecordStore,
} from "../../../application/records/record_service.ts"
import type { Collection, Operation } from "../../../domain/records/collection.ts"
import { RecordNotFound } from "../../../domain/records/errors.ts"
import type { RecordRepository } from "../../../domain/records/record_repository.ts"
import { makeCreateHandlers } from "./bulk.ts"
import { type ChangesHandler, makeChangesHandler } from "./change_feed.ts"
import { collectionDocs } from "./collection_docs.ts"
import type { Guard } from "./guard.ts"
import { methodNotAllowed } from "./http_refusal.ts"
import { makeOpenFeeds, type OpenFeeds } from "./open_feeds.ts"
import { readId, recordAnswer, render } from "./record_answer.ts"
import { isKnown } from "./record_condition.ts"
import { type ExportHandler, makeExportHandler } from "./record_export.ts"
import { chosen, makeListHandler } from "./record_list.ts"
import { queryRules } from "./record_query.ts"
import { type ItemHandler, makeWriteHandlers, type WriteHandlers } from "./record_writes.ts"
import type { RequestContext } from "./request_context.ts"
import { type Responder, refusing } from "./respond.ts"

type Handler = (context: RequestContext & { readonly path: string }) => Promise<string>

/** The handlers of a collection, mountable on any path with an `:id` where one is needed. */
export interface CollectionHandler extends WriteHandlers {
  readonly list: Handler
  readonly get: ItemHandler
  readonly create: Handler
  readonly import: Handler
  readonly export: ExportHandler
  /** Of a collection that was defined with `changes`. */
  readonly changes: ChangesHandler
}

const makeHandler = <F extends object>(
  collection: Collection<F>,
  service: RecordService<F>,
  responder: Responder,
  guard: Guard,
): Omit<CollectionHandler, "changes"> => {
  const { respond } = responder
  const { readSelect } = queryRules(collection)
  // Every text that is no id is a miss: two answers would tell a stranger which ids are possible.
  const miss = Effect.fail(new RecordNotFound({ collection: collection.name }))
  return {
    ...makeCreateHandlers(service, responder, guard),
    export: makeExportHandler(service, responder),
    list: makeListHandler(collection, service, responder),
    get: async ({ request, set, route, params }) =>
      respond(
        { request, set, route },
        () => {
          const id = readId(params.id)
          if (id === undefined) return miss
          const select = readSelect(request.url)
          return Effect.flatMapEager(select, (select) =>
            Effect.mapEager(service.get(id), (record) => ({ record, select })),
          )
        },
        ({ record, select }) => {
          // The validator is the whole record's: what was read in part can be written under its condition, too.
          const whole = recordAnswer(record)
          const answer = select === undefined ? whole : { ...whole, body: render(chosen(record, select)) }
          if (!isKnown(request.headers, answer.headers.etag)) return answer
          // Of a HEAD only the length of the body is sent; it must be that of the 200 (RFC 9110 section 8.6).
          return { ...answer, status: 304, body: request.method === "HEAD" ? answer.body : "" }
        },
      ),
    ...makeWriteHandlers(collection, service, responder),
  }
}

/** What {@link setupCollection} gives. */
export interface CollectionSetup<F extends object> {
  readonly store: RecordStore<F>
  readonly service: RecordService<F>
  readonly handler: CollectionHandler
  /** The routes of specification 4.1, unprotected in themselves: mount them in a group that a {@link Guard} protects. */
  readonly routes: ReturnType<typeof makeRoutes>
}

const NO_PARSE = { parse: "none" } as const
const HIDDEN = { parse: "none", detail: { hide: true } } as const

const makeRoutes = (collection: Collection<object>, handler: CollectionHandler, guard: Guard, responder: Responder) => {
  const docs = collectionDocs(collection)
  const hooks = (operation: Operation, doc: keyof typeof docs = operation) => {
    const roles = collection.roles[operation]
    const detail = { ...NO_PARSE, detail: docs[doc] }
    return roles === undefined ? detail : { ...detail, beforeHandle: guard.requireRoles(roles) }
  }
  const refuse = (...allow: ReadonlyArray<string>) => refusing(responder, methodNotAllowed(allow.join(", ")))
  // The API page shows them in this order.
  const routes = new Elysia({ prefix: `/${collection.name}` })
    .get("", handler.list, hooks("list"))
    .get("/:id", handler.get, hooks("get"))
    .post("", handler.create, hooks("create"))
    .delete("/:id", handler.delete, hooks("delete"))
    .post("/import", handler.import, hooks("create", "import"))
    .get("/import", refuse("POST"), HIDDEN)
    .all("/import", refuse("POST"), HIDDEN)
    .get("/export", handler.export, hooks("list", "export"))
    .all("/export", refuse("GET, HEAD"), HIDDEN)
  const { updates = [] } = collection
  const replaces = updates.includes("replace")
  const patches = updates.includes("patch")
  if (replaces) routes.put("/:id", handler.replace, hooks("replace"))
  if (patches) routes.patch("/:id", handler.patch, hooks("patch"))
  routes
    .all("", refuse("GET", "HEAD", "POST"), HIDDEN)
    .all("/:id", refuse("GET", "HEAD", ...(replaces ? ["PUT"] : []), ...(patches ? ["PATCH"] : []), "DELETE"), HIDDEN)
  return collection.changes
    ? routes.get("/changes", handler.changes, hooks("changes")).all("/changes", refuse("GET, HEAD"), HIDDEN)
    : routes
}

/**
 * Sets a collection up: the only call a new record type needs.
 *
 * @param parts.repository where its records live
 * @param parts.guard decides the collection's own role rules
 * @param parts.responder runs the use cases and words the answers
 * @param parts.feeds bounds the open feeds of changes, and ends them; without it each collection has a bound of its own
 * @returns what is needed to mount a handler elsewhere (specification 4.1, "Custom mounting")
 */
export const setupCollection = <F extends object>(
  collection: Collection<F>,
  parts: {
    readonly repository: RecordRepository["Service"]
    readonly guard: Guard
    readonly responder: Responder
    readonly feeds?: OpenFeeds
  },
): CollectionSetup<F> => {
  const store = makeRecordStore(collection, parts.repository)
  const service = makeRecordService(collection, store)
  const { guard, responder, feeds = makeOpenFeeds() } = parts
  const handler = {
    ...makeHandler(collection, service, responder, guard),
    changes: makeChangesHandler(service, { guard, responder, feeds }),
  }
  return { store, service, handler, routes: makeRoutes(collection, handler, guard, responder) }
}
