// An instance of the service as its machine treats it: it is killed, it is stopped and goes on as if nothing had been, and
// its wall clock is set. On virtual time.
import { Clock, Context, Effect, Latch, Layer, Logger, Scope, Stream } from "effect"
import { Restarts, layer as restartsLayer } from "../../application/scheduler/restarts.ts"
import type { RestartError } from "../../domain/scheduler/errors.ts"
import { RestartJournal } from "../../domain/scheduler/restart_journal.ts"
import type { RestartRules } from "../../domain/scheduler/restart_plan.ts"
import { SchedulerPort } from "../../domain/scheduler/scheduler_port.ts"
import { type AgentModel, DEADLINE_MS, GROUP } from "./restart_agent_model.ts"

const JOB = { jobId: "web", region: "" }

/** One machine, on which one instance runs at a time. */
export interface Machine {
  /** How far its wall clock is ahead, milliseconds. */
  aheadMs: number
}

/** A running instance. */
export interface Instance {
  readonly restart: Effect.Effect<void, RestartError>
  /** At once: what it had sent is sent, nothing else happens any more. */
  readonly kill: Effect.Effect<void>
  /** As SIGSTOP and SIGCONT do. */
  readonly stop: Effect.Effect<void>
  readonly goOn: Effect.Effect<void>
  readonly isStopped: () => boolean
}

/** How long it takes to open an entry. */
const OPENING_MS = 10

const unused = Effect.die("not part of the model")

/** Starts an instance on a machine. */
export const startInstance = Effect.fnUntraced(function* (
  agent: AgentModel,
  journal: RestartJournal["Service"],
  machine: Machine,
  rules: RestartRules,
) {
  let killed = false
  let stopped = false
  const awake = yield* Latch.make(true)
  const alive = Effect.suspend(() => (killed ? Effect.never : awake.await))
  /** What leaves the process or comes back to it does so while the process runs. */
  const runs = <A, E>(call: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.suspend(() => (killed ? Effect.never : awake.await)).pipe(
      Effect.andThen(Effect.exit(call)),
      Effect.flatMap((exit) => Effect.andThen(alive, exit)),
    )

  const scheduler = SchedulerPort.of({
    endpoint: "model:",
    scaleGroup: GROUP,
    writeTimeoutMs: DEADLINE_MS.write,
    scaleJob: (to) => runs(agent.scaleJob(to)),
    scaleStatus: () => runs(agent.scaleStatus),
    clusterKeys: Effect.succeed([]),
    getDefinition: () => unused,
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
    open: (record, lease) => runs(Effect.delay(journal.open(record, lease), OPENING_MS)),
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
  const instance: Instance = {
    restart: Effect.asVoid(Effect.provide(Context.get(context, Restarts).restart(JOB), context)),
    kill: Effect.sync(() => {
      killed = true
    }),
    stop: Effect.suspend(() => {
      stopped = true
      return awake.close
    }),
    goOn: Effect.suspend(() => {
      stopped = false
      return awake.open
    }),
    isStopped: () => stopped,
  }
  return instance
})
