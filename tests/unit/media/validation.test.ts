import { deepEqual, doesNotMatch, equal, ok } from "node:assert/strict"
import { describe } from "node:test"
import { Effect } from "effect"
import { DEFAULT_MEDIA_RULES, type MediaRules } from "../../../domain/media/policy.ts"
import { checkCarouselPost, checkContainer } from "../../../domain/media/validation.ts"
import { effectTest } from "../../support/effect_test.ts"

const imageUrl = "https://cdn.example.com/a.jpg"
const videoUrl = "https://cdn.example.com/v.mp4"
const image = { kind: "image", imageUrl }
const video = { kind: "video", videoUrl }
const reel = { kind: "reel", videoUrl }
const NOW = Date.UTC(2026, 0, 1)
const repeat = (text: string, times: number): string => Array.from({ length: times }, () => text).join(" ")
const tag = (more: object) => ({ ...image, userTags: [{ username: "bob", x: 0.5, y: 0.5, ...more }] })
const ids = (count: number) => Array.from({ length: count }, (_, at) => String(17_900_000 + at))

const rules = (change: Partial<MediaRules>): MediaRules => ({ ...DEFAULT_MEDIA_RULES, ...change })

type Refusal = readonly [name: string, input: unknown, pointer: string, rule: string]

const REFUSED: ReadonlyArray<Refusal> = [
  ["19 a reel as carousel item", { ...reel, isCarouselItem: true }, "/isCarouselItem", "reel-in-carousel"],
  ["20 one child", { kind: "carousel", children: ids(1) }, "/children", "children"],
  ["21 eleven children", { kind: "carousel", children: ids(11) }, "/children", "children"],
  ["22 no child", { kind: "carousel", children: [] }, "/children", "children"],
  ...["", "1a", "1,2", " 1"].map(
    (id): Refusal => [`23 child '${id}'`, { kind: "carousel", children: ["1", id] }, "/children/1", "pattern"],
  ),
  ["25 two media", { ...image, videoUrl }, "/videoUrl", "conflicting-media"],
  ["26 no medium", { kind: "image" }, "/imageUrl", "required"],
  ["26 a video without its medium", { kind: "video" }, "/videoUrl", "required"],
  ["27 a relative address", { ...image, imageUrl: "/a.jpg" }, "/imageUrl", "url-absolute"],
  ["27 an address without scheme", { ...image, imageUrl: "//cdn.example.com/a.jpg" }, "/imageUrl", "url-absolute"],
  ["28 plain http", { ...image, imageUrl: "http://cdn.example.com/a.jpg" }, "/imageUrl", "url-scheme"],
  ...["ftp://cdn.example.com/a", "data:image/jpeg;base64,AA", "javascript:alert(1)"].map(
    (url): Refusal => [`29 ${url.slice(0, 4)}`, { ...image, imageUrl: url }, "/imageUrl", "url-scheme"],
  ),
  ["30 credentials", { ...image, imageUrl: "https://u:p4ss@cdn.example.com/a" }, "/imageUrl", "url-credentials"],
  ["31 letters beyond ASCII", { ...image, imageUrl: "https://cdn.example.com/å.jpg" }, "/imageUrl", "url-ascii"],
  ["31 a blank", { ...image, imageUrl: "https://cdn.example.com/a b.jpg" }, "/imageUrl", "url-ascii"],
  ["31 a line break", { ...image, imageUrl: "https://cdn.example.com/a\n.jpg" }, "/imageUrl", "url-ascii"],
  [
    "31 a backslash",
    { ...image, imageUrl: "https://cdn.example.com\\@evil.example/a" },
    "/imageUrl",
    "url-credentials",
  ],
  ...["https:/cdn.example.com/a", "https:cdn.example.com/a", "https://1.2.3.999/a", "https://a.example:99999/a"].map(
    (url): Refusal => [`31 no host: ${url}`, { ...image, imageUrl: url }, "/imageUrl", "url-host"],
  ),
  ["31 no host", { ...image, imageUrl: "https:///a.jpg" }, "/imageUrl", "url-host"],
  ["31 a fragment", { ...image, imageUrl: `${imageUrl}#x` }, "/imageUrl", "url-fragment"],
  ["32 2,201 characters", { ...image, caption: "x".repeat(2201) }, "/caption", "caption-length"],
  ["34 a lone surrogate", { ...image, caption: "a\ud800" }, "/caption", "text"],
  ["34 a lone surrogate in an address", { ...image, imageUrl: `${imageUrl}?\udc00` }, "/imageUrl", "text"],
  ["35 an empty caption", { ...image, caption: "" }, "/caption", "minLength"],
  ...[-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 1e21, "0", null].map(
    (offset): Refusal => [`36 thumbOffset ${offset}`, { ...reel, thumbOffset: offset }, "/thumbOffset", "*"],
  ),
  ...[1.01, -0.1, Number.NaN, "0.5", null].map(
    (x): Refusal => [`37 a user tag at x ${x}`, tag({ x }), "/userTags/0/x", "*"],
  ),
  ["37 a user tag without a place", { ...image, userTags: [{ username: "bob" }] }, "/userTags/0", "tag-place"],
  ["37 a user tag without y", tag({ y: undefined }), "/userTags/0", "tag-place"],
  ...["", "a b", "@@bob", "b/b"].map(
    (username): Refusal => [`37 user name '${username}'`, tag({ username }), "/userTags/0/username", "pattern"],
  ),
  [
    "38 a product's place on a video",
    { ...video, productTags: [{ productId: "9", x: 0, y: 0 }] },
    "/productTags/0",
    "tag-place",
  ],
  [
    "38 a product twice",
    { ...video, productTags: [{ productId: "9" }, { productId: "9" }] },
    "/productTags",
    "product-tags",
  ],
  [
    "38 too many products",
    { ...video, productTags: ids(21).map((productId) => ({ productId })) },
    "/productTags",
    "product-tags",
  ],
  ["39 location 12a", { ...image, locationId: "12a" }, "/locationId", "pattern"],
  ["39 an empty location", { ...image, locationId: "" }, "/locationId", "pattern"],
  ["39 a location that is a number", { ...image, locationId: 12 }, "/locationId", "type"],
  ["an unknown kind", { kind: "story", imageUrl }, "/kind", "kind"],
  ["a kind from the prototype", { kind: "constructor", imageUrl }, "/kind", "kind"],
  ["no kind", { imageUrl }, "/kind", "kind"],
  ["a field of another kind", { ...image, thumbOffset: 1 }, "/thumbOffset", "unknown-field"],
  ["an unknown field", { ...image, "a/b": 1 }, "/a~1b", "unknown-field"],
  ["the token as a field", { ...image, accessToken: "x" }, "/accessToken", "unknown-field"],
  ["an array", [image], "", "type"],
  ["nothing", null, "", "type"],
]

const refusal = (input: unknown, change: Partial<MediaRules> = {}) =>
  Effect.flip(checkContainer(input, rules(change), NOW))
const warnings = (input: unknown, change: Partial<MediaRules> = {}) =>
  Effect.map(checkContainer(input, rules(change), NOW), (checked) => checked.warnings.map(({ rule }) => rule))

describe("checkContainer()", () => {
  for (const [name, input, pointer, rule] of REFUSED)
    effectTest(`refuses ${name}`, function* () {
      const { issues } = yield* refusal(input)
      equal(issues.length, 1, JSON.stringify(issues))
      equal(issues[0]?.pointer, pointer)
      if (rule !== "*") equal(issues[0]?.rule, rule)
    })

  effectTest("names every broken field at once, and no value", function* () {
    const input = { ...image, caption: 7, locationId: "s3cret!", userTags: [{ username: "no no", x: 2, y: 2 }] }
    const error = yield* refusal(input)
    deepEqual(error.issues.map(({ pointer }) => pointer).sort(), [
      "/caption",
      "/locationId",
      "/userTags/0/username",
      "/userTags/0/x",
      "/userTags/0/y",
    ])
    doesNotMatch(error.message, /s3cret|no no/)
  })

  effectTest("30 never shows user info, query or fragment of an address", function* () {
    for (const url of [
      "https://u:p4ss@cdn.example.com/a?sig=S3CR3T#S3CR3T",
      "https://cdn.example.com/å?sig=S3CR3T",
      "http://u:p4ss@cdn.example.com/a?sig=S3CR3T",
      "ftp://u:p4ss@cdn.example.com/?sig=S3CR3T",
    ])
      doesNotMatch((yield* refusal({ ...image, imageUrl: url })).message, /p4ss|S3CR3T/)
  })

  effectTest("31 shows the form a foreign address should have", function* () {
    const error = yield* refusal({ ...image, imageUrl: "https://cdn.example.com/å b.jpg?sig=x" })
    ok(error.message.endsWith("https://cdn.example.com/%C3%A5%20b.jpg"))
  })

  effectTest("28 accepts http when the policy does", function* () {
    const input = { ...image, imageUrl: "http://cdn.example.com/a.jpg" }
    equal((yield* checkContainer(input, rules({ allowHttpMedia: true }), NOW)).value, input)
    equal((yield* refusal({ ...image, imageUrl: "ftp://x/a" }, { allowHttpMedia: true })).issues[0]?.rule, "url-scheme")
  })

  const DOUBTFUL: ReadonlyArray<readonly [name: string, input: object, rule: string]> = [
    ["24 a child twice", { kind: "carousel", children: ["1", "1"] }, "children-repeated"],
    ["32 2,200 emoji", { ...image, caption: "😀".repeat(2200) }, "caption-length"],
    ["33 31 hashtags", { ...image, caption: repeat("#tag", 31) }, "hashtags"],
    ["33 21 mentions", { ...image, caption: repeat("@bob", 21) }, "mentions"],
    ["38 a product without a place on a picture", { ...image, productTags: [{ productId: "9" }] }, "tag-place"],
    ["10 cover and thumb", { ...reel, coverUrl: imageUrl, thumbOffset: 1 }, "cover-wins"],
    ["a video alone", video, "standalone-video"],
    ["a caption on an item", { ...image, isCarouselItem: true, caption: "c" }, "ignored-on-item"],
    ["a private host", { ...image, imageUrl: "https://10.0.0.7/a.jpg" }, "private-host"],
    ["a private host in another spelling", { ...image, imageUrl: "https://0x7f.1/a.jpg" }, "private-host"],
    ["an address signed for ten minutes", { ...image, imageUrl: `${imageUrl}?X-Amz-Expires=600` }, "presigned-short"],
    [
      "an address whose signature ends soon",
      { ...image, imageUrl: `${imageUrl}?Expires=${NOW / 1000 + 60}` },
      "presigned-short",
    ],
    ["one of the other cloud", { ...image, imageUrl: `${imageUrl}?se=2026-01-01T00%3A30%3A00Z` }, "presigned-short"],
  ]

  for (const [name, input, rule] of DOUBTFUL)
    effectTest(`warns about ${name}, and refuses it when strict`, function* () {
      deepEqual(yield* warnings(input), [rule])
      equal((yield* refusal(input, { strict: true })).issues[0]?.rule, rule)
    })

  effectTest("33 counts no hashtag inside a word, and no e-mail address", function* () {
    deepEqual(yield* warnings({ ...image, caption: `${repeat("a#b", 40)} ${repeat("a@b.de", 40)}` }), [])
    deepEqual(yield* warnings({ ...image, caption: `${repeat("#a", 30)} ${repeat("@b", 20)}` }), [])
  })

  effectTest("says nothing about a plain picture, a long signature and an item", function* () {
    deepEqual(yield* warnings(image), [])
    deepEqual(yield* warnings({ ...image, imageUrl: `${imageUrl}?X-Amz-Expires=86400` }), [])
    deepEqual(yield* warnings({ ...video, isCarouselItem: true }), [])
  })

  effectTest("takes its limits from the policy", function* () {
    const limits = { ...DEFAULT_MEDIA_RULES.limits, childrenMax: 20, captionMax: 3 }
    yield* checkContainer({ kind: "carousel", children: ids(20) }, rules({ limits }), NOW)
    equal((yield* refusal({ ...image, caption: "four" }, { limits })).issues[0]?.rule, "caption-length")
  })
})

describe("checkCarouselPost()", () => {
  const check = (input: unknown) => checkCarouselPost(input, DEFAULT_MEDIA_RULES, NOW)

  effectTest("19 names the index of a reel", function* () {
    const { issues } = yield* Effect.flip(check({ items: [image, reel, video] }))
    deepEqual(
      issues.map(({ pointer, rule }) => [pointer, rule]),
      [["/items/1/kind", "reel-in-carousel"]],
    )
  })

  effectTest("names every broken item at once", function* () {
    const items = [
      { ...image, caption: "c" },
      { kind: "existing", containerId: "x" },
      7,
      { ...video, videoUrl: "ftp://a/b" },
    ]
    const { issues } = yield* Effect.flip(check({ items, extra: 1 }))
    deepEqual(issues.map(({ pointer }) => pointer).sort(), [
      "/extra",
      "/items/0/caption",
      "/items/1/containerId",
      "/items/2",
    ])
  })

  for (const count of [0, 1, 11])
    effectTest(`refuses ${count} items`, function* () {
      const { issues } = yield* Effect.flip(check({ items: Array.from({ length: count }, () => image) }))
      deepEqual(
        issues.map(({ pointer, rule }) => [pointer, rule]),
        [["/items", "children"]],
      )
    })

  effectTest("refuses what has no items", function* () {
    for (const input of [{}, { items: "x" }, null, []]) ok((yield* Effect.flip(check(input))).issues.length > 0)
  })
})
