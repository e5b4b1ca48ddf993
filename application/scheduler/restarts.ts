import { Clock, Context, Deferred, type Duration, Effect, Exit, Layer, Option, Random, Schedule } from "effect"
import type { RestartError } from "../../domain/scheduler/errors.ts"
import { type JobAt, problemWithJobAt } from "../../domain/scheduler/job.ts"
import { type ClusterAt, RestartJournal, type RestartRecord } from "../../domain/scheduler/restart_journal.ts"
import type { RestartRules } from "../../domain/scheduler/restart_plan.ts"
import { SchedulerPort } from "../../domain/scheduler/scheduler_port.ts"
import type { StoreUnavailable } from "../../domain/store_unavailable.ts"
import { makeBackground } from "../background.ts"
import { makeClusterLookup } from "./cluster_lookup.ts"
import { makeFirstStep } from "./first_step.ts"
import { makeEntries } from "./restart_entry.ts"
import { makeRestartRequests } from "./restart_requests.ts"
import { makeSecondStep } from "./second_step.ts"

/** How long a restart waits to learn which cluster it is for. */
const LOOKUP_PATIENCE = "1 second"

/**
 * Restarts jobs, and never leaves one at 0: not when the process ends in order, not when it is killed, not when two
 * instances start at once.
 */
export class Restarts extends Context.Service<
  Restarts,
  {
    /**
     * Scales the job's group to 0, and one second later, behind the caller, back to 1 (specification 4.3 rule 2).
     *
     * @returns the id under which it is listed until it is over
     * @fails {RestartError} when the first step failed, or the journal may not hold the restart; the second step's errors
     * are only logged
     */
    readonly restart: (job: JobAt) => Effect.Effect<RestartRecord["id"], RestartError>
    /** Restarts of every cluster that are not over, and those that are stuck, oldest first. */
    readonly unfinished: Effect.Effect<ReadonlyArray<RestartRecord>, StoreUnavailable>
  }
>()("portolan/application/scheduler/Restarts") {}

const randomName = Effect.map(
  Effect.all([Random.nextIntBetween(0, 2 ** 48), Random.nextIntBetween(0, 2 ** 48)]),
  (parts) => parts.map((part) => part.toString(36)).join(""),
)

const newRecord = Effect.fnUntraced(function* (at: ClusterAt, { jobId, region, namespace }: JobAt, group: string) {
  const now = yield* Clock.currentTimeMillis
  const record: RestartRecord = {
    id: `${now.toString(36)}-${yield* randomName}`,
    ...at,
    jobId,
    region,
    ...(namespace === undefined ? {} : { namespace }),
    group,
    state: "intent",
    createdAt: now,
    dueAt: now,
    attempts: 0,
  }
  return record
})

/** What only keeps leases in order may fail: the leases then end by themselves. */
const attempt = (label: string, work: Effect.Effect<unknown, StoreUnavailable>) =>
  Effect.catch(work, (error) => Effect.logWarning(`Restart journal: cannot ${label}`, error.message))

const make = Effect.fnUntraced(function* (rules: RestartRules, grace: Duration.Input) {
  const scheduler = yield* SchedulerPort
  const journal = yield* RestartJournal
  const owner = yield* randomName
  const requests = makeRestartRequests(scheduler)
  const entries = makeEntries({ journal, rules, owner })
  const cluster = yield* makeClusterLookup(scheduler)
  const ending = yield* Deferred.make<void>()

  // Finalizers run in reverse: watches end, then second steps, and then the leases are given back.
  yield* Effect.addFinalizer(() => attempt("release", journal.release(owner)))
  const background = yield* makeBackground(grace)
  yield* Effect.addFinalizer(() => Deferred.succeed(ending, undefined))

  const firstStep = makeFirstStep({ requests, entries, rules, judgedByOthers: journal.shared })
  const secondStep = makeSecondStep({
    requests,
    entries,
    rules,
    settleMs: scheduler.writeTimeoutMs + rules.marginMs,
    ending: Deferred.await(ending),
  })

  const leaseFromNow = Effect.map(Clock.currentTimeMillis, (now) => ({ owner, until: now + rules.leaseMs }))

  /** Runs a sequence behind the caller, renewing its lease as long as it takes. */
  const runBehind = (record: RestartRecord, sequence: Effect.Effect<void>) => {
    const renew = attempt(
      "renew",
      Effect.flatMap(leaseFromNow, (lease) => journal.renew(record.id, lease)),
    )
    return background("restart", Effect.raceFirst(sequence, Effect.schedule(renew, Schedule.spaced(rules.leaseMs / 3))))
  }

  /**
   * Goes on with what others left. The agent is asked only when there is something; and nothing is taken before it has said,
   * or refused to say, which cluster it is of.
   */
  const takeOver = Effect.gen(function* () {
    if ((yield* journal.list).every(({ state }) => state === "stuck")) return
    const names = yield* cluster
    if (Option.isNone(names)) return
    const at = { endpoint: scheduler.endpoint, cluster: names.value }
    const left = yield* journal.claim(at, yield* Clock.currentTimeMillis, yield* leaseFromNow)
    for (const record of left) yield* runBehind(record, Effect.withSpan(secondStep({ record }), "restart.taken_over"))
  })
  if (journal.shared)
    yield* Effect.forkScoped(Effect.repeat(attempt("take over", takeOver), Schedule.spaced(rules.leaseMs)))

  /** What others need to know the cluster again; nothing when nobody else sees the journal, or the agent is slow to tell. */
  const here = Effect.map(
    journal.shared ? Effect.timeoutOption(cluster, LOOKUP_PATIENCE) : Effect.succeedNone,
    (names): ClusterAt => ({
      endpoint: scheduler.endpoint,
      ...Option.match(Option.flatten(names), { onNone: () => ({}), onSome: (cluster) => ({ cluster }) }),
    }),
  )

  const restart = Effect.fn("restartJob")(function* (job: JobAt) {
    const problem = problemWithJobAt(job)
    if (problem !== undefined) return yield* problem
    const record = yield* newRecord(yield* here, job, scheduler.scaleGroup)
    const accepted = yield* Deferred.make<void, RestartError>()
    // The whole sequence runs behind: a caller that goes away cannot break it in the middle.
    const sequence = Effect.gen(function* () {
      const first = yield* firstStep(record).pipe(
        Effect.withSpan("restart.first_step"),
        Effect.onExit((exit) => Deferred.done(accepted, Exit.isSuccess(exit) ? exit.value.answer : exit)),
        Effect.option,
      )
      const left = Option.flatMapNullishOr(first, (step) => step.left)
      if (Option.isSome(left)) yield* Effect.withSpan(secondStep(left.value), "restart.second_step")
    })
    yield* runBehind(record, sequence)
    yield* Deferred.await(accepted)
    return record.id
  })

  return Restarts.of({ restart, unfinished: journal.list })
})

/**
 * Starts with what an earlier process left unfinished, and keeps an eye on what other instances leave.
 *
 * @param grace how long the end waits for second steps; what is left then stays in the journal
 */
export const layer = (
  rules: RestartRules,
  grace: Duration.Input,
): Layer.Layer<Restarts, never, SchedulerPort | RestartJournal> => Layer.effect(Restarts, make(rules, grace))
