import { Cause, Context, Effect, Exit, Layer, Metric, Option } from "effect"
import { type CallSpan, observed, timing, tracing } from "../adapters/driven/observed_port.ts"
import { MediaGraphPort } from "../domain/media/media_graph_port.ts"
import { PublishJournal } from "../domain/media/publish_journal.ts"
import { RecordRepository } from "../domain/records/record_repository.ts"
import { RestartJournal } from "../domain/scheduler/restart_journal.ts"
import { SchedulerPort } from "../domain/scheduler/scheduler_port.ts"
import { StoreUnavailable } from "../domain/store_unavailable.ts"
import type { Config } from "./config.ts"
import type { MetricName } from "./metric_names.ts"
import type { Store } from "./store.ts"

/** Name of a store by the semantic conventions for databases. */
const SYSTEMS = { sqlite: "sqlite", mongo: "mongodb", memory: "memory" } as const satisfies Record<
  Config["STORE"],
  string
>

/** Upper bounds of the duration histogram, seconds. */
const BOUNDARIES_S = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10]

/** The span of a call to the store. What is stored and what is searched for is left out. */
const storeCall =
  (system: string, named?: string) =>
  (operation: string, [first]: ReadonlyArray<unknown>): CallSpan => {
    const collection = named ?? (typeof first === "string" ? first : undefined)
    return {
      name: collection === undefined ? operation : `${operation} ${collection}`,
      kind: "client",
      attributes: {
        "db.system.name": system,
        "db.operation.name": operation,
        ...(collection === undefined ? {} : { "db.collection.name": collection }),
      },
    }
  }

/** Anything but this is an answer of the store, such as "there is none". */
const isFailure = (failure: unknown): boolean => failure instanceof StoreUnavailable

/** The kind of a failure; empty for an answer, and for a caller who went away. */
const failureOf = (cause: Cause.Cause<unknown>): string => {
  if (Cause.hasInterruptsOnly(cause)) return ""
  const error = Cause.findErrorOption(cause)
  if (Option.isNone(error)) return "Defect"
  return isFailure(error.value) ? "StoreUnavailable" : ""
}

/** Counts the calls of the store by operation and failure, with the time they take. */
const storeTimes = (system: string, context: Context.Context<never>) => {
  const known = new Map<string, Metric.Histogram<number>>()
  const seriesOf = (operation: string, failure: string) => {
    const key = `${operation} ${failure}`
    const series =
      known.get(key) ??
      Metric.histogram("db.client.operation.duration" satisfies MetricName, {
        description: "Time that operations of the store take",
        boundaries: BOUNDARIES_S,
        attributes: {
          "db.operation.name": operation,
          "db.system.name": system,
          ...(failure === "" ? {} : { "error.type": failure }),
          unit: "s",
        },
      })
    known.set(key, series)
    return series
  }
  return timing((operation, durationMs, exit) =>
    seriesOf(operation, Exit.isSuccess(exit) ? "" : failureOf(exit.cause)).updateUnsafe(durationMs / 1000, context),
  )
}

/**
 * A store whose calls are counted and timed; each is a span too, beneath the request that asks.
 *
 * @param traced true when somebody collects spans
 */
export const watchedStore = (store: Store, choice: Config["STORE"], traced: boolean): Store =>
  Layer.effectContext(
    Effect.gen(function* () {
      const context = yield* Effect.context<never>()
      const built = yield* Layer.build(store)
      const system = SYSTEMS[choice]
      const repository = observed(Context.get(built, RecordRepository), {}, storeTimes(system, context))
      const timed = Context.add(built, RecordRepository, repository)
      if (!traced) return timed
      const isAnswer = (failure: unknown) => !isFailure(failure)
      return timed.pipe(
        Context.add(RecordRepository, observed(repository, {}, tracing(storeCall(system), isAnswer))),
        Context.add(
          RestartJournal,
          observed(Context.get(built, RestartJournal), {}, tracing(storeCall(system, "restart_journal"))),
        ),
        Context.add(
          PublishJournal,
          observed(
            Context.get(built, PublishJournal),
            { fingerprint: true },
            tracing(storeCall(system, "publish_journal")),
          ),
        ),
      )
    }),
  )

const portCall =
  (port: string) =>
  (operation: string): CallSpan => ({ name: `${port} ${operation}`, kind: "internal", attributes: {} })

/** A scheduler each call of which is a span, beneath the request that asks; what it sends is one of its own. */
export const tracedScheduler = <E>(scheduler: Layer.Layer<SchedulerPort, E>): Layer.Layer<SchedulerPort, E> =>
  Layer.effect(
    SchedulerPort,
    Effect.map(SchedulerPort, (port) => observed(port, { events: true }, tracing(portCall("scheduler")))),
  ).pipe(Layer.provide(scheduler))

/** A graph each call of which is a span, beneath the request that asks; what it sends is one of its own. */
export const tracedGraph = <E>(graph: Layer.Layer<MediaGraphPort, E>): Layer.Layer<MediaGraphPort, E> =>
  Layer.effect(
    MediaGraphPort,
    Effect.map(MediaGraphPort, (port) => observed(port, {}, tracing(portCall("graph")))),
  ).pipe(Layer.provide(graph))
