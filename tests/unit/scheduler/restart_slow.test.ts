// A restart while things are slow: the agent, the process, the network. Single cases of what restart_model.test.ts plays by
// the thousand.
import { deepEqual, equal } from "node:assert/strict"
import { describe } from "node:test"
import { Context, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as memoryJournal from "../../../adapters/driven/restart_journal/memory.ts"
import { RestartJournal } from "../../../domain/scheduler/restart_journal.ts"
import { RESTART_RULES } from "../../../domain/scheduler/restart_plan.ts"
import { effectTest } from "../../support/effect_test.ts"
import { type Fate, makeAgentModel } from "../../support/restart_agent_model.ts"
import { startInstance } from "../../support/restart_instance_model.ts"

const slow = (actsAfterMs: number, end: Fate["end"] = "answered"): Fate => ({ end, actsAfterMs, answersAfterMs: 0 })

/** Time in small steps: what begins within one of them ends in the next. */
const milliseconds = (count: number) => Effect.repeat(TestClock.adjust(1), { times: count - 1 })

/** Two instances in front of a job at 1 that one of them begins to restart. */
const begun = Effect.fnUntraced(function* (fates: ReadonlyArray<Fate>) {
  const agent = makeAgentModel(1, fates)
  const journal = Context.get(yield* Layer.build(memoryJournal.layer), RestartJournal)
  const start = () => startInstance(agent, journal, { aheadMs: 0 }, RESTART_RULES)
  const [one, other] = [yield* start(), yield* start()]
  const states = Effect.map(journal.list, (all) => all.map(({ state }) => state))
  yield* TestClock.adjust(0)
  const caller = yield* Effect.forkChild(Effect.exit(one.restart))
  return { agent, one, other, caller, states }
})

/** The same, once the scale to 0 is on its way, which meets the first of the fates. */
const twoInstances = Effect.fnUntraced(function* (...fates: ReadonlyArray<Fate>) {
  const both = yield* begun([slow(0), ...fates])
  yield* TestClock.adjust(20)
  return both
})

describe("the scale to 0 takes 15 s", () => {
  effectTest("its owner is killed meanwhile: the restart stays listed, and the job comes back", () =>
    Effect.gen(function* () {
      const { agent, one, states } = yield* twoInstances(slow(15_000))
      yield* one.kill
      yield* TestClock.adjust("14 seconds")
      deepEqual([agent.job.count, yield* states], [1, ["intent"]])
      yield* TestClock.adjust("20 seconds")
      equal(agent.job.count, 1)
      equal(agent.job.index, 3)
      yield* TestClock.adjust("2 minutes")
      deepEqual([agent.job.count, yield* states], [1, []])
    }),
  )

  for (const seconds of [20, 300])
    effectTest(`its owner is stopped for ${seconds} s: the restart is accepted and held, and the job comes back`, () =>
      Effect.gen(function* () {
        const { agent, one, caller, states } = yield* twoInstances(slow(15_000))
        yield* one.stop
        yield* TestClock.adjust(seconds * 1000)
        yield* one.goOn
        yield* TestClock.adjust(20)
        equal((yield* Fiber.join(caller))._tag, "Success")
        deepEqual(yield* states, ["stopped"])
        yield* TestClock.adjust("3 minutes")
        deepEqual([agent.job.count, yield* states], [1, []])
      }),
    )

  effectTest("its owner, alone and stopped, leaves what a person did meanwhile", () =>
    Effect.gen(function* () {
      const { agent, one, other } = yield* twoInstances(slow(15_000))
      yield* other.kill
      yield* one.stop
      yield* TestClock.adjust("1 minute")
      agent.change({ count: 3 })
      yield* one.goOn
      yield* TestClock.adjust("3 minutes")
      equal(agent.job.count, 3)
    }),
  )

  effectTest("nobody who takes it over concludes anything while it may still come, at most 75 s", () =>
    Effect.gen(function* () {
      const { agent, one, states } = yield* twoInstances(slow(60_000))
      yield* one.kill
      yield* TestClock.adjust("59 seconds")
      deepEqual([agent.job.index, yield* states], [1, ["intent"]])
      yield* TestClock.adjust("1 minute")
      deepEqual([agent.job.count, agent.job.index, yield* states], [1, 3, []])
    }),
  )
})

describe("the deadline of the scale to 0 passes", () => {
  effectTest("the caller hears of the timeout, the restart stays listed, and the late 0 is undone", () =>
    Effect.gen(function* () {
      const { agent, caller, states } = yield* twoInstances(slow(58_000))
      yield* TestClock.adjust("50 seconds")
      equal((yield* Fiber.join(caller))._tag, "Failure")
      deepEqual([agent.job.count, yield* states], [1, ["intent"]])
      yield* TestClock.adjust("30 seconds")
      deepEqual([agent.job.count, agent.job.index], [1, 3])
      yield* TestClock.adjust("2 minutes")
      deepEqual([agent.job.count, yield* states], [1, []])
    }),
  )
})

describe("the owner is stopped while the entry is written", () => {
  effectTest("for so long that another closed it: it is opened again before anything is sent", () =>
    Effect.gen(function* () {
      const { agent, one, states } = yield* begun([])
      yield* TestClock.adjust(1)
      yield* one.stop
      yield* TestClock.adjust("2 minutes")
      deepEqual([agent.job.index, yield* states], [1, []])
      agent.meet(slow(15_000))
      yield* one.goOn
      yield* TestClock.adjust("1 second")
      deepEqual(yield* states, ["intent"])
      yield* one.kill
      yield* TestClock.adjust("3 minutes")
      deepEqual([agent.job.count, agent.job.index, yield* states], [1, 3, []])
    }),
  )
})

describe("the owner is stopped at the first step until everybody else has judged the restart", () => {
  const stoppedAt = Effect.fnUntraced(function* (ms: number) {
    const both = yield* begun([])
    yield* TestClock.adjust(ms)
    yield* both.one.stop
    yield* TestClock.adjust("3 minutes")
    return both
  })

  effectTest("between entry and scale to 0, and killed as it wakes: the agent refuses the late scale to 0", () =>
    Effect.gen(function* () {
      const { agent, one, states } = yield* stoppedAt(13)
      // The job has the count it had, and another index.
      deepEqual([agent.job.count, agent.job.index, agent.job.changedBy, yield* states], [1, 2, "operator", []])
      yield* one.dieAtWake
      yield* TestClock.adjust("1 minute")
      deepEqual([agent.job.count, agent.job.index, agent.refusedZeros()], [1, 2, 1])
    }),
  )

  effectTest("between look and entry, and killed as it sends: the agent refuses, or the entry is there", () =>
    Effect.gen(function* () {
      const { agent, one, states } = yield* stoppedAt(1)
      agent.change({ count: 2 })
      yield* one.goOn
      // The entry is written twice, as the first time took longer than its lease.
      yield* milliseconds(26)
      yield* one.kill
      yield* TestClock.adjust("1 second")
      deepEqual([agent.job.count, agent.refusedZeros(), yield* states], [2, 1, ["intent"]])
      yield* TestClock.adjust("3 minutes")
      deepEqual([agent.job.count, yield* states], [2, []])
    }),
  )

  for (const ms of [1, 13])
    effectTest(`after ${ms} ms, and goes on: it looks again, and restarts the job`, () =>
      Effect.gen(function* () {
        const { agent, one, caller, states } = yield* stoppedAt(ms)
        yield* one.goOn
        yield* milliseconds(60)
        equal((yield* Fiber.join(caller))._tag, "Success")
        deepEqual([agent.job.count, yield* states], [0, ["stopped"]])
        yield* TestClock.adjust("2 seconds")
        deepEqual([agent.job.count, yield* states], [1, []])
      }),
    )

  effectTest("a job that somebody keeps changing ends it with the agent's refusal, and nothing is left", () =>
    Effect.gen(function* () {
      const { agent, one, states } = yield* begun([])
      const restarted = yield* Effect.forkChild(Effect.flip(one.restart))
      for (let times = 0; times < 300; times++) {
        yield* milliseconds(1)
        agent.change({ count: 3 })
      }
      equal((yield* Fiber.join(restarted))._tag, "JobIndexConflict")
      deepEqual([agent.job.count, yield* states], [3, []])
    }),
  )

  effectTest(
    "while the agent refuses the change of the index, the restart stays listed; for good, with the reason",
    () =>
      Effect.gen(function* () {
        const { agent, one, states } = yield* begun([])
        yield* TestClock.adjust(13)
        yield* one.kill
        agent.scalingsEnd("active deployment")
        yield* TestClock.adjust("10 minutes")
        deepEqual(yield* states, ["intent"])
        yield* TestClock.adjust("10 minutes")
        deepEqual(yield* states, ["stuck"])
      }),
  )
})
