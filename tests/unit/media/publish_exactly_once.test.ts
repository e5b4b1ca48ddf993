// Whatever fails, and wherever a run dies: at most one visible post, and the next undisturbed run completes the flow.
import { deepEqual, equal, ok } from "node:assert/strict"
import { describe, test } from "node:test"
import { inspect } from "node:util"
import { Clock, Context, Effect, Exit, Layer } from "effect"
import fc from "fast-check"
import * as memoryJournal from "../../../adapters/driven/publish_journal/memory.ts"
import * as pacing from "../../../application/media/graph_pacing.ts"
import { publishPost } from "../../../application/media/publish_post.ts"
import type { Post } from "../../../domain/media/container.ts"
import { MediaGraphPort } from "../../../domain/media/media_graph_port.ts"
import { PublishJournal } from "../../../domain/media/publish_journal.ts"
import { BLOCKED_AND_LIVE, OPEN_FAULTS, OUTAGES, REFUSALS } from "../../support/graph_faults.ts"
import { type Fault, type GraphModelOptions, makeGraphModel } from "../../support/graph_model.ts"
import * as scriptedGraph from "../../support/graph_model_port.ts"
import { makeJumpingClock } from "../../support/jumping_clock.ts"
import { ACCOUNT, CAROUSEL, REEL } from "../../support/media_world.ts"

class Crash extends Error {}

/** When a run dies: at its n-th effect on the world (a journal write or a graph call), before or after it happened. */
interface Death {
  readonly step: number
  readonly when: "before" | "after"
}

const POSTS: Readonly<Record<string, Post>> = { reel: REEL, carousel: { kind: "carousel", ...CAROUSEL } }

/** A world whose runs share the graph and the journal, as processes do. */
const makeScene = (options: GraphModelOptions) => {
  const clock = makeJumpingClock()
  const model = makeGraphModel(options)
  const shared = Effect.runSync(
    Effect.scoped(Layer.build(Layer.merge(scriptedGraph.layer(model), memoryJournal.layer))),
  )

  /** One process: its own pacing, and after its death nothing it does reaches the world. */
  const run = (post: Post, death: Death | undefined) => {
    let steps = 0
    let dead = false
    const mortal = <A, E>(step: Effect.Effect<A, E>): Effect.Effect<A, E> =>
      Effect.suspend(() => {
        if (dead) return Effect.die(new Crash())
        steps += 1
        dead = steps === death?.step
        if (!dead) return step
        return death?.when === "before"
          ? Effect.die(new Crash())
          : Effect.andThen(Effect.exit(step), Effect.die(new Crash()))
      })
    const graph = Context.get(shared, MediaGraphPort)
    const journal = Context.get(shared, PublishJournal)
    const services = Layer.mergeAll(
      pacing.layer,
      Layer.succeed(MediaGraphPort, {
        ...graph,
        createContainer: (call) => mortal(graph.createContainer(call)),
        publishContainer: (call) => mortal(graph.publishContainer(call)),
      }),
      Layer.succeed(PublishJournal, { ...journal, put: (entry, version) => mortal(journal.put(entry, version)) }),
    )
    return publishPost({ key: "k", accountId: ACCOUNT, post }).pipe(
      Effect.provide(services),
      Effect.exit,
      Effect.map((exit) => ({ exit, steps, dead })),
      Effect.provideService(Clock.Clock, clock),
      Effect.runPromise,
    )
  }
  return { model, run, clock }
}

type Run = Awaited<ReturnType<ReturnType<typeof makeScene>["run"]>>

/** @fails unless the run published */
const expectPublished = ({ exit }: Run): void => {
  ok(Exit.isSuccess(exit), inspect(exit, { depth: 9 }))
  equal(exit.value.state, "published")
}

describe("publishPost() makes a post that exists exactly once", () => {
  for (const [name, post] of Object.entries(POSTS))
    test(`${name}: a crash before or after every single step`, async () => {
      const whole = await makeScene({}).run(post, undefined)
      ok(whole.steps >= 5)
      for (let step = 1; step <= whole.steps; step++)
        for (const when of ["before", "after"] as const) {
          // The worst graph: it would publish a container twice without a word, and tells late that it did.
          const { model, run } = makeScene({ republish: "duplicate", publishedLagMs: 150_000 })
          ok((await run(post, { step, when })).dead, `step ${step} ${when}: the run survived`)
          ok(model.posts.length <= 1)
          expectPublished(await run(post, undefined))
          equal(model.posts.length, 1, `step ${step} ${when}`)
        }
    })

  const open = fc.constantFrom(...OPEN_FAULTS)
  const refusals = fc.constantFrom(...REFUSALS)
  const outage = fc.constantFrom(...OUTAGES)
  const blockedAndLive = fc.constant(BLOCKED_AND_LIVE)

  const fates = (fault: fc.Arbitrary<Fault>, maxLength: number) =>
    fc.array(fc.option(fault, { nil: undefined, freq: 3 }), { maxLength, size: "max" })
  const faults = fc.record({
    publish: fates(fc.oneof({ weight: 6, arbitrary: open }, { weight: 3, arbitrary: refusals }, blockedAndLive), 5),
    create: fates(fc.oneof(open, refusals), 6),
    status: fates(fc.oneof(outage, refusals), 10),
  })
  const death = fc.option(
    fc.record({ step: fc.integer({ min: 1, max: 16 }), when: fc.constantFrom("before" as const, "after" as const) }),
    { nil: undefined },
  )
  // A graph that refuses a second publish may tell as late as it likes; one that does not must tell within the grace.
  const graphs = fc.constantFrom<GraphModelOptions>(
    { republish: "refuse", publishedLagMs: 0 },
    { republish: "refuse", publishedLagMs: 300_000 },
    { republish: "duplicate", publishedLagMs: 20_000 },
    { republish: "duplicate", publishedLagMs: 80_000 },
  )

  test("under random faults, deaths and reruns (300 scenes)", async () => {
    const met = { deaths: 0, faults: 0, failures: 0, successes: 0 }
    const scene = fc.asyncProperty(
      fc.constantFrom(...Object.values(POSTS)),
      faults,
      fc.array(death, { minLength: 1, maxLength: 3 }),
      graphs,
      async (post, faults, deaths, options) => {
        const { model, run, clock } = makeScene(options)
        const left: Record<string, Array<Fault | undefined>> = structuredClone(faults)
        model.setFault(({ operation }) => {
          const fault = left[operation]?.shift()
          if (fault !== undefined) met.faults++
          return fault
        })
        for (const each of deaths) {
          const { exit, dead } = await run(post, each)
          ok(model.posts.length <= 1, "two posts")
          // Whoever survives says what is true, or names a failure: nothing but the planned death is a defect.
          if (dead) met.deaths++
          else if (Exit.isSuccess(exit)) {
            met.successes++
            equal(model.posts.length, exit.value.state === "published" ? 1 : 0)
          } else {
            met.failures++
            ok(!Exit.hasDies(exit), inspect(exit, { depth: 9 }))
          }
        }
        model.setFault(() => undefined)
        clock.jumpTo(clock.currentTimeMillisUnsafe() + 600_000)
        const last = await run(post, undefined)
        expectPublished(last)
        deepEqual((await run(post, undefined)).exit, last.exit)
        equal(model.posts.length, 1)
      },
    )
    await fc.assert(scene, { numRuns: 300, seed: 20_261_121 })
    ok(
      Object.values(met).every((times) => times > 50),
      inspect(met),
    )
  })
})
