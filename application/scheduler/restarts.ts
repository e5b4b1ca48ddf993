import { Clock, Context, Deferred, type Duration, Effect, Exit, Layer, Option, Random, Schedule } from "effect"
import type { RestartError } from "../../domain/scheduler/errors.ts"
import { type JobAt, problemWithJobAt } from "../../domain/scheduler/job.ts"
import { RestartJournal, type RestartRecord } from "../../domain/scheduler/restart_journal.ts"
import type { RestartRules } from "../../domain/scheduler/restart_plan.ts"
import { SchedulerPort } from "../../domain/scheduler/scheduler_port.ts"
import type { StoreUnavailable } from "../../domain/store_unavailable.ts"
import { makeBackground } from "../background.ts"
import { makeSteps } from "./restart_sequence.ts"

/**
 * Restarts jobs, and never leaves one at 0: not when the process ends in order, not when it is killed, not when two
 * instances start at once.
 */
export class Restarts extends Context.Service<
  Restarts,
  {
    /**
     * Scales the job's group to 0, and one second later, behind the caller, back to 1 (seed 4.3 rule 2).
     *
     * @fails {RestartError} when the first step failed; the second step's errors are only logged
     */
    readonly restart: (job: JobAt) => Effect.Effect<void, RestartError>
    /** Restarts that wait for their second step, and those that are stuck. */
    readonly unfinished: Effect.Effect<ReadonlyArray<RestartRecord>, StoreUnavailable>
  }
>()("portolan/application/scheduler/Restarts") {}

const randomName = Effect.map(
  Effect.all([Random.nextIntBetween(0, 2 ** 48), Random.nextIntBetween(0, 2 ** 48)]),
  (parts) => parts.map((part) => part.toString(36)).join(""),
)

const newRecord = Effect.fnUntraced(function* (
  { endpoint, scaleGroup }: SchedulerPort["Service"],
  { jobId, region, namespace }: JobAt,
) {
  const now = yield* Clock.currentTimeMillis
  const record: RestartRecord = {
    id: `${now.toString(36)}-${yield* randomName}`,
    endpoint,
    jobId,
    region,
    ...(namespace === undefined ? {} : { namespace }),
    group: scaleGroup,
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
  const { begin, finish, resume } = makeSteps({ scheduler, journal, rules, owner })
  const leaseFromNow = Effect.map(Clock.currentTimeMillis, (now) => ({ owner, until: now + rules.leaseMs }))

  // Finalizers run in reverse: the leases are given back once the running sequences have ended.
  yield* Effect.addFinalizer(() => attempt("release", journal.release(owner)))
  const background = yield* makeBackground(grace)

  /** Runs a sequence behind the caller, renewing its lease as long as it takes. */
  const runBehind = (record: RestartRecord, sequence: Effect.Effect<void>) => {
    const renew = attempt(
      "renew",
      Effect.flatMap(leaseFromNow, (lease) => journal.renew(record.id, lease)),
    )
    return background("restart", Effect.raceFirst(sequence, Effect.schedule(renew, Schedule.spaced(rules.leaseMs / 3))))
  }

  const takeOver = Effect.gen(function* () {
    const left = yield* journal.claim(scheduler.endpoint, yield* Clock.currentTimeMillis, yield* leaseFromNow)
    for (const record of left) yield* runBehind(record, resume(record))
  })
  if (journal.shared)
    yield* Effect.forkScoped(Effect.repeat(attempt("take over", takeOver), Schedule.spaced(rules.leaseMs)))

  const restart = Effect.fn("restartJob")(function* (job: JobAt) {
    const problem = problemWithJobAt(job)
    if (problem !== undefined) return yield* problem
    const record = yield* newRecord(scheduler, job)
    const accepted = yield* Deferred.make<void, RestartError>()
    // The whole sequence runs behind: a caller that goes away cannot break it in the middle.
    const sequence = Effect.gen(function* () {
      const first = yield* begin(record, (unclear) => runBehind(unclear, resume(unclear))).pipe(
        Effect.onExit((exit) => Deferred.done(accepted, Exit.asVoid(exit))),
        Effect.option,
      )
      if (Option.isSome(first)) yield* finish(first.value)
    })
    yield* runBehind(record, sequence)
    yield* Deferred.await(accepted)
  })

  return Restarts.of({ restart, unfinished: journal.list(scheduler.endpoint) })
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
