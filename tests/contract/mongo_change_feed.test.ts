// The feed over MongoDB's change streams, against a driver that plays their answers: it has not met a server that has them.
import { describe, expect, test } from "bun:test"
import { Effect, Stream } from "effect"
import type { Db } from "mongodb"
import type { MongoConnection } from "../../adapters/driven/mongo_connection.ts"
import { makeMongoChanges } from "../../adapters/driven/record_repository/mongo_change_feed.ts"
import { StoreUnavailable } from "../../domain/store_unavailable.ts"

const away = new StoreUnavailable({ store: { user: "-", host: "-", database: "-" }, reason: "away" })

/** A failure of the server with this code (mongodb.com/docs/manual/reference/error-codes). */
const serverError = (code: number) => Object.assign(new Error("refused"), { code })

const token = (place: string) => ({ _id: { _data: place } })

/** A change stream that gives these answers to `tryNext`, one after the other, and what was asked of it. */
const played = (answers: ReadonlyArray<object | null | Error>, resumeToken = { _data: "82NOW" }) => {
  const asked = { options: {} as unknown, closed: 0 }
  const rest = [...answers]
  const stream = {
    resumeToken,
    tryNext: async () => {
      const answer = rest.shift() ?? null
      if (answer instanceof Error) throw answer
      return answer
    },
    close: async () => {
      asked.closed++
    },
  }
  const watch = (_pipeline: unknown, options: unknown) => {
    asked.options = options
    return stream
  }
  const db: Db = Object.assign(Object.create(null), { collection: () => ({ watch }) })
  const run: MongoConnection["Service"]["run"] = (operations) =>
    Effect.tryPromise({ try: (signal) => operations(db, signal), catch: () => away })
  const refuse = () => Effect.fail(away)
  const changes = makeMongoChanges({ run, refuse, withinDeadline: (effect) => effect })
  return { asked, changes }
}

const inserted = { ...token("82A"), operationType: "insert", fullDocument: { _id: 1, fields: { name: "a" } } }
const replaced = { ...token("82B"), operationType: "replace", fullDocument: { _id: 1, fields: { name: "b" } } }
const updatedAndGone = { ...token("82C"), operationType: "update", fullDocument: null }
const deleted = { ...token("82D"), operationType: "delete", documentKey: { _id: 1 } }

describe("a feed over a change stream", () => {
  test("goes on after a position, and tells what the server tells", () =>
    Effect.runPromise(
      Effect.gen(function* () {
        const { changes, asked } = played([
          inserted,
          replaced,
          { ...token("82X"), operationType: "createIndexes" },
          updatedAndGone,
          deleted,
        ])
        const told = yield* Effect.scoped(
          Effect.flatMap(changes("charts", "82START"), ({ position, changes }) => {
            expect(position).toBe("82START")
            return Stream.runCollect(Stream.take(changes, 3))
          }),
        )
        expect<unknown>(told).toEqual([
          { kind: "create", position: "82A", record: { id: 1, name: "a" } },
          { kind: "replace", position: "82B", record: { id: 1, name: "b" } },
          { kind: "delete", position: "82D", record: { id: 1 } },
        ])
        expect(asked.options).toMatchObject({ resumeAfter: { _data: "82START" }, fullDocument: "updateLookup" })
        expect(asked.closed).toBe(1)
      }),
    ))

  test("begins where the server is now, behind what it has just told", () =>
    Effect.runPromise(
      Effect.gen(function* () {
        const { changes, asked } = played([inserted, deleted])
        const told = yield* Effect.scoped(
          Effect.flatMap(changes("charts", undefined), ({ position, changes }) => {
            expect(position).toBe("82NOW")
            return Stream.runCollect(Stream.take(changes, 1))
          }),
        )
        expect(told.map(({ kind }) => kind)).toEqual(["delete"])
        expect(asked.options).not.toHaveProperty("resumeAfter")
      }),
    ))

  test("ends with the collection", () =>
    Effect.runPromise(
      Effect.gen(function* () {
        const { changes } = played([null, { ...token("82A"), operationType: "invalidate" }])
        const ended = yield* Effect.scoped(
          Effect.flatMap(changes("charts", undefined), ({ changes }) => Effect.flip(Stream.runDrain(changes))),
        )
        expect(ended._tag).toBe("PositionGone")
      }),
    ))

  test.each([
    [40573, undefined, "ChangesUnsupported"],
    [238, "82A", "ChangesUnsupported"],
    [286, "82A", "PositionGone"],
    [260, "82A", "PositionGone"],
    [9, "82A", "PositionGone"],
    [9, undefined, "StoreUnavailable"],
    [13, "82A", "StoreUnavailable"],
  ] as const)("a refusal with code %d after %s is %s, and the stream is closed", (code, after, tag) =>
    Effect.runPromise(
      Effect.gen(function* () {
        const { changes, asked } = played([serverError(code)])
        const refused = yield* Effect.flip(Effect.scoped(changes("charts", after)))
        expect([refused._tag, asked.closed]).toEqual([tag, 1])
      }),
    ),
  )
})
