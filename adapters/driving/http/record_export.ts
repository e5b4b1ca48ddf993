// A whole collection as lines of JSON, in the order of the ids.
import { Effect } from "effect"
import type { RecordService } from "../../../application/records/record_service.ts"
import { PAGE_LIMIT_MAX } from "../../../domain/records/page.ts"
import type { Stored } from "../../../domain/records/record_repository.ts"
import { HttpRefusal } from "./http_refusal.ts"
import type { RequestContext } from "./request_context.ts"
import type { Responder } from "./respond.ts"

/** Media type of lines of JSON. */
export const LINES_TYPE = "application/x-ndjson"

const ID_REGEXP = /^(?:0|[1-9]\d{0,15})$/

/** Longest name of an unknown parameter that is repeated to its sender. */
const NAME_MAX = 64

const invalidQuery = (name: string, rule: string) =>
  new HttpRefusal({ code: "INVALID_QUERY", detail: `Query parameter '${name}' ${rule}` })

/** The refusal of a place to go on at that is no id. */
export const invalidAfterId = invalidQuery("after", "must be the id of a record, or 0")

/** @fails {HttpRefusal} 400 for anything but one id, and for any other parameter */
const readAfter = (url: string): Effect.Effect<number, HttpRefusal> => {
  const query = new URLSearchParams(url.includes("?") ? url.slice(url.indexOf("?") + 1) : "")
  const unknown = [...query.keys()].find((name) => name !== "after")
  if (unknown !== undefined) return Effect.fail(invalidQuery(unknown.slice(0, NAME_MAX), "is unknown"))
  const [after = "0", ...more] = query.getAll("after")
  if (more.length > 0) return Effect.fail(invalidQuery("after", "must not be repeated"))
  return ID_REGEXP.test(after) && Number.isSafeInteger(Number(after))
    ? Effect.succeed(Number(after))
    : Effect.fail(invalidAfterId)
}

const linesOf = (records: ReadonlyArray<Stored<object>>): string =>
  records.map((record) => `${JSON.stringify(record)}\n`).join("")

/** The runtime's server, which closes a connection whose answer takes too long unless it is told not to. */
interface Server {
  readonly timeout: (request: Request, seconds: number) => void
}

/** Answers with all records of a collection; mountable on any path. */
export type ExportHandler = (
  context: RequestContext & { readonly server?: Server | null },
) => Promise<string | Response>

/**
 * The handler of an export. Whatever the collection holds, a page of it lies in memory: the next one is read once the client
 * has read the last. When the store fails in the midst the connection breaks, and the client goes on after the last whole line.
 */
export const makeExportHandler =
  <F extends object>(service: RecordService<F>, { stream }: Responder): ExportHandler =>
  async ({ request, set, route, server }) =>
    stream({ request, set, route }, () =>
      Effect.gen(function* () {
        const after = yield* readAfter(request.url)
        // The first page is read before the status is sent: a store that is away is a problem, and no broken answer.
        const first = yield* service.above(after)
        server?.timeout(request, 0)
        return {
          headers: { "content-type": LINES_TYPE, "cache-control": "no-store" },
          whole: true,
          work: (send) =>
            Effect.gen(function* () {
              for (let page = first; ; ) {
                const last = page.at(-1)
                if (last === undefined) return
                yield* send(linesOf(page))
                if (page.length < PAGE_LIMIT_MAX) return
                page = yield* service.above(last.id)
              }
            }),
        }
      }),
    )
