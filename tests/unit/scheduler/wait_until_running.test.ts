import { equal } from "node:assert/strict"
import { describe } from "node:test"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { waitUntilRunning } from "../../../application/scheduler/wait_until_running.ts"
import type { ScaleStatus } from "../../../domain/scheduler/job.ts"
import { SchedulerPort } from "../../../domain/scheduler/scheduler_port.ts"
import { effectTest } from "../../support/effect_test.ts"
import { makeWorld } from "./restart_world.ts"

const WEB = { jobId: "web", region: "" }
const status = (desired: number, running: number, stopped = false): ScaleStatus => ({
  stopped,
  groups: { restreamer: { desired, running } },
})

/** Waits for a job whose status a test can set, and counts the looks at it. */
const waiting = Effect.fnUntraced(function* (timeoutMs: number, first: ScaleStatus) {
  const { scheduler } = yield* makeWorld()
  const seen = { status: first, looks: 0 }
  const scaleStatus = () =>
    Effect.sync(() => {
      seen.looks += 1
      return seen.status
    })
  const wait = Effect.provideService(
    waitUntilRunning(WEB, { timeoutMs }),
    SchedulerPort,
    SchedulerPort.of({ ...scheduler, scaleStatus }),
  )
  return { seen, ended: yield* Effect.forkChild(wait) }
})

describe("waitUntilRunning", () => {
  effectTest("looks after 50 ms, 100 ms and so on, and ends once everything runs", () =>
    Effect.gen(function* () {
      const { seen, ended } = yield* waiting(5000, status(2, 1))
      yield* TestClock.adjust("149 millis")
      equal(seen.looks, 2)
      yield* TestClock.adjust("1 millis")
      equal(seen.looks, 3)
      seen.status = status(2, 2)
      yield* TestClock.adjust("200 millis")
      yield* Fiber.join(ended)
      equal(seen.looks, 4)
    }),
  )

  for (const [reason, missing] of [
    ["group 'restreamer' runs 0 of 1", status(1, 0)],
    ["it is stopped", status(1, 0, true)],
    ["every group is scaled to 0", status(0, 0)],
  ] as const)
    for (const timeoutMs of [0, 20, 5000])
      effectTest(`fails after ${timeoutMs} ms, telling what is missing: ${reason}`, () =>
        Effect.gen(function* () {
          const { ended } = yield* waiting(timeoutMs, missing)
          yield* TestClock.adjust(timeoutMs)
          const error = yield* Effect.flip(Fiber.join(ended))
          equal(error._tag === "NotRunning" && error.reason, reason)
        }),
      )
})
