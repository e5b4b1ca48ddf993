// The media flow in a process of its own, on a fast clock, for tests that kill it. Started with the graph's address, the
// journal's path, the clock's speed and start, and keys; makes the post of each key, again until it is published, and says
// [key, code or "published", media id], one a line, after ["", "ready", null]. It ends when every key is published.
import { writeSync } from "node:fs"
import { Clock, Effect, Exit, Layer, ManagedRuntime, Redacted } from "effect"
import * as journal from "../../adapters/driven/publish_journal/sqlite.ts"
import * as database from "../../adapters/driven/sqlite_database.ts"
import { publishPost } from "../../application/media/publish_post.ts"
import { checkGraphSetup, graphLayer } from "../../bootstrap/media_layers.ts"
import { DEFAULT_MEDIA_RULES } from "../../domain/media/policy.ts"
import { makeFastClock } from "./fast_clock.ts"
import { postOf } from "./killed_publishers.ts"
import { ACCOUNT } from "./media_world.ts"

const LANES = 12
/** Longest wait of one run for the platform or for another run, ms of the fast clock. */
const BUDGET_MS = 120_000

const [graphUrl = "", path = "", speed, startMs, ...keys] = process.argv.slice(2)
const graph = Effect.runSync(
  checkGraphSetup({
    graphUrl,
    apiVersion: "v25.0",
    accessToken: Effect.succeed(Redacted.make("token")),
    accountId: ACCOUNT,
    timeoutMs: 30_000,
    rules: DEFAULT_MEDIA_RULES,
    parameters: "query",
    token: "query",
    allowInsecure: false,
  }),
)
const clock = makeFastClock(Number(speed), Number(startMs))
const layer = Layer.merge(graphLayer(graph), Layer.provide(journal.layer, database.layer({ path })))
const runtime = ManagedRuntime.make(layer)
await runtime.context()
const say = (line: unknown) => writeSync(1, `${JSON.stringify(line)}\n`)

const make = async (key: string): Promise<boolean> => {
  const run = publishPost({ key, accountId: ACCOUNT, post: postOf(key) }, { waiting: { budgetMs: BUDGET_MS } })
  const exit = await runtime.runPromiseExit(
    run.pipe(
      Effect.provideService(Clock.Clock, clock),
      Effect.map((result) => [result.state, result.state === "published" ? result.mediaId : undefined] as const),
      Effect.catch(({ code }) => Effect.succeed([code, undefined] as const)),
    ),
  )
  const [state, mediaId] = Exit.isSuccess(exit) ? exit.value : (["DEFECT", undefined] as const)
  say([key, state, mediaId ?? null])
  return state === "published"
}

// Two processes take the keys in different orders, and still meet often.
const queue = keys.toSorted(() => Math.random() - 0.5)
say(["", "ready", null])
const lane = async () => {
  for (let key = queue.shift(); key !== undefined; key = queue.shift()) if (!(await make(key))) queue.push(key)
}
await Promise.all(Array.from({ length: LANES }, lane))
await runtime.dispose()
