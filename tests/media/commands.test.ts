// The media commands, run as the command line runs them, over the scripted graph.
import { describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer, Redacted } from "effect"
import { Command } from "effect/cli"
import * as httpProbe from "../../adapters/driven/media_graph/http_probe.ts"
import { mediaCommands } from "../../adapters/driving/cli/media.ts"
import type { MediaTools } from "../../adapters/driving/cli/media_work.ts"
import { dryRun } from "../../bootstrap/media_dry_run.ts"
import { checkGraphSetup } from "../../bootstrap/media_layers.ts"
import { DEFAULT_MEDIA_RULES } from "../../domain/media/policy.ts"
import { runHere } from "../support/command_here.ts"
import { graphServer } from "../support/graph_server.ts"
import { ACCOUNT, failFirst, graphError, type MediaWorld, makeMediaWorld } from "../support/media_world.ts"
import { APP_SECRET, leakIn, SIGNED_URL, TOKEN } from "../support/secrets.ts"

const graphAt = (graphUrl: string) =>
  Effect.runSync(
    checkGraphSetup({
      graphUrl,
      apiVersion: "v25.0",
      accessToken: Effect.succeed(Redacted.make(TOKEN)),
      accountId: ACCOUNT,
      timeoutMs: 60_000,
      rules: DEFAULT_MEDIA_RULES,
      parameters: "query",
      token: "query",
      allowInsecure: false,
    }),
  )
const NOWHERE = graphAt("http://127.0.0.1:1")

const split = (words: string) => words.split(" ").filter((each) => each !== "")

const run = async (
  world: MediaWorld,
  words: string,
  extra: ReadonlyArray<string> = [],
  change: Partial<MediaTools> = {},
) => {
  const tools: MediaTools = {
    graph: Layer.succeedContext(world.services),
    journal: Layer.succeedContext(world.services),
    probe: httpProbe.layer(NOWHERE.connection),
    dryRun: (accountId, input, publishes) => dryRun(NOWHERE, accountId, input, publishes),
    accountId: ACCOUNT,
    appId: "123",
    appSecret: Redacted.make(APP_SECRET),
    ...change,
  }
  const root = Command.make("portolan").pipe(Command.withSubcommands([mediaCommands(Effect.succeed(tools))]))
  const { code, stdout: out, stderr: err } = await runHere(["media", ...split(words), ...extra], {}, root)
  return { code, out, err, json: () => JSON.parse(out) as unknown }
}

const URL = "https://cdn.example.com/a.jpg"

describe("portolan media", () => {
  test("creates an image from words, and prints its id alone", async () => {
    const world = makeMediaWorld()
    const words = `image ${URL} --location-id 7 --user-tag bob,0.5,0.8 --product-tag 9,0,1`
    expect(await run(world, words, ["--caption", "Hi #sun"])).toMatchObject({
      code: 0,
      out: "17900000000000001\n",
      err: "",
    })
    expect(world.model.calls[0]?.parameters).toEqual({
      image_url: URL,
      caption: "Hi #sun",
      location_id: "7",
      user_tags: '[{"username":"bob","x":0.5,"y":0.8}]',
      product_tags: '[{"product_id":"9","x":0,"y":1}]',
    })
  })

  test("creates a reel that stays out of the feed, with its first frame as cover", async () => {
    const world = makeMediaWorld()
    const { json } = await run(world, `reel ${URL} --share-to-feed false --thumb-offset 0 --account 42 --json`)
    expect(json()).toMatchObject({ containerId: "17900000000000001", kind: "reel" })
    expect(world.model.calls[0]).toMatchObject({
      subject: "42",
      parameters: { share_to_feed: "false", thumb_offset: "0" },
    })
  })

  test("takes the description from a file, for addresses that are secrets", async () => {
    const folder = mkdtempSync(join(tmpdir(), "portolan-command-"))
    const path = join(folder, "post.json")
    writeFileSync(path, JSON.stringify({ imageUrl: SIGNED_URL, caption: "c" }))
    const world = makeMediaWorld()
    expect((await run(world, `image --from ${path} --caption d`)).code).toBe(0)
    expect(world.model.calls[0]?.parameters).toEqual({ image_url: SIGNED_URL, caption: "d" })
    const dry = await run(world, `image --from ${path} --dry-run`)
    expect(dry.code).toBe(0)
    expect(dry.out).toContain("X-Amz-Signature%3D<redacted>%26id%3D9&caption=c&access_token=<redacted>\n")
    expect(leakIn(dry)).toBeUndefined()
    expect(dry.out).not.toContain("media_publish")
    const post = await run(world, `image --from ${path} --dry-run --publish-as k`)
    expect(post.out).toMatch(/POST \/v25\.0\/\w+\/media_publish\?creation_id=CONTAINER&access_token=<redacted>\n/)
    expect(world.calls()).toBe(1)
    writeFileSync(path, `{${SIGNED_URL}`)
    const broken = await run(world, `image --from ${path}`)
    expect(broken.code).toBe(2)
    expect(leakIn(broken)).toBeUndefined()
    expect((await run(world, "image --from /nowhere")).code).toBe(2)
    rmSync(folder, { recursive: true })
  })

  test("refuses bad input with exit 1, naming field and rule, and sends nothing", async () => {
    const world = makeMediaWorld()
    for (const [words, message] of [
      ["image http://a.example/x", /\/imageUrl must start with https/],
      ["image", /\/imageUrl is required/],
      [`image ${URL} --user-tag bob`, /\/userTags\/0 needs x and y/],
      [`reel ${URL} --thumb-offset -1`, /\/thumbOffset must be >= 0/],
      ["carousel --item image=https://a.example/1", /\/items must be 2 to 10/],
      ["publish ../1", /\/containerId/],
      ["publish 1 --kind video", /\/kind a video is published as a reel/],
    ] as const) {
      const { code, err } = await run(world, words)
      expect({ words, code }).toEqual({ words, code: 1 })
      expect(err).toMatch(message)
    }
    expect(world.calls()).toBe(0)
  })

  test("ends with 2 on wrong words", async () => {
    const world = makeMediaWorld()
    for (const [words, rule] of [
      [`image ${URL} ${URL}`, /argument/],
      ["image --unknown", /--unknown/],
      ["publish", /container/],
      ["publish 1 --kind story", /--kind/],
      ["status", /container/],
      [`reel ${URL} --thumb-offset soon`, /--thumb-offset/],
      [`reel ${URL} --share-to-feed maybe`, /--share-to-feed.*true/],
    ] as const) {
      const { code, out, err } = await run(world, words)
      expect({ words, code, out }).toEqual({ words, code: 2, out: "" })
      expect(err).toMatch(rule)
      expect(err).toEndWith(`Try: portolan media ${words.split(" ")[0]} --help\n`)
    }
    expect((await run(world, `image ${URL}`, [], { accountId: undefined })).err).toMatch(/GRAPH_ACCOUNT_ID/)
    expect((await run(world, "app-token", [], { appSecret: undefined })).code).toBe(2)
    expect(world.calls()).toBe(0)
  })

  test("makes a post of a key once, says so again, and shows its state", async () => {
    const world = makeMediaWorld({ processingMs: 0 })
    const first = await run(world, `reel ${URL} --publish-as summer-1`)
    expect(first).toMatchObject({ code: 0, out: `Published: ${world.model.posts[0]?.mediaId}\n` })
    expect(await run(world, `reel ${URL} --publish-as summer-1`)).toMatchObject({ out: first.out })
    expect(world.model.posts).toHaveLength(1)
    expect((await run(world, "status 17900000000000001")).out).toBe("published\n")
    expect((await run(world, "status 17900000000000001 --wait --json")).json()).toMatchObject({ state: "published" })
    expect((await run(world, "limit")).out).toBe("1 of 50 in 24 h\n")
  })

  test("creates, publishes and publishes again without a second post", async () => {
    const world = makeMediaWorld({ processingMs: 0 })
    await run(world, `carousel --item image=${URL} --item video=https://cdn.example.com/v.mp4 --caption trip`)
    for (let time = 0; time < 2; time++)
      expect((await run(world, "publish 17900000000000003")).out).toBe(`Published: ${world.model.posts[0]?.mediaId}\n`)
    expect(world.model.posts).toHaveLength(1)
  })

  test("reports an incomplete carousel as a table, and takes the created units again", async () => {
    const world = makeMediaWorld({ processingMs: 0 })
    failFirst(world.model, "create", 1, graphError(400, 36003, 2207009))
    const items = `--item image=${URL} --item image=${URL}?2`
    const { code, out } = await run(world, `carousel ${items}`)
    expect(code).toBe(1)
    expect(out).toMatch(/^ITEM {2}RESULT\n0 {5}Graph create failed .*\n1 {5}created: id=17900000000000001\n/)
    expect((await run(world, `carousel --item image=${URL} --item id=17900000000000001 --json`)).json()).toMatchObject({
      state: "created",
    })
  })

  test("prints an app token", async () => {
    expect((await run(makeMediaWorld(), "app-token")).out).toBe("123|model-app-token\n")
  })

  test("prints a table of what the graph answered to the probe, which published nothing", async () => {
    const world = makeMediaWorld({ processingMs: 0 })
    const asked = (words: string) =>
      Effect.gen(function* () {
        const server = yield* graphServer(world.model, Date.now)
        const probe = httpProbe.layer(graphAt(server.url).connection)
        return yield* Effect.promise(() => run(world, words, [], { probe }))
      }).pipe(Effect.scoped, Effect.runPromise)
    const { code, out } = await asked(`probe --image-url ${URL} --video-url ${URL}`)
    expect(code).toBe(0)
    expect(out.split("\n")[0]).toMatch(/^QUESTION +OUTCOME +ANSWER$/)
    expect(new Set(out.match(/^\d/gm))).toEqual(new Set(["1", "2", "3", "4", "5", "6", "7", "8", "9"]))
    expect(out).toMatch(/^1 children used by a second parent +accepted +200 Accepted id 17900000000000013$/m)
    expect(out).toMatch(/^2 a second publish .* not asked/m)
    expect(out).toMatch(/^4 eleven children +refused +400 InvalidInput code 100\/2207028: Wrong number/m)
    // Longer than our own limit, and sent all the same: what the server says is the answer.
    expect(out).toMatch(/^5 a caption of 2,200 emoji .* refused +431 Protocol$/m)
    expect(out).toMatch(/^6 a request target of 4000 bytes +refused/m)
    expect(out).toMatch(/^7 the state of two containers in one call +refused/m)
    expect(world.calls("publish")).toBe(0)
    expect(world.model.posts).toHaveLength(0)
    expect(leakIn(out)).toBeUndefined()
    const made = world.calls("create")
    expect(JSON.parse((await asked("probe --json")).out)).toContainEqual(
      expect.objectContaining({ outcome: "not asked", answer: "needs --image-url" }),
    )
    expect(world.calls("create")).toBe(made)
  })

  for (const word of ["image", "video", "reel", "carousel", "status", "publish", "limit", "app-token", "probe"])
    test(`${word} --help explains itself`, async () => {
      const world = makeMediaWorld()
      const { code, out } = await run(world, `${word} --help`)
      expect(code).toBe(0)
      expect(out).toContain(`\nUSAGE\n  portolan media ${word}`)
      expect(world.calls()).toBe(0)
    })
})
