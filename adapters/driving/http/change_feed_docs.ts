import { CHANGES_KEPT } from "../../../domain/records/change.ts"
import { ChangesUnsupported, PositionGone } from "../../../domain/records/errors.ts"
import { HEARTBEAT_S, invalidAfter } from "./change_feed.ts"
import { tooManyFeeds } from "./http_refusal.ts"
import type { ServiceError } from "./problem.ts"
import { plainDoc, type ResponseDocs } from "./problem_docs.ts"

const EXAMPLE_POSITION = "4f1c09d2ab7e.17"

const position = (name: string, place: "query" | "header", description: string) => ({
  name,
  in: place,
  description,
  schema: { type: "string", maxLength: 1024, pattern: "^[A-Za-z0-9_.-]+$" },
})

/** What may be sent with the request for a collection's changes. */
export const CHANGES_PARAMETERS = [
  position(
    "after",
    "query",
    "Position (`id` of an event) after which to go on; only what comes from now on when omitted",
  ),
  position("Last-Event-ID", "header", "The same; what a browser sends when it connects again. It wins over `after`"),
]

/** @param record an example of the collection's records, when there is one */
export const changesAnswer = (record: object | undefined): ResponseDocs => ({
  200: plainDoc(
    `Server-sent events \`create\` and \`replace\` with the record, and \`delete\` with its id alone, in the order of the writes. The first block has only an \`id\`: the position at which the feed begins. A comment comes every ${HEARTBEAT_S} s. The last ${CHANGES_KEPT.toLocaleString("en")} changes are kept (with MongoDB, what its oplog holds)`,
    "text/event-stream",
    { type: "string" },
    `retry: 2000\nid: ${EXAMPLE_POSITION.replace("17", "16")}\n\nevent: create\nid: ${EXAMPLE_POSITION}\ndata: ${JSON.stringify(record ?? { id: 7 })}\n\n`,
  ),
})

/** What a feed can be refused for. */
export const changesRefusals = (collection: string): ReadonlyArray<ServiceError> => [
  invalidAfter,
  new PositionGone({ collection }),
  new ChangesUnsupported({ collection, reason: "" }),
  tooManyFeeds,
]
