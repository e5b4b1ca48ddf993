// The library face as a plain TypeScript user meets it, and the sweep: no secret in anything that comes out of it.
import { afterAll, describe, expect, test } from "bun:test"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import {
  createMedia,
  GraphFailure,
  InvalidMedia,
  InvalidMediaSetup,
  type Media,
  type MediaOptions,
} from "../../bootstrap/media.ts"
import { type GraphModel, type GraphModelOptions, makeGraphModel } from "../support/graph_model.ts"
import { graphServer } from "../support/graph_server.ts"
import { localServer } from "../support/local_server.ts"
import { ACCOUNT, graphError, image, video } from "../support/media_world.ts"
import { APP_SECRET, leakIn, SIGNED_URL, TATTLE, TOKEN } from "../support/secrets.ts"

const scope = Scope.makeUnsafe()
const folder = mkdtempSync(join(tmpdir(), "portolan-media-"))
afterAll(async () => {
  await Effect.runPromise(Scope.close(scope, Exit.void))
  rmSync(folder, { recursive: true })
})

const logged: Array<unknown> = []
const log = (...words: ReadonlyArray<unknown>) => void logged.push(words)
const logger = { debug: log, info: log, warn: log, error: log }

const mediaAt = (graphUrl: string, options: Partial<MediaOptions> = {}): Media =>
  createMedia({
    graphUrl,
    apiVersion: "v25.0",
    accessToken: TOKEN,
    accountId: ACCOUNT,
    logger,
    logLevel: "debug",
    ...options,
  })

const served = async (
  options: GraphModelOptions = { processingMs: 0 },
  more: Partial<MediaOptions> = {},
): Promise<{ readonly model: GraphModel; readonly media: Media; readonly url: string }> => {
  const model = makeGraphModel(options)
  const { url } = await Effect.runPromise(
    Scope.provide(
      graphServer(model, () => Date.now()),
      scope,
    ),
  )
  return { model, url, media: mediaAt(url, more) }
}

const failureOf = async (promise: Promise<unknown>): Promise<Error & { readonly code?: string }> => {
  const failure = await promise.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (!(failure instanceof Error)) throw new Error("It did not fail")
  return failure
}

describe("createMedia()", () => {
  test("creates the four kinds, waits, publishes once, and tells the limit", async () => {
    const { model, media } = await served()
    const picture = await media.createImage({ imageUrl: "https://cdn.example.com/a.jpg", caption: "c" })
    const items = [
      await media.createImage({ imageUrl: "https://cdn.example.com/1.jpg", isCarouselItem: true }),
      await media.createVideo({ videoUrl: "https://cdn.example.com/2.mp4", isCarouselItem: true }),
    ]
    const reel = await media.createReel({
      videoUrl: "https://cdn.example.com/r.mp4",
      shareToFeed: false,
      accountId: "42",
    })
    const carousel = await media.createCarousel({ children: items.map(({ containerId }) => containerId) })
    expect([picture, ...items, reel, carousel].map(({ kind }) => kind)).toEqual([
      "image",
      "image",
      "video",
      "reel",
      "carousel",
    ])
    expect(model.containers.get(reel.containerId)).toMatchObject({
      accountId: "42",
      parameters: { share_to_feed: "false" },
    })
    expect(await media.waitUntilReady(reel.containerId)).toMatchObject({ state: "ready" })
    const published = await media.publish({ containerId: carousel.containerId })
    expect(published.state).toBe("published")
    expect(await media.publish({ containerId: carousel.containerId })).toEqual(published)
    expect(await media.containerStatus(carousel.containerId)).toMatchObject({ state: "published" })
    expect(await media.publishingLimit()).toEqual({ used: 1, total: 50, periodS: 86_400 })
    expect(await media.publishingLimit({ accountId: "42" })).toMatchObject({ used: 0 })
    expect(await media.createCarouselFromItems({ items: [image(1), video(2)] })).toMatchObject({ state: "created" })
    expect(await media.requestAppToken({ appId: "123", appSecret: "s" })).toBe("123|model-app-token")
    expect(model.posts).toHaveLength(1)
    await media.close()
  })

  test("a post outlives the process that made it: another client with the same journal finds it", async () => {
    const journalPath = join(folder, "journal.sqlite")
    const { model, media, url } = await served({ processingMs: 0 }, { journalPath })
    const post = { kind: "reel", videoUrl: SIGNED_URL, caption: "c" } as const
    const first = await media.publishPost("summer-1", post)
    await media.close()
    const second = mediaAt(url, { journalPath })
    expect(await second.publishPost("summer-1", post)).toEqual(first)
    expect(model.posts).toHaveLength(1)
    await second.close()
    for (const file of readdirSync(folder)) expect(leakIn(readFileSync(join(folder, file), "latin1"))).toBeUndefined()
  })

  test("two clients with one journal and one key make one post", async () => {
    const journalPath = join(folder, "shared.sqlite")
    const { model, media, url } = await served({ processingMs: 0 }, { journalPath })
    const other = mediaAt(url, { journalPath })
    const post = { kind: "image", imageUrl: "https://cdn.example.com/a.jpg" } as const
    // Whoever is late waits for the other; a pause of five seconds would be a slow test, so it gives up at once.
    const results = await Promise.allSettled(
      [media, other].map((each) => each.publishPost("k", post, { waiting: { budgetMs: 0 } })),
    )
    expect(results.some(({ status }) => status === "fulfilled")).toBe(true)
    for (const result of results) if (result.status === "rejected") expect(result.reason.code).toBe("PUBLISH_BUSY")
    expect(model.posts).toHaveLength(1)
    await Promise.all([media.close(), other.close()])
  })

  const SETUPS: ReadonlyArray<readonly [option: string, options: Partial<MediaOptions>]> = [
    ["graphUrl", { graphUrl: "http://graph.example.com" }],
    ["graphUrl", { graphUrl: `https://u:${APP_SECRET}@graph.example.com` }],
    ["apiVersion", { apiVersion: "25.0" }],
    ["accountId", { accountId: "../1" }],
    ["accessToken", { accessToken: " " }],
    ["childConcurrency", { rules: { childConcurrency: 0 } }],
  ]
  for (const [option, options] of SETUPS)
    test(`43 refuses ${option} when it is made: ${Object.keys(options)}`, () => {
      let failure: unknown
      try {
        mediaAt("https://graph.example.com", options)
      } catch (error) {
        failure = error
      }
      expect(failure).toBeInstanceOf(InvalidMediaSetup)
      expect(failure).toMatchObject({ option, code: "INVALID_MEDIA_SETUP" })
      expect(leakIn(failure)).toBeUndefined()
    })

  test("43 asks a token function for every call, and sends nothing when it fails or gives a blank", async () => {
    const tokens = ["a-token", "b-token", "", undefined]
    const { model, media } = await served(
      {},
      {
        accessToken: () => {
          const token = tokens.shift()
          if (token === undefined) throw new Error(`cannot renew ${TOKEN}`)
          return token
        },
      },
    )
    for (let call = 0; call < 2; call++) await media.createImage({ imageUrl: "https://cdn.example.com/a.jpg" })
    for (let call = 0; call < 2; call++) {
      const failure = await failureOf(media.createImage({ imageUrl: "https://cdn.example.com/a.jpg" }))
      expect(failure).toMatchObject({ code: "GRAPH_TOKEN_INVALID", applied: "no" })
      expect(leakIn(failure)).toBeUndefined()
    }
    expect(model.calls).toHaveLength(2)
    await media.close()
  })

  test("names the field when no account is known", async () => {
    const media = createMedia({ graphUrl: "http://127.0.0.1:1", apiVersion: "v25.0", accessToken: TOKEN })
    const failure = await failureOf(media.createImage({ imageUrl: "https://cdn.example.com/a.jpg" }))
    expect(failure).toBeInstanceOf(InvalidMedia)
    expect(failure).toMatchObject({ issues: [{ pointer: "/accountId" }] })
    await media.close()
  })

  test("is silent without a logger, and unharmed by one that throws", async () => {
    const { media, url } = await served(
      {},
      {
        logger: {
          ...logger,
          debug: () => {
            throw new Error("full")
          },
        },
      },
    )
    await media.createImage({ imageUrl: "https://cdn.example.com/a.jpg" })
    await media.close()
    const silent = createMedia({ graphUrl: url, apiVersion: "v25.0", accessToken: TOKEN, accountId: ACCOUNT })
    await silent.createImage({ imageUrl: "https://cdn.example.com/a.jpg" })
    await silent.close()
  })
})

describe("the sweep: every method against a server that tells everything it was told", () => {
  const tattling = graphError(400, 190, 463, { message: TATTLE, error_user_msg: TATTLE, fbtrace_id: TOKEN })
  const METHODS: Readonly<Record<string, (media: Media) => Promise<unknown>>> = {
    createImage: (media) => media.createImage({ imageUrl: SIGNED_URL }),
    createVideo: (media) => media.createVideo({ videoUrl: SIGNED_URL }),
    createReel: (media) => media.createReel({ videoUrl: SIGNED_URL, coverUrl: SIGNED_URL }),
    createCarousel: (media) => media.createCarousel({ children: ["1", "2"] }),
    createCarouselFromItems: (media) =>
      media.createCarouselFromItems({ items: [{ kind: "image", imageUrl: SIGNED_URL }, image(2)] }),
    containerStatus: (media) => media.containerStatus("1"),
    waitUntilReady: (media) => media.waitUntilReady("1"),
    publish: (media) => media.publish({ containerId: "1" }),
    publishPost: (media) => media.publishPost("k", { kind: "image", imageUrl: SIGNED_URL }),
    publishingLimit: (media) => media.publishingLimit(),
    requestAppToken: (media) => media.requestAppToken({ appId: "1", appSecret: APP_SECRET }),
  }
  for (const [name, call] of Object.entries(METHODS))
    test(name, async () => {
      logged.length = 0
      const server = await Effect.runPromise(
        Scope.provide(
          localServer(() => ({ status: tattling.status, body: JSON.stringify(tattling.body) })),
          scope,
        ),
      )
      const media = mediaAt(server.url, { journalPath: join(folder, "swept.sqlite") })
      const failure = await failureOf(call(media))
      expect(leakIn(failure)).toBeUndefined()
      if (name !== "createCarouselFromItems") expect(failure).toBeInstanceOf(GraphFailure)
      expect(failure.message).toContain("<redacted>")
      await media.close()
      expect(logged.length).toBeGreaterThan(0)
      for (const line of logged) expect(leakIn(line)).toBeUndefined()
      for (const file of readdirSync(folder).filter((each) => each.startsWith("swept")))
        expect(leakIn(readFileSync(join(folder, file), "latin1"))).toBeUndefined()
    })

  test("94 the dry run shows the whole request without its secrets", async () => {
    const media = mediaAt("http://127.0.0.1:1")
    const plan = await media.plan({ kind: "reel", videoUrl: SIGNED_URL, coverUrl: SIGNED_URL, thumbOffset: 0 })
    expect(leakIn(plan)).toBeUndefined()
    expect(plan.requests[0]?.target).toMatch(/&thumb_offset=0&cover_url=.*&access_token=<redacted>$/)
    const form = mediaAt("http://127.0.0.1:1", { parameters: "form", token: "header" })
    const shown = await form.plan({ kind: "image", imageUrl: SIGNED_URL, caption: "界".repeat(2200) })
    expect(leakIn(shown)).toBeUndefined()
    expect(shown.requests[0]?.target).toBe(`/v25.0/${ACCOUNT}/media`)
    await Promise.all([media.close(), form.close()])
  })

  test("94 the dry run shows every request of a carousel, and warns of a long one once", async () => {
    const media = mediaAt("http://127.0.0.1:1", { accessToken: () => Promise.reject(new Error("away")) })
    const plan = await media.plan({
      kind: "carousel",
      caption: "c",
      items: [{ kind: "image", imageUrl: SIGNED_URL }, video(2)],
    })
    expect(plan.requests.map(({ method, target }) => `${method} ${target.split("?")[1]}`)).toEqual([
      "POST image_url=https%3A%2F%2Fs3.example.com%2Fk.jpg%3FX-Amz-Signature%3D<redacted>%26id%3D9&is_carousel_item=true&access_token=<redacted>",
      "POST media_type=VIDEO&video_url=https%3A%2F%2Fcdn.example.com%2F2.mp4&is_carousel_item=true&access_token=<redacted>",
      "POST media_type=CAROUSEL&caption=c&children=ITEM0%2CITEM1&access_token=<redacted>",
    ])
    expect(plan).toMatchObject({ containers: 3, warnings: [] })
    const post = { kind: "carousel", items: [image(1), video(2)] } as const
    const published = await media.plan(post, { publish: true })
    expect(published.containers).toBe(3)
    expect(published.requests.map(({ target }) => target).slice(3)).toEqual([
      `/v25.0/${ACCOUNT}/media_publish?creation_id=CONTAINER&access_token=<redacted>`,
    ])
    expect(await failureOf(media.plan(video(1), { publish: true }))).toMatchObject({ code: "INVALID_MEDIA" })
    const long = await media.plan({ ...image(1), caption: "é".repeat(2000) })
    expect(long.warnings.map(({ rule }) => rule)).toEqual(["long-target"])
    expect(long.requests[0]?.targetBytes).toBeGreaterThan(12_000)
    expect(await failureOf(media.plan({ ...image(1), caption: "界".repeat(2200) }))).toMatchObject({
      code: "REQUEST_TARGET_TOO_LONG",
    })
    await media.close()
  })

  test("whoever looks into the client itself sees none either", () => {
    expect(leakIn(mediaAt("http://127.0.0.1:1"))).toBeUndefined()
  })
})
