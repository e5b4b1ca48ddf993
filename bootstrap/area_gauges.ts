import { Context, Effect, Metric } from "effect"
import { Restarts } from "../application/scheduler/restarts.ts"
import { PublishJournal, type Tally } from "../domain/media/publish_journal.ts"
import type { MetricName } from "./metric_names.ts"

/** A store that is away keeps the last figures; its own metric and readiness tell of it. */
const orElseOld = Effect.ignore

const restarts = (state: "pending" | "stuck") =>
  Metric.gauge("portolan.restarts" satisfies MetricName, {
    description: "Restarts that are not over, of every instance: pending ones go on by themselves, stuck ones do not",
    attributes: { state },
  })

/** Brings the gauges of restarts up to date. */
export const measureRestarts = (services: Context.Context<Restarts>): Effect.Effect<void> => {
  const [pending, stuck] = [restarts("pending"), restarts("stuck")]
  return Context.get(services, Restarts).unfinished.pipe(
    Effect.flatMap((all) => {
      const stuckOnes = all.filter(({ state }) => state === "stuck").length
      return Effect.andThen(Metric.update(stuck, stuckOnes), Metric.update(pending, all.length - stuckOnes))
    }),
    orElseOld,
  )
}

const posts = (state: keyof Tally) =>
  Metric.gauge("portolan.posts" satisfies MetricName, {
    description: "Posts by how far they have come, of every instance",
    attributes: { state },
  })

/** Brings the gauges of posts up to date. */
export const measurePosts = (services: Context.Context<PublishJournal>): Effect.Effect<void> => {
  const gauges = { preparing: posts("preparing"), intended: posts("intended"), published: posts("published") }
  return Context.get(services, PublishJournal).tally.pipe(
    Effect.flatMap(({ preparing, intended, published }) =>
      Effect.all(
        [
          Metric.update(gauges.preparing, preparing),
          Metric.update(gauges.intended, intended),
          Metric.update(gauges.published, published),
        ],
        { discard: true },
      ),
    ),
    orElseOld,
  )
}
