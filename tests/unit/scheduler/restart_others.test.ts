// A restart while others have a say: a proxy that answers for the agent, people who change the job, agents of other
// addresses and clusters, and a token of few rights.
import { deepEqual, equal, ok } from "node:assert/strict"
import { describe } from "node:test"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { effectTest } from "../../support/effect_test.ts"
import { makeWorld, REFUSALS, sampleJob } from "./restart_world.ts"

const WEB = { jobId: "web", region: "" }

const started = Effect.fnUntraced(function* (rules = {}) {
  const world = yield* makeWorld()
  const instance = yield* world.start(rules)
  yield* Effect.addFinalizer(() => Effect.forkDetach(instance.stop))
  return { ...world, ...instance }
})

describe("somebody else's 404", () => {
  effectTest("to the first step is no word on the job: the caller gets the error, the job is watched", () =>
    Effect.gen(function* () {
      const { restarts, fates, count } = yield* started()
      fates.push({ doneButFailed: REFUSALS.foreign })
      yield* restarts.restart(WEB)
      yield* TestClock.adjust("1 second")
      equal(yield* count(), 1)
      fates.push({ refused: REFUSALS.foreign })
      equal(yield* Effect.flip(restarts.restart(WEB)), REFUSALS.foreign)
      equal((yield* restarts.unfinished).length, 2)
      yield* TestClock.adjust("1 minute")
      deepEqual([yield* count(), yield* restarts.unfinished], [1, []])
    }),
  )

  effectTest("to the second step, and to the look after it, is tried again", () =>
    Effect.gen(function* () {
      const { restarts, fates, lookFates, scalings, count } = yield* started()
      fates.push("done", { refused: REFUSALS.foreign })
      lookFates.push(REFUSALS.foreign)
      yield* restarts.restart(WEB)
      yield* TestClock.adjust("30 seconds")
      deepEqual(scalings, [0, 1, 1])
      deepEqual([yield* count(), yield* restarts.unfinished], [1, []])
    }),
  )
})

describe("somebody changes the count while the second step is refused", () => {
  for (const [change, becomes, how] of [
    [3, 3, "somebody else scaled the job to 3"],
    [1, 1, "the job already runs"],
  ] as const)
    effectTest(`to ${change}: it stays, and the log says so`, () =>
      Effect.gen(function* () {
        const { restarts, scheduler, fates, scalings, count, logs } = yield* started()
        fates.push("done", { refused: REFUSALS.deployment }, { refused: REFUSALS.deployment })
        yield* restarts.restart(WEB)
        yield* TestClock.adjust("2 seconds")
        yield* scheduler.runJob(sampleJob("web", change), WEB)
        yield* TestClock.adjust("20 seconds")
        equal(yield* count(), becomes)
        deepEqual(scalings, [0, 1])
        deepEqual(yield* restarts.unfinished, [])
        ok(logs.some(({ text }) => text.includes(how)))
      }),
    )

  effectTest("between the look and the try: the agent compares, and it stays", () =>
    Effect.gen(function* () {
      const { restarts, scheduler, fates, lookFates, count, logs } = yield* started()
      fates.push("done", { refused: REFUSALS.deployment })
      lookFates.push(REFUSALS.denied, REFUSALS.denied)
      yield* restarts.restart(WEB)
      yield* TestClock.adjust("2 seconds")
      yield* scheduler.runJob(sampleJob("web", 3), WEB)
      yield* TestClock.adjust("20 seconds")
      equal(yield* count(), 3)
      deepEqual(yield* restarts.unfinished, [])
      ok(logs.some(({ text }) => text.includes("somebody else changed the job")))
    }),
  )
})

describe("somebody changes the job before the first try of the second step", () => {
  effectTest("guarded, it leaves a job alone that somebody else changed (case 72)", () =>
    Effect.gen(function* () {
      const { restarts, scheduler, scalings, count, logs } = yield* started()
      yield* restarts.restart(WEB)
      yield* scheduler.runJob(sampleJob("web", 7), WEB)
      yield* TestClock.adjust("1 second")
      equal(yield* count(), 7)
      deepEqual(scalings, [0, 1])
      deepEqual(yield* restarts.unfinished, [])
      deepEqual(
        logs.filter(({ level }) => level === "Error"),
        [],
      )
    }),
  )

  effectTest("guarded, it brings a job back that was changed but still is at 0", () =>
    Effect.gen(function* () {
      const { restarts, scheduler, count } = yield* started()
      yield* restarts.restart(WEB)
      yield* scheduler.runJob(sampleJob("web", 0), WEB)
      yield* TestClock.adjust("1 second")
      equal(yield* count(), 1)
      deepEqual(yield* restarts.unfinished, [])
    }),
  )
})

describe("the index that the scale to 0 insists on", () => {
  effectTest("is the job's, and the entry names it until the scale to 0 is answered", () =>
    Effect.gen(function* () {
      const { restarts, scheduler, fates, insisted } = yield* started()
      const { value } = yield* scheduler.getDefinition(WEB)
      fates.push({ refused: REFUSALS.timeout })
      equal(yield* Effect.flip(restarts.restart(WEB)), REFUSALS.timeout)
      yield* restarts.restart(WEB)
      deepEqual(insisted, [value.JobModifyIndex, value.JobModifyIndex])
      deepEqual(
        (yield* restarts.unfinished).map(({ state, guardIndex }) => [state, guardIndex]),
        [
          ["intent", value.JobModifyIndex],
          ["stopped", undefined],
        ],
      )
    }),
  )

  for (const name of ["denied", "refused", "foreign", "unreadable"] as const)
    effectTest(`is none when the agent does not tell it: ${name}`, () =>
      Effect.gen(function* () {
        const { restarts, indexFates, scalings, insisted } = yield* started()
        indexFates.push(REFUSALS[name])
        yield* restarts.restart(WEB)
        deepEqual([scalings, insisted], [[0], [undefined]])
      }),
    )

  for (const name of ["unreachable", "timeout", "failed", "notFound"] as const)
    effectTest(`cannot be asked for: the caller gets the error, nothing is sent, nothing is left: ${name}`, () =>
      Effect.gen(function* () {
        const { restarts, indexFates, scalings } = yield* started()
        indexFates.push(REFUSALS[name])
        equal(yield* Effect.flip(restarts.restart(WEB)), REFUSALS[name])
        deepEqual([scalings, yield* restarts.unfinished], [[], []])
      }),
    )
})

describe("a token that may scale and not look", () => {
  effectTest("brings a job back that the process before left", () =>
    Effect.gen(function* () {
      const { restarts, crash, start, lookFates, scalings, count } = yield* started()
      yield* restarts.restart(WEB)
      yield* crash
      lookFates.push(...Array.from({ length: 50 }, () => REFUSALS.denied))
      const next = yield* start()
      yield* TestClock.adjust("12 seconds")
      deepEqual([scalings, yield* count(), yield* next.restarts.unfinished], [[0, 1], 1, []])
    }),
  )

  effectTest("and one whose scale to 0 is not known to have been done, once none can come any more", () =>
    Effect.gen(function* () {
      const { restarts, fates, lookFates, scalings, count } = yield* started()
      fates.push({ doneButFailed: REFUSALS.timeout })
      lookFates.push(...Array.from({ length: 50 }, () => REFUSALS.denied))
      equal(yield* Effect.flip(restarts.restart(WEB)), REFUSALS.timeout)
      yield* TestClock.adjust("29 seconds")
      deepEqual(scalings, [0])
      yield* TestClock.adjust("5 seconds")
      deepEqual([scalings, yield* count(), yield* restarts.unfinished], [[0, 1], 1, []])
    }),
  )
})

describe("another address", () => {
  const leave = Effect.fnUntraced(function* (cluster: ReadonlyArray<string>) {
    const world = yield* makeWorld()
    const first = yield* world.start({}, { endpoint: "http://127.0.0.1:4646", clusterKeys: Effect.succeed(cluster) })
    yield* first.restarts.restart(WEB)
    yield* first.crash
    return world
  })
  const there = { endpoint: "http://localhost:4646" }

  effectTest("of the same cluster resumes what the first one left", () =>
    Effect.gen(function* () {
      const { start, count } = yield* leave(["key 1", "key 2"])
      const next = yield* start({}, { ...there, clusterKeys: Effect.succeed(["key 2", "key 3"]) })
      yield* TestClock.adjust("12 seconds")
      deepEqual([yield* count(), yield* next.restarts.unfinished], [1, []])
    }),
  )

  for (const [name, before, now] of [
    ["of another cluster", ["key 1"], ["key 9"]],
    ["that does not tell its cluster", ["key 1"], []],
    ["when the first did not tell", [], ["key 1"]],
  ] as const)
    effectTest(`${name} lists it with its address, and leaves it`, () =>
      Effect.gen(function* () {
        const { start, scalings } = yield* leave(before)
        const next = yield* start({}, { ...there, clusterKeys: Effect.succeed(now) })
        yield* TestClock.adjust("1 minute")
        const [left] = yield* next.restarts.unfinished
        deepEqual([left?.endpoint, left?.state, scalings], ["http://127.0.0.1:4646", "stopped", [0]])
      }),
    )

  effectTest("the agent is asked for its cluster once, and not before there is a restart", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      let asked = 0
      const clusterKeys = Effect.sync(() => {
        asked += 1
        return ["key 1"]
      })
      const { restarts } = yield* world.start({}, { clusterKeys })
      yield* TestClock.adjust("1 minute")
      equal(asked, 0)
      for (let times = 0; times < 3; times++) {
        yield* restarts.restart(WEB)
        yield* TestClock.adjust("10 seconds")
      }
      deepEqual([asked, yield* restarts.unfinished], [1, []])
    }),
  )

  effectTest("an agent that is slow to tell its cluster holds a restart up by a second at most", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      const { restarts } = yield* world.start({}, { clusterKeys: Effect.never })
      const restarted = yield* Effect.forkChild(restarts.restart(WEB))
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(restarted)
      const [held] = yield* restarts.unfinished
      deepEqual([held?.state, held?.cluster], ["stopped", undefined])
      yield* TestClock.adjust("1 second")
      equal(yield* world.count(), 1)
    }),
  )

  effectTest("nothing is resumed while the agent cannot say which cluster it is of", () =>
    Effect.gen(function* () {
      const { start, scalings } = yield* leave(["key 1"])
      let down = true
      const clusterKeys = Effect.suspend(() => (down ? Effect.fail(REFUSALS.unreachable) : Effect.succeed(["key 1"])))
      yield* start({}, { clusterKeys })
      yield* TestClock.adjust("1 minute")
      deepEqual(scalings, [0])
      down = false
      yield* TestClock.adjust("10 seconds")
      deepEqual(scalings, [0, 1])
    }),
  )
})
