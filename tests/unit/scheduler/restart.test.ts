import { deepEqual, equal, ok } from "node:assert/strict"
import { describe } from "node:test"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { StoreUnavailable } from "../../../domain/store_unavailable.ts"
import { effectTest } from "../../support/effect_test.ts"
import { makeWorld, REFUSALS, sampleJob } from "./restart_world.ts"

const WEB = { jobId: "web", region: "" }

/** A world and one running instance. */
const started = Effect.fnUntraced(function* (rules = {}) {
  const world = yield* makeWorld()
  const instance = yield* world.start(rules)
  yield* Effect.addFinalizer(() => Effect.forkDetach(instance.stop))
  return { ...world, ...instance }
})

const errorsIn = (logs: ReadonlyArray<{ readonly level: string }>): number =>
  logs.filter(({ level }) => level === "Error").length

describe("restart", () => {
  effectTest("scales to 0, answers, and one second later scales to 1: two requests, nothing left (case 63)", () =>
    Effect.gen(function* () {
      const { restarts, scalings, looks, journal, count, logs } = yield* started()
      yield* restarts.restart(WEB)
      deepEqual(scalings, [0])
      equal(yield* count(), 0)
      equal((yield* journal.list)[0]?.state, "stopped")
      yield* TestClock.adjust("999 millis")
      deepEqual(scalings, [0])
      yield* TestClock.adjust("1 millis")
      deepEqual(scalings, [0, 1])
      equal(yield* count(), 1)
      equal(looks(), 0)
      deepEqual(yield* restarts.unfinished, [])
      equal(errorsIn(logs), 0)
    }),
  )

  for (const [name, refusal] of [
    ["400", REFUSALS.refused],
    ["403", REFUSALS.denied],
    ["500", REFUSALS.failed],
    ["no connection", REFUSALS.unreachable],
    ["active deployment", REFUSALS.deployment],
  ] as const)
    effectTest(`fails with the first step's error and sends nothing more: ${name} (case 64)`, () =>
      Effect.gen(function* () {
        const { restarts, fates, scalings, looks } = yield* started()
        fates.push({ refused: refusal })
        equal(yield* Effect.flip(restarts.restart(WEB)), refusal)
        yield* TestClock.adjust("3 seconds")
        deepEqual(scalings, [0])
        equal(looks(), 0)
        deepEqual(yield* restarts.unfinished, [])
      }),
    )

  effectTest("only logs the second step's error, once, and keeps the restart as stuck (case 65, 403)", () =>
    Effect.gen(function* () {
      const { restarts, fates, scalings, logs } = yield* started()
      fates.push("done", { refused: REFUSALS.denied })
      yield* restarts.restart(WEB)
      yield* TestClock.adjust("1 minute")
      deepEqual(scalings, [0, 1])
      equal(errorsIn(logs), 1)
      const [left] = yield* restarts.unfinished
      equal(left?.state, "stuck")
      equal(left?.attempts, 1)
      ok(left?.lastError?.includes("said the agent"))
    }),
  )

  for (const [name, refusal] of [
    ["500", REFUSALS.failed],
    ["no connection", REFUSALS.unreachable],
    ["timeout", REFUSALS.timeout],
    ["active deployment", REFUSALS.deployment],
  ] as const)
    effectTest(
      `tries the second step again while the refusal is passing, logging one error: ${name} (cases 65, 66)`,
      () =>
        Effect.gen(function* () {
          const { restarts, fates, scalings, logs, count } = yield* started()
          fates.push("done", { refused: refusal }, { refused: refusal })
          yield* restarts.restart(WEB)
          yield* TestClock.adjust("1 second")
          deepEqual(scalings, [0, 1])
          equal((yield* restarts.unfinished)[0]?.attempts, 1)
          yield* TestClock.adjust("2 seconds")
          deepEqual(scalings, [0, 1, 1])
          yield* TestClock.adjust("4 seconds")
          deepEqual(scalings, [0, 1, 1, 1])
          equal(yield* count(), 1)
          equal(errorsIn(logs), 1)
          deepEqual(yield* restarts.unfinished, [])
        }),
    )

  effectTest("in literal mode tries the second step once (case 66)", () =>
    Effect.gen(function* () {
      const { restarts, fates, scalings, logs } = yield* started({ secondStep: "literal" })
      fates.push("done", { refused: REFUSALS.deployment })
      yield* restarts.restart(WEB)
      yield* TestClock.adjust("10 minutes")
      deepEqual(scalings, [0, 1])
      equal(errorsIn(logs), 1)
      equal((yield* restarts.unfinished)[0]?.state, "stuck")
    }),
  )

  effectTest("waits for a deployment up to a quarter of an hour, then is stuck", () =>
    Effect.gen(function* () {
      const { restarts, fates, scalings } = yield* started()
      fates.push("done", ...Array.from({ length: 200 }, () => ({ refused: REFUSALS.deployment })))
      yield* restarts.restart(WEB)
      yield* TestClock.adjust("14 minutes")
      equal((yield* restarts.unfinished)[0]?.state, "stopped")
      yield* TestClock.adjust("2 minutes")
      equal((yield* restarts.unfinished)[0]?.state, "stuck")
      const tries = scalings.length
      yield* TestClock.adjust("1 hour")
      equal(scalings.length, tries)
    }),
  )

  effectTest("sends the second step though the caller went away during the first (case 67)", () =>
    Effect.gen(function* () {
      const { restarts, scalings, count } = yield* started()
      const caller = yield* Effect.forkChild(restarts.restart(WEB))
      yield* Effect.yieldNow
      yield* Fiber.interrupt(caller)
      yield* TestClock.adjust("1 second")
      deepEqual(scalings, [0, 1])
      equal(yield* count(), 1)
    }),
  )

  effectTest("the orderly end waits for the second step (case 68)", () =>
    Effect.gen(function* () {
      const { restarts, scalings, stop, count, journal } = yield* started()
      yield* restarts.restart(WEB)
      const end = yield* Effect.forkChild(stop)
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(end)
      deepEqual(scalings, [0, 1])
      equal(yield* count(), 1)
      deepEqual(yield* journal.list, [])
    }),
  )

  effectTest("what does not end in time is given back and finished by the next start", () =>
    Effect.gen(function* () {
      const { restarts, scalings, stop, start, fates, count } = yield* started()
      fates.push(
        "done",
        { refused: REFUSALS.deployment },
        { refused: REFUSALS.deployment },
        { refused: REFUSALS.deployment },
      )
      yield* restarts.restart(WEB)
      const end = yield* Effect.forkChild(stop)
      yield* TestClock.adjust("9 seconds")
      yield* Fiber.join(end)
      const tries = scalings.length
      fates.length = 0
      yield* start()
      yield* TestClock.adjust("10 seconds")
      equal(scalings.length, tries + 1)
      equal(yield* count(), 1)
    }),
  )

  for (const at of [0, 300, 999])
    effectTest(`killed ${at} ms after the first step, two instances started together finish it once (case 69)`, () =>
      Effect.gen(function* () {
        const { restarts, scalings, crash, start, count } = yield* started()
        yield* restarts.restart(WEB)
        yield* TestClock.adjust(at)
        yield* crash
        const one = yield* start()
        yield* start()
        yield* TestClock.adjust("4 seconds")
        deepEqual(scalings, [0])
        yield* TestClock.adjust("7 seconds")
        deepEqual(scalings, [0, 1])
        equal(yield* count(), 1)
        deepEqual(yield* one.restarts.unfinished, [])
      }),
    )

  effectTest("an intent whose first step took effect is finished; one whose did not is dropped (case 70)", () =>
    Effect.gen(function* () {
      const { journal, scheduler, scalings, start, count } = yield* started()
      yield* scheduler.runJob(sampleJob("three", 3), { region: "" })
      yield* scheduler.runJob(sampleJob("zero", 0), { region: "" })
      for (const jobId of ["three", "zero", "unknown"])
        yield* journal.open(
          {
            id: jobId,
            endpoint: scheduler.endpoint,
            jobId,
            region: "",
            group: "restreamer",
            state: "intent",
            createdAt: 0,
            dueAt: 0,
            attempts: 0,
          },
          { owner: "the dead", until: 0 },
        )
      yield* TestClock.adjust("5 seconds")
      yield* start()
      yield* TestClock.adjust("5 seconds")
      deepEqual(scalings, [1])
      equal(yield* count("zero"), 1)
      equal(yield* count("three"), 3)
      deepEqual(
        (yield* journal.list).map(({ state }) => state),
        ["intent", "intent", "intent"],
      )
      yield* TestClock.adjust("30 seconds")
      deepEqual(scalings, [1])
      deepEqual(yield* journal.list, [])
    }),
  )

  for (const [name, refusal] of [
    ["timeout", REFUSALS.timeout],
    ["connection lost", REFUSALS.lost],
    ["leadership lost", REFUSALS.halfDone],
  ] as const) {
    effectTest(`an unclear first step that took effect counts as done: ${name} (case 71)`, () =>
      Effect.gen(function* () {
        const { restarts, fates, scalings, looks, count } = yield* started()
        fates.push({ doneButFailed: refusal })
        yield* restarts.restart(WEB)
        equal(looks(), 1)
        yield* TestClock.adjust("1 second")
        deepEqual(scalings, [0, 1])
        equal(yield* count(), 1)
      }),
    )

    effectTest(`an unclear first step that took no effect fails: ${name}`, () =>
      Effect.gen(function* () {
        const { restarts, fates, scalings } = yield* started()
        fates.push({ refused: refusal })
        equal(yield* Effect.flip(restarts.restart(WEB)), refusal)
        const [watched] = yield* restarts.unfinished
        deepEqual([watched?.state, watched?.lastError], ["intent", refusal.message])
        yield* TestClock.adjust("29 seconds")
        deepEqual(scalings, [0])
        // The scale to the count it has, so that the agent refuses the scale to 0 if it still comes.
        yield* TestClock.adjust("31 seconds")
        deepEqual(scalings, [0, 1])
        deepEqual(yield* restarts.unfinished, [])
      }),
    )

    effectTest(
      `an unclear first step that nobody can look at fails, and the job comes back all the same: ${name}`,
      () =>
        Effect.gen(function* () {
          const { restarts, fates, lookFates, scalings, count } = yield* started()
          fates.push({ doneButFailed: refusal })
          lookFates.push(REFUSALS.unreachable, REFUSALS.unreachable)
          equal(yield* Effect.flip(restarts.restart(WEB)), refusal)
          yield* TestClock.adjust("1 minute")
          deepEqual(scalings, [0, 1])
          equal(yield* count(), 1)
          deepEqual(yield* restarts.unfinished, [])
        }),
    )
  }

  effectTest("a job deleted between the steps is no error", () =>
    Effect.gen(function* () {
      const { restarts, scheduler, logs } = yield* started()
      yield* restarts.restart(WEB)
      yield* scheduler.deleteJob({ ...WEB, purge: true })
      yield* TestClock.adjust("1 second")
      deepEqual(yield* restarts.unfinished, [])
      equal(errorsIn(logs), 0)
    }),
  )

  effectTest("two restarts of one job end with it at 1 (case 73)", () =>
    Effect.gen(function* () {
      const { restarts, scalings, count } = yield* started()
      yield* Effect.all([restarts.restart(WEB), restarts.restart(WEB)], { concurrency: 2 })
      yield* TestClock.adjust("10 seconds")
      equal(scalings.at(-1), 1)
      equal(yield* count(), 1)
      deepEqual(yield* restarts.unfinished, [])
    }),
  )

  effectTest("a later restart that succeeds clears the stuck one", () =>
    Effect.gen(function* () {
      const { restarts, fates } = yield* started()
      fates.push("done", { refused: REFUSALS.denied })
      yield* restarts.restart(WEB)
      yield* TestClock.adjust("1 second")
      equal((yield* restarts.unfinished).length, 1)
      yield* restarts.restart(WEB)
      yield* TestClock.adjust("1 second")
      deepEqual(yield* restarts.unfinished, [])
    }),
  )

  for (const jobId of ["", ".", "..", "\ud800"])
    effectTest(`refuses job id ${JSON.stringify(jobId)} before anything is written or sent`, () =>
      Effect.gen(function* () {
        const { restarts, scalings } = yield* started()
        equal((yield* Effect.flip(restarts.restart({ jobId, region: "" })))._tag, "InvalidSchedulerArgument")
        deepEqual(scalings, [])
        deepEqual(yield* restarts.unfinished, [])
      }),
    )

  effectTest("without a journal nothing is sent", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      const down = new StoreUnavailable({ store: { user: "-", host: "file", database: "x" }, reason: "gone" })
      Object.assign(world.journal, { open: () => Effect.fail(down) })
      const { restarts } = yield* world.start()
      equal(yield* Effect.flip(restarts.restart(WEB)), down)
      yield* TestClock.adjust("3 seconds")
      deepEqual(world.scalings, [])
    }),
  )
})
