import { absurd, Effect } from "effect"
import { Elysia } from "elysia"
import {
  makeRecordService,
  makeRecordStore,
  type RecordService,
  type RecordStore,
} from "../../../application/records/record_service.ts"
import type { Collection, CollectionShape, Operation } from "../../../domain/records/collection.ts"
import { RecordNotFound } from "../../../domain/records/errors.ts"
import type { Page } from "../../../domain/records/page.ts"
import type { RecordRepository, Stored } from "../../../domain/records/record_repository.ts"
import type { StoreUnavailable } from "../../../domain/store_unavailable.ts"
import type { HeaderLine } from "../http_server/header_lines.ts"
import { toResponse } from "../http_server/standard_fetch.ts"
import { type Answerer, type Eventually, envelope, eventually, jsonAnswer } from "./answer.ts"
import { collectionDocs } from "./collection_docs.ts"
import type { Guard } from "./guard.ts"
import { readJson } from "./json_body.ts"
import { pageLinks, readPage } from "./page_query.ts"
import { methodNotAllowed } from "./refusal.ts"
import { type Asked, type BoundAnswer, type Headed, requestInfo } from "./request_info.ts"

type Handler = (context: { readonly request: Request }) => Eventually<Response>
type ItemHandler = (context: {
  readonly request: Request
  readonly params: { readonly id?: string | null }
}) => Eventually<Response>

/** The four handlers of a collection, mountable on any path with an `:id` where one is needed. */
export interface CollectionHandler {
  readonly list: Handler
  readonly get: ItemHandler
  readonly create: Handler
  readonly delete: ItemHandler
}

/** Canonical decimal 1..2^53-1: one record has one address. */
const ID_REGEXP = /^[1-9]\d{0,15}$/

const readId = (text: string | null | undefined): number | undefined => {
  const id = typeof text === "string" && ID_REGEXP.test(text) ? Number(text) : 0
  return id >= 1 && id <= Number.MAX_SAFE_INTEGER ? id : undefined
}

const render = (value: object): string => envelope(JSON.stringify(value))

/** True for `Prefer: count=exact`, among other preferences or alone (RFC 7240). */
const wantsExactCount = (request: Headed): boolean =>
  request.headers
    .get("prefer")
    ?.split(",")
    .some((preference) => /^[ \t]*count[ \t]*=[ \t]*"?exact"?[ \t]*$/i.test(preference)) === true

/** Answers the request, and lets the front answer the next one to the same URL without finding the way again. */
const bound = (request: Request, answer: BoundAnswer): Eventually<Response> => {
  requestInfo(request).bound = answer
  return eventually(answer.answer(request), toResponse)
}

/** Says nothing: nothing of such an answer is ever at hand. */
const never = () => undefined

interface ListAnswer<F extends object> {
  readonly records: ReadonlyArray<Stored<F>>
  readonly page: Page
  readonly total?: number
}

const makeHandler = <F extends object>(
  { name }: Collection<F>,
  service: RecordService<F>,
  { answer, respond }: Answerer,
): CollectionHandler => {
  // Every text that is no id is a miss: two answers would tell a stranger which ids are possible.
  const miss = Effect.fail(new RecordNotFound({ collection: name }))
  const rendered = (request: Asked) => (record: Stored<F>) => jsonAnswer(request, 200, render(record))
  const item = (request: Request, program: Effect.Effect<Stored<F>, RecordNotFound | StoreUnavailable>) =>
    respond(request, program, rendered(request))
  return {
    list: ({ request }) => {
      const { pathname } = new URL(request.url)
      const list = Effect.flatMap(readPage(request.url), service.list)
      const counted = Effect.flatMap(list, (answer) => Effect.map(service.count(), (total) => ({ ...answer, total })))
      return bound(request, {
        recall: never,
        answer: (request) =>
          answer<ListAnswer<F>>(request, wantsExactCount(request) ? counted : list, ({ records, page, total }) => {
            const link = pageLinks(pathname, page, records.length)
            const headers: Array<HeaderLine> = link === undefined ? [] : [["link", link]]
            if (total !== undefined)
              headers.push(["x-total-count", String(total)], ["preference-applied", "count=exact"])
            return jsonAnswer(request, 200, render(records), headers)
          }),
      })
    },
    get: ({ request, params }) => {
      const id = readId(params.id)
      if (id === undefined) return item(request, miss)
      return bound(request, {
        recall: never,
        answer: (request) => answer(request, service.get(id), rendered(request)),
      })
    },
    create: ({ request }) => {
      const collection = new URL(request.url).pathname.replace(/\/$/, "")
      return bound(request, {
        recall: never,
        answer: (request) =>
          answer(request, Effect.flatMap(readJson(request), service.create), (record) =>
            jsonAnswer(request, 201, render(record), [["location", `${collection}/${record.id}`]]),
          ),
      })
    },
    delete: ({ request, params }) => {
      const id = readId(params.id)
      return item(request, id === undefined ? miss : service.remove(id))
    },
  }
}

export interface CollectionSetup<F extends object> {
  readonly store: RecordStore<F>
  readonly service: RecordService<F>
  readonly handler: CollectionHandler
  /** The routes of seed 4.1, unprotected in themselves: mount them in a group that a {@link Guard} protects. */
  readonly routes: ReturnType<typeof makeRoutes>
}

const NO_PARSE = { parse: "none" } as const
const HIDDEN = { parse: "none", detail: { hide: true } } as const

const makeRoutes = (collection: CollectionShape, handler: CollectionHandler, guard: Guard, answerer: Answerer) => {
  const docs = collectionDocs(collection)
  const hooks = (operation: Operation) => {
    const roles = collection.roles[operation]
    const detail = { ...NO_PARSE, detail: docs[operation] }
    return roles === undefined ? detail : { ...detail, beforeHandle: guard.requireRoles(roles) }
  }
  const refuse =
    (allow: string): Handler =>
    ({ request }) =>
      answerer.respond(request, Effect.fail(methodNotAllowed(allow)), absurd)
  return new Elysia({ prefix: `/${collection.name}` })
    .get("", handler.list, hooks("list"))
    .get("/:id", handler.get, hooks("get"))
    .post("", handler.create, hooks("create"))
    .delete("/:id", handler.delete, hooks("delete"))
    .all("", refuse("GET, HEAD, POST"), HIDDEN)
    .all("/:id", refuse("GET, HEAD, DELETE"), HIDDEN)
}

/**
 * Sets a collection up: the only call a new record type needs.
 *
 * @param parts.repository where its records live
 * @param parts.guard decides the collection's own role rules
 * @returns what the seed's setup call returns, so that a handler can be mounted elsewhere (seed 4.1, "Custom mounting")
 */
export const setupCollection = <F extends object>(
  collection: Collection<F>,
  parts: { readonly repository: RecordRepository["Service"]; readonly guard: Guard; readonly answerer: Answerer },
): CollectionSetup<F> => {
  const store = makeRecordStore(collection, parts.repository)
  const service = makeRecordService(collection, store)
  const handler = makeHandler(collection, service, parts.answerer)
  return { store, service, handler, routes: makeRoutes(collection, handler, parts.guard, parts.answerer) }
}
