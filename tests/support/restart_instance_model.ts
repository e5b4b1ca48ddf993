// An instance of the service as its machine treats it: it is killed, it is stopped and goes on as if nothing had been, and
// its wall clock is set. On virtual time.
import { Clock, Context, Effect, Latch, Layer, Logger, Scope, Stream } from "effect"
import { Restarts, layer as restartsLayer } from "../../application/scheduler/restarts.ts"
import type { RestartError } from "../../domain/scheduler/errors.ts"
import { RestartJournal } from "../../domain/scheduler/restart_journal.ts"
import type { RestartRules } from "../../domain/scheduler/restart_plan.ts"
import { type JobScaling, SchedulerPort } from "../../domain/scheduler/scheduler_port.ts"
import { type AgentModel, DEADLINE_MS, GROUP, JOB } from "./restart_agent_model.ts"

/** One machine, on which one instance runs at a time. */
export interface Machine {
  /** How far its wall clock is ahead, milliseconds. */
  aheadMs: number
  /** True once a scale to 0 that insists on nothing left later than a lease after it was decided on. */
  sentLate?: boolean
}

/** A running instance. */
export interface Instance {
  readonly restart: Effect.Effect<void, RestartError>
  /** At once: what it had sent is sent, nothing else happens any more. */
  readonly kill: Effect.Effect<void>
  /** As SIGSTOP and SIGCONT do. */
  readonly stop: Effect.Effect<unknown>
  readonly goOn: Effect.Effect<unknown>
  /** Wakes and is killed: what was just about to leave leaves, and nothing comes back. */
  readonly dieAtWake: Effect.Effect<unknown>
}

/** How long it takes to open an entry. */
const OPENING_MS = 10

/** How long the process takes from one step of a restart to the next: long enough for a stop to fall into it. */
const THINKING_MS = 2

const unused = Effect.die("not part of the model")

/** Starts an instance on a machine. */
export const startInstance = Effect.fnUntraced(function* (
  agent: AgentModel,
  journal: RestartJournal["Service"],
  machine: Machine,
  rules: RestartRules,
) {
  let killed = false
  const awake = yield* Latch.make(true)
  const alive = Effect.suspend(() => (killed ? Effect.never : awake.await))
  /** What leaves the process or comes back to it does so while the process runs. */
  const runs = <A, E>(call: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.suspend(() => (killed ? Effect.never : awake.await)).pipe(
      Effect.andThen(Effect.exit(call)),
      Effect.flatMap((exit) => Effect.andThen(alive, exit)),
    )
  const scaleJob = Effect.fnUntraced(function* (to: JobScaling) {
    const decided = yield* Clock.monotonicTimeNanos
    yield* Effect.sleep(THINKING_MS)
    return yield* runs(
      Effect.flatMap(Clock.monotonicTimeNanos, (now) => {
        const isLate = Number(now - decided) / 1_000_000 >= rules.leaseMs
        if (isLate && to.count === 0 && to.ifIndex === undefined) machine.sentLate = true
        return agent.scaleJob(to)
      }),
    )
  })

  const scheduler = SchedulerPort.of({
    endpoint: "model:",
    scaleGroup: GROUP,
    writeTimeoutMs: DEADLINE_MS.write,
    scaleJob,
    scaleStatus: () => runs(agent.scaleStatus),
    clusterKeys: Effect.succeed([]),
    getDefinition: () => runs(agent.getDefinition),
    runJob: () => unused,
    planJob: () => unused,
    deleteJob: () => unused,
    allocationStats: () => unused,
    getAllocations: () => unused,
    events: () => Stream.never,
  })
  const ownJournal = RestartJournal.of({
    shared: true,
    // Long enough for a stop to fall into it.
    open: (record, lease) => Effect.delay(runs(Effect.delay(journal.open(record, lease), OPENING_MS)), THINKING_MS),
    update: (record, lease) => runs(journal.update(record, lease)),
    close: (id, owner) => runs(journal.close(id, owner)),
    renew: (id, lease) => runs(journal.renew(id, lease)),
    release: (owner) => runs(journal.release(owner)),
    claim: (at, now, lease) => runs(journal.claim(at, now, lease)),
    settle: (ids) => runs(journal.settle(ids)),
    list: runs(journal.list),
  })
  const world = yield* Clock.Clock
  const clock: Clock.Clock = {
    currentTimeMillisUnsafe: () => world.currentTimeMillisUnsafe() + machine.aheadMs,
    currentTimeMillis: Effect.sync(() => world.currentTimeMillisUnsafe() + machine.aheadMs),
    currentTimeNanosUnsafe: () => world.currentTimeNanosUnsafe() + BigInt(machine.aheadMs) * 1_000_000n,
    currentTimeNanos: Effect.sync(() => world.currentTimeNanosUnsafe() + BigInt(machine.aheadMs) * 1_000_000n),
    monotonicTimeNanosUnsafe: () => world.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: world.monotonicTimeNanos,
    sleep: (duration) => world.sleep(duration),
  }
  const scope = yield* Scope.make()
  const surroundings = Layer.merge(Logger.layer([]), Layer.succeed(Clock.Clock, clock))
  const context = yield* restartsLayer(rules, "8 seconds").pipe(
    Layer.provide(Layer.mergeAll(Layer.succeed(SchedulerPort, scheduler), Layer.succeed(RestartJournal, ownJournal))),
    Layer.provideMerge(surroundings),
    Layer.buildWithScope(scope),
  )
  const kill = Effect.sync(() => {
    killed = true
  })
  const instance: Instance = {
    restart: Effect.asVoid(Effect.provide(Context.get(context, Restarts).restart(JOB), context)),
    kill,
    stop: awake.close,
    goOn: awake.open,
    dieAtWake: Effect.andThen(awake.open, kill),
  }
  return instance
})
