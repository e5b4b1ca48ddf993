// Changes of records in MongoDB: the server's own change streams, which need a replica set or a sharded cluster. How long the
// server can go back is the size of its oplog. (mongodb.com/docs/manual/changeStreams)
import { Effect, Stream } from "effect"
import type { ChangeStream, ChangeStreamDocument, Db } from "mongodb"
import type { Change, ChangeFeed } from "../../../domain/records/change.ts"
import { ChangesUnsupported, PositionGone } from "../../../domain/records/errors.ts"
import type { Stored } from "../../../domain/records/record_repository.ts"
import type { MongoConnection } from "../mongo_connection.ts"
import { type RecordDocument, recordsOf, toStored } from "./mongo_creates.ts"

type Document = ChangeStreamDocument<RecordDocument>

/** How often a feed that has told everything asks the server for more. */
const LOOK_PERIOD = "1 second"

/** How long the server may wait for a change, milliseconds: a waiting feed would keep a connection of the pool. */
const AWAIT_MS = 10

/**
 * Codes of a server that has no change streams: a MongoDB that is no replica set (40573), one that does not know them (FerretDB
 * 238, others 115 and 40324). @see mongodb.com/docs/manual/reference/error-codes
 */
const UNSUPPORTED = new Set([40573, 238, 115, 40324])

/** Codes of a token that the server cannot read, or whose place its oplog no longer has. */
const GONE = new Set([9, 260, 280, 286, 40585, 50811])

const codeOf = (failure: unknown): number =>
  failure instanceof Error && "code" in failure && typeof failure.code === "number" ? failure.code : 0

/** The position of a resume token: since MongoDB 4.2 it is `{ _data: <hexadecimal text> }`. */
const positionOf = (token: unknown): string => (token as { readonly _data: string })._data

/** What a document of a change stream says: nothing when the record is gone by now, and `undefined` at the collection's end. */
const changesIn = (document: Document): ReadonlyArray<Change<Stored>> | undefined => {
  const position = positionOf(document._id)
  switch (document.operationType) {
    case "insert":
      return [{ kind: "create", position, record: toStored(document.fullDocument) }]
    case "replace":
    case "update":
      return document.fullDocument === undefined || document.fullDocument === null
        ? []
        : [{ kind: "replace", position, record: toStored(document.fullDocument) }]
    case "delete":
      return [{ kind: "delete", position, record: { id: document.documentKey._id } }]
    case "drop":
    case "rename":
    case "dropDatabase":
    case "invalidate":
      return undefined
    default:
      return []
  }
}

/** A stream that has been asked once: what it found, and where it is now. */
interface Opened {
  readonly stream: ChangeStream<RecordDocument, Document>
  readonly first: Document | null
  readonly position: string
}

const watch = async (db: Db, collection: string, after: string | undefined): Promise<Opened | "none" | "gone"> => {
  const stream = recordsOf(db, collection).watch<RecordDocument, Document>([], {
    fullDocument: "updateLookup",
    maxAwaitTimeMS: AWAIT_MS,
    ...(after === undefined ? {} : { resumeAfter: { _data: after } }),
  })
  try {
    const first = await stream.tryNext()
    // Without a position the feed begins behind what was found: no place before it is known.
    return after === undefined
      ? { stream, first: null, position: positionOf(stream.resumeToken) }
      : { stream, first, position: after }
  } catch (failure) {
    await stream.close()
    if (UNSUPPORTED.has(codeOf(failure))) return "none"
    if (after !== undefined && GONE.has(codeOf(failure))) return "gone"
    throw failure
  }
}

/** Follows a collection over one connection's server. */
export const makeMongoChanges =
  ({ run }: MongoConnection["Service"]) =>
  (collection: string, after: string | undefined) =>
    Effect.gen(function* () {
      const gone = Effect.fail(new PositionGone({ collection }))
      const opened = yield* Effect.acquireRelease(
        run((db) => watch(db, collection, after)),
        (opened) => (typeof opened === "string" ? Effect.void : Effect.promise(() => opened.stream.close())),
      )
      if (opened === "gone") return yield* gone
      if (opened === "none")
        return yield* new ChangesUnsupported({
          collection,
          reason: "the server has no change streams; MongoDB has them as a replica set or a sharded cluster",
        })
      const { stream, position } = opened
      let { first } = opened
      const next = Effect.gen(function* () {
        for (;;) {
          const document: Document | null = first ?? (yield* run(() => stream.tryNext()))
          first = null
          const changes = document === null ? [] : changesIn(document)
          if (changes === undefined) return yield* gone
          if (changes.length > 0) return changes
          if (document === null) yield* Effect.sleep(LOOK_PERIOD)
        }
      })
      const feed: ChangeFeed<Stored> = { position, changes: Stream.fromIterableEffectRepeat(next) }
      return feed
    })
