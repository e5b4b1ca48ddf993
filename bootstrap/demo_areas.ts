import { Effect, Layer } from "effect"
import * as memoryGraph from "../adapters/driven/media_graph/memory.ts"
import * as memoryScheduler from "../adapters/driven/scheduler/memory.ts"
import * as pacing from "../application/media/graph_pacing.ts"
import { runJob } from "../application/scheduler/jobs.ts"
import { DEFAULT_MEDIA_RULES, MediaPolicy } from "../domain/media/policy.ts"
import { SchedulerPort } from "../domain/scheduler/scheduler_port.ts"
import type { Area } from "./area.ts"
import type { Config } from "./config.ts"
import { mediaAreaOver } from "./media_area.ts"
import { restartsOver, schedulerAreaOver } from "./scheduler_area.ts"
import { storeOf } from "./store.ts"
import { tracedGraph, watchedStore } from "./watched_ports.ts"

/** The journals are in memory as well: one that outlived the scheduler or the graph would speak of what is gone. */
const journals = watchedStore(storeOf("memory"), "memory", true)

/** The job that the scheduler of the demo knows from the start. */
export const DEMO_JOB = { jobId: "radio", region: "global" }

const demoScheduler = ({ SCHEDULER_SCALE_GROUP: scaleGroup }: Config): Layer.Layer<SchedulerPort> =>
  Layer.effect(
    SchedulerPort,
    Effect.gen(function* () {
      const scheduler = yield* SchedulerPort
      const job = { ID: DEMO_JOB.jobId, Name: DEMO_JOB.jobId, TaskGroups: [{ Name: scaleGroup, Count: 1 }] }
      // The scheduler in memory takes every job that is one.
      yield* Effect.orDie(Effect.provideService(runJob(job, DEMO_JOB), SchedulerPort, scheduler))
      return scheduler
    }),
  ).pipe(Layer.provide(memoryScheduler.layer({ scaleGroup })))

/** The scheduler area over a scheduler in memory that knows one job. */
export const demoSchedulerArea = (config: Config): Area =>
  schedulerAreaOver(restartsOver(demoScheduler(config), journals), config.SCHEDULER_ROLES)

/** Account of requests that name none. */
const DEMO_ACCOUNT = "17841400000000000"

/** How long the platform of the demo works on a video, ms: long enough to be seen, shorter than a request waits for it. */
const PROCESSING_MS = 3_000

/** The media area over a graph in memory, whose posts appear nowhere. */
export const demoGraphArea = (config: Config): Area =>
  mediaAreaOver(
    Layer.mergeAll(
      tracedGraph(memoryGraph.layer({ processingMs: PROCESSING_MS })),
      journals,
      pacing.layer,
      Layer.succeed(MediaPolicy, DEFAULT_MEDIA_RULES),
    ),
    config.GRAPH_ACCOUNT_ID ?? DEMO_ACCOUNT,
    config.MEDIA_ROLES,
  )
