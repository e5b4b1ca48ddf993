// What every SchedulerPort promises, whatever stands behind it; and what only one in front of an agent can show.
import { describe, expect, test } from "bun:test"
import { Effect, Fiber, Layer, Schedule, Stream } from "effect"
import * as memoryJournal from "../../adapters/driven/restart_journal/memory.ts"
import { Restarts, layer as restartsLayer } from "../../application/scheduler/restarts.ts"
import { waitUntilRunning } from "../../application/scheduler/wait_until_running.ts"
import type { SchedulerError } from "../../domain/scheduler/errors.ts"
import { groupCount, type JobAt, type JobDefinition, modifyIndexOf } from "../../domain/scheduler/job.ts"
import { RESTART_RULES } from "../../domain/scheduler/restart_plan.ts"
import { SchedulerPort } from "../../domain/scheduler/scheduler_port.ts"

export const GROUP = "restreamer"

export interface SchedulerHarness {
  readonly port: Layer.Layer<SchedulerPort, unknown>
  readonly nodeId: string
  /** How long a deployment takes once its allocations run, milliseconds; nothing is deployed without it. */
  readonly healthyMs?: number
  /** What runs the jobs; without it the mock driver, which every agent for tests has. */
  readonly driver?: Driver
}

/** Drivers that need nothing installed beside the agent. */
export type Driver = "mock_driver" | "raw_exec"

/** A task that runs until it is stopped. */
const CONFIG: Readonly<Record<Driver, object>> = {
  mock_driver: { run_for: "1h" },
  raw_exec: { command: "sleep", args: ["3600"] },
}

/** Milliseconds one test may take: a real agent schedules in seconds. */
const TEST_MS = 60_000

let jobs = 0
const newId = (): string => `contract/${Date.now().toString(36)}-${++jobs}`

const region = ""

const jobOf = (
  id: string,
  { healthyMs = 0, driver = "mock_driver" }: SchedulerHarness,
  groups: ReadonlyArray<string> = [GROUP],
): JobDefinition => ({
  ID: id,
  Name: id,
  Type: "service",
  Datacenters: ["*"],
  TaskGroups: groups.map((Name) => ({
    Name,
    Count: 1,
    Update: {
      MinHealthyTime: healthyMs * 1_000_000,
      HealthyDeadline: 60_000_000_000,
      ProgressDeadline: 120_000_000_000,
    },
    Tasks: [{ Name: "t", Driver: driver, Config: CONFIG[driver], Resources: { CPU: 20, MemoryMB: 20 } }],
  })),
})

/** Waits for deployments to end: a job that was changed a moment ago refuses to be scaled. */
const patiently = <A, R>(call: Effect.Effect<A, SchedulerError, R>) =>
  Effect.retry(call, {
    schedule: Schedule.spaced("100 millis").pipe(Schedule.upTo({ times: 300 })),
    while: (error) => error._tag === "ActiveDeployment",
  })

type Body = (
  harness: SchedulerHarness,
  scheduler: SchedulerPort["Service"],
) => Effect.Effect<unknown, unknown, SchedulerPort>

/** Registers promises; the harness is started with the first of them. */
const promises = (start: () => Promise<SchedulerHarness>) => {
  let harness: Promise<SchedulerHarness> | undefined
  return (title: string, body: Body): void =>
    test(
      title,
      async () => {
        harness ??= start()
        const parts = await harness
        await Effect.runPromise(
          Effect.flatMap(SchedulerPort, (scheduler) => body(parts, scheduler)).pipe(Effect.provide(parts.port)),
        )
      },
      TEST_MS,
    )
}

const running = Effect.fnUntraced(function* (parts: SchedulerHarness, ...groups: ReadonlyArray<string>) {
  const scheduler = yield* SchedulerPort
  const at: JobAt = { jobId: newId(), region }
  yield* scheduler.runJob(jobOf(at.jobId, parts, groups.length === 0 ? [GROUP] : groups), at)
  yield* waitUntilRunning(at, { timeoutMs: 30_000 })
  return at
})

const tagOf = (call: Effect.Effect<unknown, SchedulerError>) => Effect.map(Effect.flip(call), ({ _tag }) => _tag)

/** What every adapter promises. */
export const schedulerContract = (name: string, start: () => Promise<SchedulerHarness>): void => {
  describe(`SchedulerPort (${name})`, () => {
    const promise = promises(start)

    promise("runJob then getDefinition gives the job back, id with a slash and all", (parts, scheduler) =>
      Effect.gen(function* () {
        const at = yield* running(parts)
        const { value, index } = yield* scheduler.getDefinition(at)
        expect(value).toMatchObject({ ID: at.jobId, Stop: false })
        expect(groupCount(value, GROUP)).toBe(1)
        expect(Number(index)).toBeGreaterThan(0)
        yield* scheduler.deleteJob({ ...at, purge: true })
      }),
    )

    promise("a definition that is fetched, changed and run again has the change", (parts, scheduler) =>
      Effect.gen(function* () {
        const at = yield* running(parts)
        const { value } = yield* scheduler.getDefinition(at)
        value["Meta"] = { big: "9007199254740993" }
        const receipt = yield* scheduler.runJob(value, at)
        expect(receipt.evaluationId).toBeString()
        expect((yield* scheduler.getDefinition(at)).value).toMatchObject({ Meta: { big: "9007199254740993" } })
        yield* scheduler.deleteJob({ ...at, purge: true })
      }),
    )

    promise("scaleJob changes the count and gives the new modify index", (parts, scheduler) =>
      Effect.gen(function* () {
        const at = yield* running(parts)
        const { jobModifyIndex } = yield* patiently(scheduler.scaleJob({ ...at, group: GROUP, count: 0 }))
        const { value } = yield* scheduler.getDefinition(at)
        expect(groupCount(value, GROUP)).toBe(0)
        expect(value.JobModifyIndex).toBe(jobModifyIndex)
        const stale = yield* Effect.flip(scheduler.scaleJob({ ...at, group: GROUP, count: 1, ifIndex: 1 }))
        expect(stale._tag).toBe("JobIndexConflict")
        yield* scheduler.deleteJob({ ...at, purge: true })
      }),
    )

    promise(
      "a scale to the count it has changes the job's index: what insists on the one before is refused",
      (parts, scheduler) =>
        Effect.gen(function* () {
          const at = yield* running(parts)
          const to = { ...at, group: GROUP }
          const look = Effect.map(scheduler.getDefinition(at), ({ value }) => ({
            index: modifyIndexOf(value) ?? 0,
            state: [groupCount(value, GROUP), value.Stop],
          }))
          for (const stopped of [false, true]) {
            if (stopped) yield* scheduler.deleteJob({ ...at, purge: false })
            const before = yield* look
            yield* patiently(scheduler.scaleJob({ ...to, count: 1, ifIndex: before.index }))
            const late = yield* Effect.flip(patiently(scheduler.scaleJob({ ...to, count: 0, ifIndex: before.index })))
            expect(late).toMatchObject({ _tag: "JobIndexConflict", applied: "no" })
            const after = yield* look
            expect(after.state).toEqual([1, stopped])
            expect(after.index).toBeGreaterThan(Number(before.index))
          }
          yield* scheduler.deleteJob({ ...at, purge: true })
        }),
    )

    promise("refusals have their class, and arguments that could never be sent are not", (parts, scheduler) =>
      Effect.gen(function* () {
        const nobody = { jobId: newId(), region }
        expect(yield* tagOf(scheduler.getDefinition(nobody))).toBe("SchedulerNotFound")
        expect(yield* tagOf(scheduler.scaleStatus(nobody))).toBe("SchedulerNotFound")
        expect(yield* tagOf(scheduler.scaleJob({ ...nobody, group: GROUP, count: 1 }))).toBe("SchedulerNotFound")
        const allocationId = "00000000-0000-0000-0000-000000000000"
        expect(yield* tagOf(scheduler.allocationStats({ allocationId, region }))).toBe("SchedulerNotFound")
        const at = yield* running(parts)
        expect(yield* tagOf(patiently(scheduler.scaleJob({ ...at, group: "none", count: 1 })))).toBe("SchedulerRefused")
        for (const call of [
          scheduler.getDefinition({ ...at, jobId: ".." }),
          scheduler.getDefinition(at, { index: 1, waitMs: 240_001 }),
          scheduler.scaleJob({ ...at, group: GROUP, count: -1 }),
          scheduler.runJob({ ID: at.jobId, Name: "x", Deep: [Number.NaN] }, at),
          scheduler.getAllocations({ nodeId: "", region }),
        ])
          expect(yield* tagOf(call)).toBe("InvalidSchedulerArgument")
        yield* scheduler.deleteJob({ ...at, purge: true })
      }),
    )

    promise("deleteJob stops, and forgets with purge; an unknown job is deleted already", (parts, scheduler) =>
      Effect.gen(function* () {
        const at = yield* running(parts)
        yield* scheduler.deleteJob({ ...at, purge: false })
        expect((yield* scheduler.getDefinition(at)).value.Stop).toBe(true)
        yield* scheduler.deleteJob({ ...at, purge: true })
        expect((yield* Effect.flip(scheduler.getDefinition(at)))._tag).toBe("SchedulerNotFound")
        expect(yield* scheduler.deleteJob({ ...at, purge: true })).toMatchObject({ evaluationId: "" })
      }),
    )

    promise("getAllocations lists what runs on a node, allocationStats what it uses", (parts, scheduler) =>
      Effect.gen(function* () {
        const at = yield* running(parts)
        const { value } = yield* scheduler.getAllocations({ nodeId: parts.nodeId, region })
        const mine = value.NomadAllocations.filter(({ JobID }) => JobID === at.jobId)
        expect(mine).toEqual([expect.objectContaining({ TaskGroup: GROUP, ClientStatus: "running" })])
        const usage = yield* scheduler.allocationStats({ allocationId: mine[0]?.ID ?? "", region })
        expect(usage.MemoryStats.RSS).toBeNumber()
        const none = yield* scheduler.getAllocations({ nodeId: "00000000-0000-0000-0000-000000000000", region })
        expect(none.value).toEqual({ NomadAllocations: [] })
        yield* scheduler.deleteJob({ ...at, purge: true })
      }),
    )

    promise("planJob tells a difference and changes nothing", (parts, scheduler) =>
      Effect.gen(function* () {
        const id = newId()
        const plan = yield* scheduler.planJob(jobOf(id, parts), { region })
        expect(plan).toMatchObject({ JobModifyIndex: 0, Diff: { Type: "Added" } })
        expect((yield* Effect.flip(scheduler.getDefinition({ jobId: id, region })))._tag).toBe("SchedulerNotFound")
      }),
    )

    promise("a blocking query answers when something is newer, and by itself when nothing is", (parts, scheduler) =>
      Effect.gen(function* () {
        const at = yield* running(parts)
        yield* patiently(scheduler.scaleJob({ ...at, group: GROUP, count: 1 }))
        yield* Effect.sleep("50 millis")
        const { index = 0 } = yield* scheduler.getDefinition(at)
        const polled = yield* Effect.forkChild(scheduler.getDefinition(at, { index, waitMs: 30_000 }))
        yield* scheduler.deleteJob({ ...at, purge: false })
        const newer = yield* Fiber.join(polled)
        expect(Number(newer.index)).toBeGreaterThan(Number(index))
        const later = yield* scheduler.getDefinition(at)
        const same = yield* scheduler.getDefinition(at, { index: ((later.index ?? 0) as number) + 1000, waitMs: 100 })
        expect(same.value.ID).toBe(at.jobId)
        yield* scheduler.deleteJob({ ...at, purge: true })
      }),
    )

    promise("events of a job come as they happen", (parts, scheduler) =>
      Effect.gen(function* () {
        const jobId = newId()
        const seen = yield* Effect.forkChild(
          scheduler.events({ topics: [`Job:${jobId}`], region }).pipe(Stream.take(1), Stream.runCollect),
        )
        yield* Effect.sleep("300 millis")
        yield* scheduler.runJob(jobOf(jobId, parts), { region })
        const [batch] = yield* Fiber.join(seen)
        expect(batch?.Events[0]).toMatchObject({ Topic: "Job", Key: jobId })
        yield* scheduler.deleteJob({ jobId, region, purge: true })
      }),
    )
  })
}

/** What stands between the port and an agent that deploys and judges what it is told. */
export const agentContract = (name: string, start: () => Promise<SchedulerHarness>): void => {
  describe(`SchedulerPort in front of an agent (${name})`, () => {
    const promise = promises(start)

    promise("scaling during a deployment is refused", (parts, scheduler) =>
      Effect.gen(function* () {
        const at: JobAt = { jobId: newId(), region }
        yield* scheduler.runJob(jobOf(at.jobId, { ...parts, healthyMs: 10_000 }), at)
        yield* waitUntilRunning(at, { timeoutMs: 30_000 })
        const refused = yield* Effect.flip(scheduler.scaleJob({ ...at, group: GROUP, count: 0 }))
        expect(refused).toMatchObject({ _tag: "ActiveDeployment", applied: "no", status: 400 })
        yield* scheduler.deleteJob({ ...at, purge: true })
      }),
    )

    promise("what the agent refuses has its class", (_parts, scheduler) =>
      Effect.gen(function* () {
        expect(yield* tagOf(scheduler.getDefinition({ jobId: newId(), region: "mars" }))).toBe("NoRegion")
        expect(yield* tagOf(scheduler.runJob({ ID: "a b", Name: "a b" }, { region }))).toBe("InvalidJob")
        expect(yield* tagOf(scheduler.allocationStats({ allocationId: "abc", region }))).toBe("SchedulerRefused")
      }),
    )

    promise(
      "restart: two groups bring a deployment that refuses the second step at first; the job comes back",
      (parts, scheduler) =>
        Effect.gen(function* () {
          const at = yield* running(parts, GROUP, "other")
          const services = restartsLayer({ ...RESTART_RULES, delayMs: 300 }, "40 seconds").pipe(
            Layer.provide(Layer.succeed(SchedulerPort, scheduler)),
            Layer.provide(memoryJournal.layer),
          )
          yield* Effect.gen(function* () {
            const restarts = yield* Restarts
            yield* Effect.retry(restarts.restart(at), {
              schedule: Schedule.spaced("100 millis").pipe(Schedule.upTo({ times: 300 })),
              while: (error) => error._tag === "ActiveDeployment",
            })
            expect(groupCount((yield* scheduler.getDefinition(at)).value, GROUP)).toBe(0)
          }).pipe(Effect.provide(services))
          expect(groupCount((yield* scheduler.getDefinition(at)).value, GROUP)).toBe(1)
          yield* scheduler.deleteJob({ ...at, purge: true })
        }),
    )
  })
}
