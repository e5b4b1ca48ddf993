// Two processes that make the same posts over one journal, under faults of the graph at every step, and killed at random
// moments; and what of "exactly once" did not come true.
import { join } from "node:path"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import * as journalAdapter from "../../adapters/driven/publish_journal/sqlite.ts"
import * as database from "../../adapters/driven/sqlite_database.ts"
import type { Post } from "../../domain/media/container.ts"
import { type PublishEntry, PublishJournal } from "../../domain/media/publish_journal.ts"
import { makeFastClock } from "./fast_clock.ts"
import { BLOCKED_AND_LIVE, OPEN_FAULTS, OUTAGES, REFUSALS } from "./graph_faults.ts"
import { type Fault, type GraphModel, type ModelCall, makeGraphModel } from "./graph_model.ts"
import { graphServer } from "./graph_server.ts"

const PROGRAM = join(import.meta.dir, "publisher.process.ts")
const ITEMS = ["1.jpg", "2.mp4", "3.jpg"]

/** The post of a key; its caption names it. Every third is a reel, every third a carousel. */
export const postOf = (key: string): Post => {
  const address = (file: string) => `https://cdn.example.com/${key}/${file}`
  const item = (file: string) =>
    file.endsWith("mp4")
      ? ({ kind: "video", videoUrl: address(file) } as const)
      : ({ kind: "image", imageUrl: address(file) } as const)
  switch (Number(key.split("-")[1]) % 3) {
    case 0:
      return { kind: "reel", videoUrl: address("r.mp4"), caption: key }
    case 1:
      return { kind: "carousel", caption: key, items: ITEMS.map(item) }
    default:
      return { kind: "image", imageUrl: address("a.jpg"), caption: key }
  }
}

const FAULTS: Readonly<Partial<Record<ModelCall["operation"], ReadonlyArray<Fault>>>> = {
  create: [...OPEN_FAULTS, ...REFUSALS],
  publish: [...OPEN_FAULTS, ...OPEN_FAULTS, ...REFUSALS, BLOCKED_AND_LIVE],
  status: [...OUTAGES, ...REFUSALS],
  limit: OUTAGES,
}

/** What a run is made of. */
interface Attack {
  readonly keys: number
  /** Milliseconds of the flow that pass in a real one. A hold is 180 s of the flow, the grace after a lost answer 120 s. */
  readonly speed: number
  /** Longest life of a process, real ms. */
  readonly lifeMs: number
  /** Part of the graph's calls that meet a fault, 0..1. */
  readonly faulty: number
  readonly random: () => number
  readonly folder: string
  readonly onProgress?: (line: string) => void
}

/** What processes have said, all of them together. */
interface Said {
  /** Key -> media id, when it was told; the first that was said. */
  readonly published: Map<string, string | null>
  /** Keys of which two different media ids were told. */
  readonly changed: Set<string>
  readonly outcomes: Map<string, number>
}

const listen = async (
  output: ReadableStream<Uint8Array<ArrayBuffer>>,
  said: Said,
  ready: () => void,
): Promise<void> => {
  let buffered = ""
  for await (const text of output.pipeThrough(new TextDecoderStream())) {
    const lines = (buffered + text).split("\n")
    buffered = lines.pop() ?? ""
    for (const line of lines) {
      const [key, outcome, mediaId] = JSON.parse(line) as [string, string, string | null]
      if (outcome === "ready") ready()
      else said.outcomes.set(outcome, (said.outcomes.get(outcome) ?? 0) + 1)
      if (outcome !== "published") continue
      const before = said.published.get(key)
      if (before && mediaId && before !== mediaId) said.changed.add(key)
      said.published.set(key, before ?? mediaId)
    }
  }
}

const journalled = (path: string, keys: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const layer = Layer.provide(journalAdapter.layer, database.layer({ path }))
    const journal = Context.get(yield* Layer.build(layer), PublishJournal)
    const entries = new Map<string, PublishEntry | undefined>()
    for (const key of keys) entries.set(key, (yield* journal.find(`post:${key}`))?.entry)
    return entries
  }).pipe(Effect.scoped, Effect.runPromise)

/** Posts whose container the journal does not name: nobody would find them again. */
const invisible = ({ posts, containers }: GraphModel, entries: ReadonlyMap<string, PublishEntry | undefined>) =>
  posts
    .filter(({ containerId }) => {
      const progress = entries.get(containers.get(containerId)?.parameters["caption"] ?? "")?.progress
      return progress === undefined || progress.state === "preparing" || progress.containerId !== containerId
    })
    .map(({ mediaId }) => mediaId)

/** Carousels whose children are not in the order of the post. */
const shuffled = ({ posts, containers }: GraphModel) =>
  posts
    .flatMap(({ containerId }) => containers.get(containerId)?.parameters["children"] ?? [])
    .filter((children) => {
      const files = children.split(",").map((id) => containers.get(id)?.parameters)
      return files.some((each, at) => !(each?.["image_url"] ?? each?.["video_url"])?.endsWith(`/${ITEMS[at]}`))
    })

/** Runs it; gives figures, and breaches by name, each of which must be empty. */
export const publishUnderKills = async (attack: Attack) => {
  const { speed, random, folder } = attack
  const keys = Array.from({ length: attack.keys }, (_, at) => `post-${at}`)
  const startMs = Date.now()
  const clock = makeFastClock(speed, startMs)
  // The worst graph: it publishes a container twice without a word, and tells late that it did.
  const roomy = { quotaTotal: 10 ** 6, containersPerDay: 10 ** 6 }
  const model = makeGraphModel({ ...roomy, republish: "duplicate", publishedLagMs: 20_000 })
  let faults = 0
  const decide = ({ operation }: ModelCall): Fault | undefined => {
    const known = FAULTS[operation]
    if (known === undefined || random() >= attack.faulty) return undefined
    faults++
    return known[Math.floor(random() * known.length)]
  }
  model.setFault(decide)
  const scope = Scope.makeUnsafe()
  const server = graphServer(model, () => clock.currentTimeMillisUnsafe())
  const { url } = await Effect.runPromise(Scope.provide(server, scope))
  const path = join(folder, "posts.sqlite")
  const said: Said = { published: new Map(), changed: new Set(), outcomes: new Map() }

  const start = (left: ReadonlyArray<string>) => {
    const words = [url, path, String(speed), String(startMs), ...left]
    const child = Bun.spawn([process.execPath, PROGRAM, ...words], { stdio: ["ignore", "pipe", "inherit"] })
    const { promise: ready, resolve } = Promise.withResolvers<void>()
    const ended = listen(child.stdout, said, resolve).then(() => child.exited)
    return { ready: Promise.race([ready, ended]), ended, kill: () => child.kill("SIGKILL") }
  }
  const unfinished = () => keys.filter((key) => !said.published.has(key))

  let kills = 0
  const killAgainAndAgain = async (): Promise<void> => {
    for (let left = unfinished(); left.length > 0; left = unfinished()) {
      const victim = start(left)
      await victim.ready
      await Promise.race([Bun.sleep(random() * attack.lifeMs), victim.ended])
      victim.kill()
      if ((await victim.ended) !== 0) kills++
      attack.onProgress?.(`${kills} kills, ${faults} faults, ${said.published.size} of ${keys.length} keys answered`)
    }
  }
  await Promise.all([killAgainAndAgain(), killAgainAndAgain()])
  const unseen = invisible(model, await journalled(path, keys))
  const early = new Map(said.published)
  // One undisturbed run: whatever was left behind comes to its end, and nothing is made a second time.
  model.setFault(() => undefined)
  await start(keys).ended
  const entries = await journalled(path, keys)
  await Effect.runPromise(Scope.close(scope, Exit.void))

  const posts = Map.groupBy(model.posts, (post) => model.containers.get(post.containerId)?.parameters["caption"] ?? "")
  return {
    figures: {
      seconds: Math.round((Date.now() - startMs) / 1000),
      keys: keys.length,
      kills,
      faults,
      calls: model.calls.length,
      posts: model.posts.length,
      outcomes: Object.fromEntries(said.outcomes),
    },
    breaches: {
      answeredAndLost: [...early.keys()].filter((key) => !posts.has(key)),
      anotherMediaId: [...said.changed],
      unknownMediaId: [...said.published].filter(
        ([key, mediaId]) => mediaId !== null && posts.get(key)?.[0]?.mediaId !== mediaId,
      ),
      secondPost: keys.filter((key) => (posts.get(key)?.length ?? 0) > 1),
      noPost: keys.filter((key) => !posts.has(key)),
      notInJournal: unseen,
      unfinished: keys.filter((key) => entries.get(key)?.progress.state !== "published"),
      childrenOutOfOrder: shuffled(model),
      defects: Array.from({ length: said.outcomes.get("DEFECT") ?? 0 }, () => "DEFECT"),
    },
  }
}
