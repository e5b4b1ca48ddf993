// A list: from a request to a page, and from a page to an answer.
import { Effect } from "effect"
import type { Listed, RecordService } from "../../../application/records/record_service.ts"
import type { Collection } from "../../../domain/records/collection.ts"
import { InvalidQuery, type RecordsError } from "../../../domain/records/errors.ts"
import { CURSOR_LENGTH_MAX, cursorOf } from "./cursor.ts"
import { cursorLink, pageLinks } from "./page_links.ts"
import { type ListRequest, queryRules } from "./record_query.ts"
import type { RequestContext } from "./request_context.ts"
import { type Answer, envelope, type Responder } from "./respond.ts"

/** True for `Prefer: count=exact`, among other preferences or alone (RFC 7240). */
const wantsExactCount = ({ headers }: Request): boolean =>
  headers
    .get("prefer")
    ?.split(",")
    .some((preference) => /^[ \t]*count[ \t]*=[ \t]*"?exact"?[ \t]*$/i.test(preference)) === true

/** The record with the chosen fields alone, in their order. */
export const chosen = (record: object, select: ReadonlyArray<string>): object => {
  const members = new Map(Object.entries(record))
  return Object.fromEntries(select.filter((name) => members.has(name)).map((name) => [name, members.get(name)]))
}

const TOO_LONG = new InvalidQuery({
  parameter: "order",
  rule: "sorts by values that are too long for a cursor; use 'start' and 'limit'",
})

/** The `Link` header of a page; nothing for a page that has none beside it. */
const linkOf = (
  path: string,
  { kept, fingerprint }: ListRequest,
  { page, records, next }: Listed<object>,
): Effect.Effect<string | undefined, InvalidQuery> => {
  if (fingerprint === undefined) return Effect.succeed(pageLinks(path, kept, page, records.length))
  if (next === undefined) return Effect.undefined
  const cursor = cursorOf(fingerprint, next)
  return cursor.length > CURSOR_LENGTH_MAX
    ? Effect.fail(TOO_LONG)
    : Effect.succeed(cursorLink(path, kept, page.limit, cursor))
}

/** Handles the list of a collection. */
export const makeListHandler = <F extends object>(
  collection: Collection<F>,
  service: RecordService<F>,
  { respond }: Responder,
) => {
  const { readList } = queryRules(collection)

  const read = (request: Request, path: string): Effect.Effect<Answer, RecordsError> =>
    Effect.flatMapEager(readList(request.url), (asked) =>
      Effect.flatMapEager(service.list(asked.wanted), (listed) =>
        Effect.flatMapEager(linkOf(path, asked, listed), (link) => {
          const { select } = asked
          const shown = select === undefined ? listed.records : listed.records.map((record) => chosen(record, select))
          const total = wantsExactCount(request) ? service.count(asked.wanted) : Effect.undefined
          return Effect.mapEager(total, (total) => ({
            status: 200,
            headers: {
              ...(link === undefined ? {} : { link }),
              ...(total === undefined ? {} : { "x-total-count": `${total}`, "preference-applied": "count=exact" }),
            },
            body: envelope(JSON.stringify(shown)),
          }))
        }),
      ),
    )

  return async ({ request, set, route, path }: RequestContext & { readonly path: string }): Promise<string> =>
    respond(
      { request, set, route },
      () => read(request, path),
      (answer) => answer,
    )
}
