// The changes of a collection as server-sent events. (html.spec.whatwg.org, section 9.2)
import { Clock, Effect, Stream } from "effect"
import type { RecordService } from "../../../application/records/record_service.ts"
import type { Change } from "../../../domain/records/change.ts"
import { InvalidQuery } from "../../../domain/records/errors.ts"
import type { Guard } from "./guard.ts"
import { HttpRefusal } from "./http_refusal.ts"
import type { OpenFeeds } from "./open_feeds.ts"
import type { RequestContext } from "./request_context.ts"
import type { Responder } from "./respond.ts"

/** Seconds between two signs of life. Proxies commonly end a connection that is silent for 60 s. */
export const HEARTBEAT_S = 15

/** How long a client waits before it connects again, milliseconds. */
const RETRY_MS = 2_000

const POSITION_REGEXP = /^[\w.-]{1,1024}$/

const RULE = "must be a position that this feed gave"
const invalidHeader = new HttpRefusal({ code: "INVALID_HEADER", detail: `Header 'Last-Event-ID' ${RULE}` })

/** The refusal of a position in the query that no feed ever gave. */
export const invalidAfter = new InvalidQuery({ parameter: "after", rule: RULE })

/**
 * The position after which a client wants to go on: what its browser sends on connecting again, else what its address says.
 *
 * @fails {InvalidQuery} for a parameter that no feed ever gave, and for any other one
 * @fails {HttpRefusal} 400 for a header that no feed ever gave
 */
const readAfter = ({ url, headers }: Request): Effect.Effect<string | undefined, HttpRefusal | InvalidQuery> => {
  const query = new URLSearchParams(url.includes("?") ? url.slice(url.indexOf("?") + 1) : "")
  const unknown = [...query.keys()].find((name) => name !== "after")
  if (unknown !== undefined)
    return Effect.fail(new InvalidQuery({ parameter: unknown, rule: "is no parameter of a feed of changes" }))
  const [after, ...more] = query.getAll("after")
  if (more.length > 0) return Effect.fail(new InvalidQuery({ parameter: "after", rule: "must not be repeated" }))
  if (after !== undefined && !POSITION_REGEXP.test(after)) return Effect.fail(invalidAfter)
  const last = headers.get("last-event-id") || undefined
  if (last !== undefined && !POSITION_REGEXP.test(last)) return Effect.fail(invalidHeader)
  return Effect.succeed(last ?? after)
}

/** JSON text holds no line break, so it is one line of data. */
const eventText = ({ kind, position, record }: Change<object>): string =>
  `event: ${kind}\nid: ${position}\ndata: ${JSON.stringify(record)}\n\n`

/** Succeeds when the request's token is accepted no longer. Where nobody asked for a token, none can expire. */
const untilExpired = (guard: Guard, request: Request) => {
  if (!request.headers.has("authorization")) return Effect.never
  const expired = Effect.gen(function* () {
    for (;;) {
      const { expiresAt } = yield* guard.identify(request)
      const leftMs = expiresAt * 1000 - (yield* Clock.currentTimeMillis)
      // The service may accept a token for some seconds longer than it says, or withdraw its key before.
      yield* Effect.sleep(Math.min(Math.max(leftMs, 1_000), HEARTBEAT_S * 1000))
    }
  })
  return Effect.catchTag(expired, "Unauthenticated", () => Effect.void)
}

/** The runtime's server, which closes a connection whose answer takes too long unless it is told not to. */
interface Server {
  readonly timeout: (request: Request, seconds: number) => void
}

/** Answers with the changes of a collection; mountable on any path. */
export type ChangesHandler = (
  context: RequestContext & { readonly server?: Server | null },
) => Promise<string | Response>

/** What a feed needs beside its collection. */
export interface ChangeFeedParts {
  readonly guard: Guard
  readonly responder: Responder
  readonly feeds: OpenFeeds
}

/**
 * The handler of a collection's changes.
 *
 * A feed ends with its token, when the service stops, when the log has been left behind by a slow client, and when a client does
 * not read: clients connect again and say where they were, and then learn why they are refused.
 */
export const makeChangesHandler =
  <F extends object>(service: RecordService<F>, { guard, responder, feeds }: ChangeFeedParts): ChangesHandler =>
  async ({ request, set, route, server }) =>
    responder.stream({ request, set, route }, () =>
      Effect.gen(function* () {
        const after = yield* readAfter(request)
        yield* feeds.enter
        const { position, changes } = yield* service.changes(after)
        server?.timeout(request, 0)
        return {
          headers: {
            "content-type": "text/event-stream",
            "cache-control": "no-store",
            // Some proxies gather an answer before they pass it on, unless it says this.
            "x-accel-buffering": "no",
          },
          work: (send) =>
            Effect.andThen(
              // The place of the beginning: a client that is cut off before the first event goes on after it all the same.
              send(`retry: ${RETRY_MS}\nid: ${position}\n\n`),
              Effect.raceAllFirst([
                Stream.runForEach(changes, (change) => send(eventText(change))),
                Effect.forever(Effect.delay(send(":\n\n"), `${HEARTBEAT_S} seconds`)),
                untilExpired(guard, request),
                feeds.ended,
              ]),
            ),
        }
      }),
    )
