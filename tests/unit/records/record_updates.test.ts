// The use cases that change a record, over a store that tells what it was asked: which state is judged, who is told what.
import { deepEqual, equal } from "node:assert/strict"
import { describe } from "node:test"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import Type from "typebox"
import * as memory from "../../../adapters/driven/record_repository/memory.ts"
import { makeRecordService, makeRecordStore } from "../../../application/records/record_service.ts"
import { type Collection, defineCollection } from "../../../domain/records/collection.ts"
import { RecordChanged } from "../../../domain/records/errors.ts"
import { type Fields, RecordRepository } from "../../../domain/records/record_repository.ts"
import { effectTest } from "../../support/effect_test.ts"

const charts = defineCollection({
  name: "charts",
  fields: Type.Object({
    title: Type.String({ minLength: 1 }),
    scale: Type.Optional(Type.Integer({ minimum: 1, default: 50_000 })),
    note: Type.Optional(Type.Unsafe<string | null>({ type: ["string", "null"] })),
    measures: Type.Optional(
      Type.Object({
        unit: Type.Optional(Type.String({ default: "m" })),
        depth: Type.Optional(Type.Number({ default: 0 })),
        datum: Type.Optional(Type.String()),
      }),
    ),
  }),
})

/** The service of a collection over a memory store, and how often each method of the store was called. */
const watched = <F extends object>(collection: Collection<F>) =>
  Effect.map(Layer.build(memory.layer), (context) => {
    const repository = Context.get(context, RecordRepository)
    const calls: Array<string> = []
    /** Runs before the next replaces and removes, once each: somebody else's write. */
    const between: Array<() => Effect.Effect<unknown, unknown>> = []
    const first = <A, E>(name: string, call: () => Effect.Effect<A, E>): Effect.Effect<A, E> => {
      calls.push(name)
      const other = name === "get" ? undefined : between.shift()
      return other === undefined ? call() : Effect.andThen(Effect.orDie(other()), Effect.suspend(call))
    }
    const service = makeRecordService(
      collection,
      makeRecordStore(collection, {
        ...repository,
        get: (...args) => first("get", () => repository.get(...args)),
        replace: (...args) => first("replace", () => repository.replace(...args)),
        remove: (...args) => first("remove", () => repository.remove(...args)),
      }),
    )
    const overwrite = (id: number, fields: Fields) => () =>
      Effect.flatMap(repository.get(collection.name, id), ({ id: _, ...now }) =>
        repository.replace(collection.name, id, now, fields),
      )
    return { service, repository, calls, between, overwrite }
  })

describe("replace", () => {
  effectTest("takes the whole record, defaults and all, and what it does not name is gone", function* () {
    const { service } = yield* watched(charts)
    yield* service.create({ title: "a", scale: 1, note: null, measures: { unit: "ft", datum: "LAT" } })
    deepEqual(yield* service.replace(1, { title: "b", measures: {} }), {
      id: 1,
      title: "b",
      scale: 50_000,
      measures: { unit: "m", depth: 0 },
    })
  })

  effectTest("judges what it is given before the store is called", function* () {
    const { service, calls } = yield* watched(charts)
    for (const input of [{}, { title: "" }, { id: 1, title: "a" }, { title: "a", other: 1 }, null])
      equal((yield* Effect.flip(service.replace(1, input)))._tag, "InvalidRecord")
    deepEqual(calls, [])
  })

  effectTest("tries again when another write comes between", function* () {
    const { service, between, overwrite, calls } = yield* watched(charts)
    yield* service.create({ title: "a" })
    between.push(overwrite(1, { title: "theirs" }), overwrite(1, { title: "theirs again" }))
    deepEqual(yield* service.replace(1, { title: "ours" }), { id: 1, title: "ours", scale: 50_000 })
    deepEqual(calls, ["get", "replace", "get", "replace", "get", "replace"])
  })

  effectTest("asks again whether that is the record that is meant", function* () {
    const { service, between, overwrite } = yield* watched(charts)
    yield* service.create({ title: "a" })
    between.push(overwrite(1, { title: "theirs" }))
    equal((yield* Effect.flip(service.replace(1, { title: "b" }, ({ title }) => title === "a")))._tag, "RecordChanged")
    equal((yield* service.get(1)).title, "theirs")
    between.push(overwrite(1, { title: "theirs too" }))
    equal((yield* service.replace(1, { title: "b" }, ({ title }) => title.startsWith("theirs"))).title, "b")
  })

  effectTest("gives up a record that changes without end", function* () {
    const { service, repository } = yield* watched(charts)
    yield* service.create({ title: "a" })
    let tries = 0
    const busy = makeRecordService(
      charts,
      makeRecordStore(charts, {
        ...repository,
        replace: (collection) => {
          tries++
          return Effect.fail(new RecordChanged({ collection }))
        },
      }),
    )
    equal((yield* Effect.flip(busy.replace(1, { title: "b" })))._tag, "RecordChanged")
    equal(tries, 1000)
  })

  effectTest("finds no record that is not there", function* () {
    const { service, calls } = yield* watched(charts)
    equal((yield* Effect.flip(service.replace(1, { title: "a" })))._tag, "RecordNotFound")
    deepEqual(calls, ["get"])
  })
})

describe("patch", () => {
  effectTest("leaves every field alone that it does not name, in objects too, whatever their defaults", function* () {
    const { service } = yield* watched(charts)
    const measures = { unit: "ft", depth: 3, datum: "LAT" }
    yield* service.create({ title: "a", scale: 1, measures })
    deepEqual(yield* service.patch(1, { measures: { depth: 4 } }), {
      id: 1,
      title: "a",
      scale: 1,
      measures: { ...measures, depth: 4 },
    })
  })

  effectTest(
    "takes away what is null; what has a default has it again, and a field that must be there stays",
    function* () {
      const { service } = yield* watched(charts)
      yield* service.create({ title: "a", scale: 1, note: "n", measures: { unit: "ft", datum: "LAT" } })
      deepEqual(yield* service.patch(1, { scale: null, note: null, measures: { unit: null, datum: null } }), {
        id: 1,
        title: "a",
        scale: 50_000,
        measures: { unit: "m", depth: 0 },
      })
      deepEqual(yield* service.patch(1, { measures: null }), { id: 1, title: "a", scale: 50_000 })
      const refusal = yield* Effect.flip(service.patch(1, { title: null }))
      deepEqual(refusal._tag === "InvalidRecord" && refusal.issues, [{ pointer: "/title", message: "is required" }])
    },
  )

  effectTest("judges what it makes of the record, and names what is wrong with it", function* () {
    const { service, calls } = yield* watched(charts)
    yield* service.create({ title: "a" })
    const refusal = yield* Effect.flip(service.patch(1, { scale: 0, colour: "red", measures: { depth: "deep" } }))
    deepEqual(refusal._tag === "InvalidRecord" && refusal.issues.map(({ pointer }) => pointer).toSorted(), [
      "/colour",
      "/measures/depth",
      "/scale",
    ])
    deepEqual(calls, ["get"])
  })

  effectTest("refuses by itself what no record may have, before the store is called", function* () {
    const { service, calls } = yield* watched(charts)
    for (const patch of [{ id: 1 }, { id: null }, { $set: 1 }, [], null, "a"])
      equal((yield* Effect.flip(service.patch(1, patch)))._tag, "InvalidRecord")
    deepEqual(calls, [])
  })

  effectTest("is applied to what another write left", function* () {
    const { service, between, overwrite } = yield* watched(charts)
    yield* service.create({ title: "a", scale: 1 })
    between.push(overwrite(1, { title: "theirs", scale: 2 }))
    deepEqual(yield* service.patch(1, { scale: 3 }), { id: 1, title: "theirs", scale: 3 })
  })
})

describe("remove", () => {
  effectTest("reads nothing when no state is meant", function* () {
    const { service, calls } = yield* watched(charts)
    yield* service.create({ title: "a" })
    yield* service.remove(1)
    deepEqual(calls, ["remove"])
  })

  effectTest("removes only the state that is meant", function* () {
    const { service, between, overwrite } = yield* watched(charts)
    yield* service.create({ title: "a" })
    equal((yield* Effect.flip(service.remove(1, ({ title }) => title === "b")))._tag, "RecordChanged")
    between.push(overwrite(1, { title: "theirs" }))
    equal((yield* Effect.flip(service.remove(1, ({ title }) => title === "a")))._tag, "RecordChanged")
    deepEqual(yield* service.remove(1, () => true), { id: 1, title: "theirs" })
  })
})

describe("timestamps", () => {
  const notes = defineCollection({ name: "notes", fields: Type.Object({ text: Type.String() }), timestamps: true })

  effectTest("say when a record was created and last changed", function* () {
    const { service } = yield* watched(notes)
    const at = (second: number) => `1970-01-01T00:00:0${second}.000Z`
    yield* TestClock.setTime(1000)
    deepEqual(yield* service.create({ text: "a" }), { id: 1, text: "a", createdAt: at(1), updatedAt: at(1) })
    yield* TestClock.setTime(2000)
    deepEqual(yield* service.replace(1, { text: "b" }), { id: 1, text: "b", createdAt: at(1), updatedAt: at(2) })
    yield* TestClock.setTime(3000)
    deepEqual(yield* service.patch(1, { text: "c" }), { id: 1, text: "c", createdAt: at(1), updatedAt: at(3) })
  })

  effectTest("of records that are created together, and of a create that is asked for again", function* () {
    const { service } = yield* watched(notes)
    const at = (second: number) => `1970-01-01T00:00:0${second}.000Z`
    yield* TestClock.setTime(1000)
    const both = yield* service.createAll([{ text: "a" }, { text: "b" }])
    deepEqual(both, [
      { id: 1, text: "a", createdAt: at(1), updatedAt: at(1) },
      { id: 2, text: "b", createdAt: at(1), updatedAt: at(1) },
    ])
    deepEqual(yield* service.get(2), both[1])
    const key = { caller: "c", key: "k", digest: "d" }
    const first = yield* service.createOnce({ text: "c" }, { ...key, atMs: 2000 })
    deepEqual(first, { id: 3, text: "c", createdAt: at(2), updatedAt: at(2) })
    deepEqual(yield* service.get(3), first)
    deepEqual(yield* service.createOnce({ text: "c" }, { ...key, atMs: 5000 }), first)
  })

  effectTest("are nobody else's to say", function* () {
    const { service } = yield* watched(notes)
    yield* service.create({ text: "a" })
    for (const attempt of [
      service.create({ text: "a", createdAt: "2026-01-01T00:00:00.000Z" }),
      service.replace(1, { text: "a", updatedAt: null }),
      service.patch(1, { createdAt: null }),
    ]) {
      const refusal = yield* Effect.flip(attempt)
      deepEqual(refusal._tag === "InvalidRecord" && refusal.issues.map(({ message }) => message), [
        "is assigned by the server",
      ])
    }
  })

  effectTest("of a record that was created before there were any begin with its next change", function* () {
    const { service, repository } = yield* watched(notes)
    yield* repository.create("notes", { text: "old" })
    yield* TestClock.setTime(5000)
    deepEqual(yield* service.patch(1, { text: "new" }), { id: 1, text: "new", updatedAt: "1970-01-01T00:00:05.000Z" })
  })
})
