// "A restart is never lost", judged by a model: two instances, one job, and whatever agent, network, people and machines
// may do to them, on virtual time.
import { deepEqual, ok } from "node:assert/strict"
import { test } from "node:test"
import { Context, Effect, type Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import fc from "fast-check"
import * as memoryJournal from "../../../adapters/driven/restart_journal/memory.ts"
import { RestartJournal } from "../../../domain/scheduler/restart_journal.ts"
import { RESTART_RULES, type RestartRules } from "../../../domain/scheduler/restart_plan.ts"
import { type Change, type Fate, makeAgentModel } from "../../support/restart_agent_model.ts"
import { type Instance, type Machine, startInstance } from "../../support/restart_instance_model.ts"

const RUNS = 5000

/** What happens, and how long after the last thing, milliseconds. */
interface Happening {
  readonly afterMs: number
  readonly what:
    | { readonly on: 0 | 1; readonly do: "restart" | "kill" | "start" | "go on" }
    | { readonly on: 0 | 1; readonly do: "stop"; readonly forMs: number; readonly thenKilled: boolean }
    | { readonly on: 0 | 1; readonly do: "set clock"; readonly byMs: number }
    | { readonly do: "change"; readonly change: Change }
}

interface Scenario {
  readonly count: number
  readonly fates: ReadonlyArray<Fate>
  readonly happenings: ReadonlyArray<Happening>
}

const on = fc.constantFrom<0 | 1>(0, 1)
const restart = on.map((machine) => ({ on: machine, do: "restart" as const }))
const happening: fc.Arbitrary<Happening> = fc.record({
  afterMs: fc.oneof(
    fc.constant(0),
    // Between the steps of a restart: the look, the entry in the journal, the scale to 0.
    fc.integer({ min: 0, max: 20 }),
    fc.integer({ min: 0, max: 3_000 }),
    fc.integer({ min: 0, max: 40_000 }),
  ),
  what: fc.oneof(
    { arbitrary: restart, weight: 4 },
    { arbitrary: fc.record({ on, do: fc.constantFrom("kill" as const, "start" as const) }), weight: 3 },
    {
      arbitrary: fc.record({
        on,
        do: fc.constant("stop" as const),
        forMs: fc.integer({ min: 1, max: 200_000 }),
        thenKilled: fc.boolean(),
      }),
      weight: 3,
    },
    {
      arbitrary: fc.record({
        on,
        do: fc.constant("set clock" as const),
        byMs: fc.integer({ min: -120_000, max: 120_000 }),
      }),
      weight: 1,
    },
    {
      arbitrary: fc.record({
        do: fc.constant("change" as const),
        change: fc.oneof(
          fc.record({ count: fc.integer({ min: 0, max: 3 }) }),
          fc.constantFrom("stop" as const, "purge" as const),
        ),
      }),
      weight: 1,
    },
  ),
})

const delay = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 2_000 }), fc.integer({ min: 0, max: 60_000 }))
const fate: fc.Arbitrary<Fate> = fc.record({
  end: fc.oneof(
    { arbitrary: fc.constant("answered" as const), weight: 6 },
    {
      arbitrary: fc.constantFrom<Fate["end"]>(
        "done, answer lost",
        "done, foreign 404",
        "foreign 404",
        "lost on the way",
        "not reached",
        "failed",
        "active deployment",
        "denied",
      ),
      weight: 4,
    },
  ),
  actsAfterMs: delay,
  answersAfterMs: delay,
})

/** A stop for longer than everybody waits, at any point from the look on to the scale to 0, and a kill at the wake or not. */
const stopAtTheStep: fc.Arbitrary<Happening> = fc.record({
  afterMs: fc.integer({ min: 0, max: 20 }),
  what: fc.record({
    on: fc.constant<0>(0),
    do: fc.constant("stop" as const),
    forMs: fc.integer({ min: 60_000, max: 200_000 }),
    thenKilled: fc.boolean(),
  }),
})

const scenario: fc.Arbitrary<Scenario> = fc.record({
  count: fc.integer({ min: 0, max: 3 }),
  fates: fc.array(fate, { maxLength: 10 }),
  happenings: fc
    .tuple(restart, fc.oneof(fc.constant([]), fc.tuple(stopAtTheStep)), fc.array(happening, { maxLength: 8 }))
    .map(([what, stop, more]) => [{ afterMs: 0, what }, ...stop, ...more]),
})

/** How often what makes restarts hard was seen: a model that never met it would prove nothing. */
const seen = { killed: 0, stuck: 0, late: 0, fenced: 0, beyond: 0 }

/** Plays a scenario, gives everybody time, and returns what is wrong then, if anything. */
const play = Effect.fnUntraced(function* ({ count, fates, happenings }: Scenario) {
  const rules: RestartRules = { ...RESTART_RULES, leaseMs: 10_000 }
  const agent = makeAgentModel(count, fates)
  const journal = Context.get(yield* Layer.build(Layer.fresh(memoryJournal.layer)), RestartJournal)
  const machines: readonly [Machine, Machine] = [{ aheadMs: 0 }, { aheadMs: 0 }]
  const running: [Instance | undefined, Instance | undefined] = [undefined, undefined]
  const wrong: Array<string> = []
  const stops: Array<Fiber.Fiber<unknown>> = []

  const start = Effect.fnUntraced(function* (machine: 0 | 1) {
    running[machine] ??= yield* startInstance(agent, journal, machines[machine], rules)
  })
  const begin = (instance: Instance) =>
    instance.restart.pipe(
      Effect.andThen(journal.list),
      Effect.tap((held) =>
        Effect.sync(() => {
          if (held.length === 0) wrong.push("a restart was accepted that nobody holds")
        }),
      ),
      Effect.ignore,
      Effect.forkDetach,
    )
  const happen = Effect.fnUntraced(function* ({ what }: Happening) {
    if (what.do === "change") return agent.change(what.change)
    const instance = running[what.on]
    if (what.do === "start") return yield* start(what.on)
    if (what.do === "set clock") machines[what.on].aheadMs += what.byMs
    if (instance === undefined) return
    if (what.do === "restart") yield* begin(instance)
    if (what.do === "kill") {
      seen.killed += 1
      yield* instance.kill
      running[what.on] = undefined
    }
    if (what.do === "stop") {
      yield* instance.stop
      const wakes = Effect.suspend(() => {
        if (!what.thenKilled) return instance.goOn
        if (running[what.on] === instance) running[what.on] = undefined
        return instance.dieAtWake
      })
      stops.push(yield* Effect.forkDetach(Effect.andThen(Effect.sleep(what.forMs), wakes)))
    }
  })

  for (const machine of [0, 1] as const) yield* start(machine)
  yield* TestClock.adjust(0)
  for (const each of happenings) {
    yield* TestClock.adjust(each.afterMs)
    yield* happen(each)
    yield* TestClock.adjust(0)
  }
  if (agent.isBusy()) seen.late += 1
  // From here on nothing happens any more but what is under way.
  while (stops.some((stop) => stop.pollUnsafe() === undefined)) yield* TestClock.adjust(20_000)
  for (const machine of [0, 1] as const) yield* start(machine)
  const unsettled = Effect.map(journal.list, (all) => all.filter(({ state }) => state !== "stuck").length > 0)
  for (let rounds = 0; rounds < 60 && (rounds === 0 || agent.isBusy() || (yield* unsettled)); rounds++)
    yield* TestClock.adjust(30_000)

  const { job } = agent
  const listed = yield* journal.list
  const open = listed.filter(({ state }) => state !== "stuck")
  if (open.length > 0) wrong.push(`still open: ${open.map(({ state }) => state)}`)
  if (listed.some(({ lastError }) => lastError === undefined)) wrong.push("a restart is stuck without a reason")
  if (listed.length > 0) seen.stuck += 1
  const isRestartsZero = job.there && !job.stopped && job.count === 0 && job.changedBy === "restart"
  if (agent.refusedZeros() > 0) seen.fenced += 1
  // What domain/scheduler/README.md says of an agent that does not tell the index: there is nothing to insist on.
  const isBeyond = agent.keptIndexToItself() && machines.some(({ sentLate }) => sentLate)
  if (isBeyond) seen.beyond += 1
  else if (isRestartsZero && listed.length === 0) wrong.push("the job is at 0 and nobody lists it")
  if (job.changedBy === "restart" && job.count > 1) wrong.push(`a restart scaled to ${job.count}`)
  return wrong
})

test(`a restart is never lost: ${RUNS} runs of the model`, { timeout: 600_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(scenario, async (each) => {
      const wrong = await Effect.runPromise(play(each).pipe(Effect.scoped, Effect.provide(TestClock.layer())))
      deepEqual(wrong, [])
    }),
    { numRuns: RUNS, endOnFailure: false },
  )
  ok(Math.min(seen.killed, seen.stuck, seen.late, seen.fenced) > RUNS / 500, JSON.stringify(seen))
})
