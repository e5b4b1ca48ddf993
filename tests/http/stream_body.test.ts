// A body that comes piece by piece: it waits for its reader, not for ever, and ends with whoever ends first.
import { deepEqual, equal } from "node:assert/strict"
import { describe } from "node:test"
import { Context, Effect, Exit, Fiber, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import Type from "typebox"
import * as memoryRecords from "../../adapters/driven/record_repository/memory.ts"
import { HEARTBEAT_S } from "../../adapters/driving/http/change_feed.ts"
import { setupCollection } from "../../adapters/driving/http/collection_routes.ts"
import { makeGuard } from "../../adapters/driving/http/guard.ts"
import { makeResponder } from "../../adapters/driving/http/respond.ts"
import { type Send, streamBody } from "../../adapters/driving/http/stream_body.ts"
import { Unauthenticated } from "../../domain/identity/errors.ts"
import { defineCollection } from "../../domain/records/collection.ts"
import { RecordRepository } from "../../domain/records/record_repository.ts"
import { effectTest } from "../support/effect_test.ts"

const decoder = new TextDecoder()

/** Lets everything that can go on do so. */
const settle = Effect.andThen(
  TestClock.adjust(0),
  Effect.promise(() => new Promise((resolve) => setImmediate(resolve))),
)

/** A body, how its program ended, and what it has sent so far. */
const running = (program: (send: Send) => Effect.Effect<void, unknown>) =>
  Effect.gen(function* () {
    const fork = Effect.runForkWith(yield* Effect.context<never>())
    const exits: Array<Exit.Exit<void, unknown>> = []
    let sent = 0
    const body = streamBody((send) =>
      fork(
        program((text) =>
          Effect.andThen(
            Effect.sync(() => sent++),
            send(text),
          ),
        ).pipe(
          Effect.onExit((exit) => Effect.sync(() => exits.push(exit))),
          Effect.exit,
          Effect.asVoid,
        ),
      ),
    )
    return { reader: body.getReader(), exits, sent: () => sent }
  })

const endless = (send: Send) => Effect.forever(send("x"))

describe("a streamed body", () => {
  effectTest("is sent no faster than it is read", function* () {
    const { reader, sent } = yield* running(endless)
    yield* settle
    equal(sent(), 1)
    for (let read = 1; read <= 5; read++) {
      const { value } = yield* Effect.promise(() => reader.read())
      equal(decoder.decode(value), "x")
      yield* settle
      equal(sent(), read + 1)
    }
    yield* Effect.promise(() => reader.cancel())
  })

  effectTest("ends for a reader that reads nothing for 30 s, and not before", function* () {
    const { reader, exits } = yield* running(endless)
    yield* settle
    yield* TestClock.adjust("29 seconds")
    yield* Effect.promise(() => reader.read())
    yield* settle
    yield* TestClock.adjust("29 seconds")
    equal(exits.length, 0)
    yield* TestClock.adjust("1 seconds")
    yield* settle
    deepEqual(
      exits.map((exit) => Exit.isFailure(exit)),
      [true],
    )
    yield* Effect.promise(() => reader.read())
    equal((yield* Effect.promise(() => reader.read())).done, true)
  })

  effectTest("is interrupted when its reader goes away", function* () {
    const { reader, exits } = yield* running(endless)
    yield* settle
    yield* Effect.promise(() => reader.cancel())
    yield* settle
    equal(exits.length, 1)
    equal(Exit.hasInterrupts(exits[0] ?? Exit.void), true)
  })

  effectTest("ends with its program", function* () {
    const { reader } = yield* running((send) => send("only"))
    yield* settle
    equal(decoder.decode((yield* Effect.promise(() => reader.read())).value), "only")
    equal((yield* Effect.promise(() => reader.read())).done, true)
  })
})

describe("a quiet feed", () => {
  const charts = defineCollection({ name: "charts", fields: Type.Object({ name: Type.String() }), changes: true })

  /** A feed over virtual time, for a token that is accepted until it is withdrawn. */
  const feed = Effect.gen(function* () {
    const context = Context.merge(yield* Effect.context<never>(), yield* Layer.build(memoryRecords.layer))
    let accepted = true
    const verify = () =>
      accepted
        ? Effect.succeed({ subject: undefined, roles: new Set<string>(), expiresAt: 1e9 })
        : Effect.fail(new Unauthenticated({ reason: "expired" }))
    const responder = makeResponder(context)
    const guard = makeGuard({ verify, ready: Effect.void }, responder)
    const { handler } = setupCollection(charts, {
      repository: Context.get(context, RecordRepository),
      guard,
      responder,
    })
    const headers = { authorization: "Bearer a.b.c" }
    const request = new Request("http://localhost/changes", { headers })
    const opened = yield* Effect.promise(() => handler.changes({ request, set: { headers: {} } }))
    if (typeof opened === "string" || opened.body === null) throw new Error(String(opened))
    const texts = Stream.fromReadableStream({
      evaluate: () => opened.body as ReadableStream<Uint8Array>,
      onError: String,
    })
    const read: Array<string> = []
    const reading = yield* Effect.forkChild(
      Stream.runForEach(texts, (bytes) => Effect.sync(() => read.push(decoder.decode(bytes)))),
    )
    yield* settle
    return {
      read,
      reading,
      withdraw: () => {
        accepted = false
      },
    }
  })

  effectTest("shows every 15 s that it lives", function* () {
    const { read, reading } = yield* feed
    equal(read.length, 1)
    for (let beat = 1; beat <= 4; beat++) {
      yield* TestClock.adjust(`${HEARTBEAT_S - 1} seconds`)
      yield* settle
      equal(read.length, beat)
      yield* TestClock.adjust("1 seconds")
      yield* settle
      deepEqual(read.slice(beat), [":\n\n"])
    }
    yield* Fiber.interrupt(reading)
  })

  effectTest("ends within 15 s when its token is accepted no longer, whatever the token says", function* () {
    const { reading, withdraw } = yield* feed
    yield* TestClock.adjust("1 minute")
    withdraw()
    yield* TestClock.adjust(`${HEARTBEAT_S} seconds`)
    yield* settle
    yield* Fiber.join(reading)
  })
})
