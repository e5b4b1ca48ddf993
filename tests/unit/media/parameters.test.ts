// Request targets byte for byte. The expected strings were made by hand from the table of specification 2.3 and RFC 3986.
import { deepEqual, equal, ok } from "node:assert/strict"
import { describe, test } from "node:test"
import fc from "fast-check"
import type { Container } from "../../../domain/media/container.ts"
import { encodeQuery } from "../../../domain/media/encoding.ts"
import { PARAMETERS, parametersOf } from "../../../domain/media/parameters.ts"

const imageUrl = "https://cdn.example.com/a.jpg"
const A = "image_url=https%3A%2F%2Fcdn.example.com%2Fa.jpg"

const CASES: ReadonlyArray<readonly [name: string, container: Container, query: string]> = [
  ["1 an image", { kind: "image", imageUrl }, A],
  ["2 an image as carousel item", { kind: "image", imageUrl, isCarouselItem: true }, `${A}&is_carousel_item=true`],
  ["2 an image that is none", { kind: "image", imageUrl, isCarouselItem: false }, A],
  [
    "3 an image with everything",
    {
      kind: "image",
      imageUrl,
      caption: "Hi #sun @bob & 50%",
      locationId: "7640348500",
      userTags: [{ username: "bob", x: 0.5, y: 0.8 }],
      productTags: [{ productId: "3231775643511089", x: 0.5, y: 0.8 }],
    },
    `${A}&caption=Hi%20%23sun%20%40bob%20%26%2050%25&location_id=7640348500&user_tags=%5B%7B%22username%22%3A%22bob%22%2C%22x%22%3A0.5%2C%22y%22%3A0.8%7D%5D&product_tags=%5B%7B%22product_id%22%3A%223231775643511089%22%2C%22x%22%3A0.5%2C%22y%22%3A0.8%7D%5D`,
  ],
  [
    "4 a presigned address, encoded whole and once",
    { kind: "image", imageUrl: "https://s3.example.com/k.jpg?X-Amz-Signature=ab%2Bc&id=9" },
    "image_url=https%3A%2F%2Fs3.example.com%2Fk.jpg%3FX-Amz-Signature%3Dab%252Bc%26id%3D9",
  ],
  [
    "5 an address that tries to bring parameters",
    { kind: "image", imageUrl: "https://x.example/a.jpg&access_token=EVIL&caption=p" },
    "image_url=https%3A%2F%2Fx.example%2Fa.jpg%26access_token%3DEVIL%26caption%3Dp",
  ],
  [
    "6 a caption with marks, emoji and a line break",
    { kind: "image", imageUrl, caption: "It's 100% ✓ 😀\n(new) + a=b&c" },
    `${A}&caption=It%27s%20100%25%20%E2%9C%93%20%F0%9F%98%80%0A%28new%29%20%2B%20a%3Db%26c`,
  ],
  [
    "7 a video item whose cover is its first frame",
    { kind: "video", videoUrl: "https://cdn.example.com/v.mp4", isCarouselItem: true, thumbOffset: 0 },
    "media_type=VIDEO&video_url=https%3A%2F%2Fcdn.example.com%2Fv.mp4&is_carousel_item=true&thumb_offset=0",
  ],
  [
    "8 a video with a product, in the table's order whatever the order given",
    {
      thumbOffset: 1500,
      productTags: [{ productId: "9" }],
      locationId: "1",
      caption: "c",
      videoUrl: "https://cdn.example.com/v.mp4",
      kind: "video",
    },
    "media_type=VIDEO&video_url=https%3A%2F%2Fcdn.example.com%2Fv.mp4&caption=c&location_id=1&product_tags=%5B%7B%22product_id%22%3A%229%22%7D%5D&thumb_offset=1500",
  ],
  [
    "9 a reel kept out of the feed",
    {
      kind: "reel",
      videoUrl: "https://cdn.example.com/r.mp4",
      caption: "c",
      locationId: "1",
      thumbOffset: 1500,
      shareToFeed: false,
    },
    "media_type=REELS&video_url=https%3A%2F%2Fcdn.example.com%2Fr.mp4&caption=c&location_id=1&thumb_offset=1500&share_to_feed=false",
  ],
  [
    "10 a reel with a cover",
    {
      kind: "reel",
      videoUrl: "https://cdn.example.com/r.mp4",
      coverUrl: "https://cdn.example.com/c.jpg",
      shareToFeed: true,
    },
    "media_type=REELS&video_url=https%3A%2F%2Fcdn.example.com%2Fr.mp4&cover_url=https%3A%2F%2Fcdn.example.com%2Fc.jpg&share_to_feed=true",
  ],
  [
    "11 a carousel",
    {
      kind: "carousel",
      caption: "trip",
      locationId: "1",
      productTags: [{ productId: "9" }],
      children: ["17900000000000001", "17900000000000002"],
    },
    "media_type=CAROUSEL&caption=trip&location_id=1&product_tags=%5B%7B%22product_id%22%3A%229%22%7D%5D&children=17900000000000001%2C17900000000000002",
  ],
]

describe("parametersOf() and encodeQuery()", () => {
  for (const [name, container, query] of CASES) test(name, () => equal(encodeQuery(parametersOf(container)), query))

  test("12 ten children keep their 17 digits and their order", () => {
    const children = Array.from({ length: 10 }, (_, at) => `1790000000000000${at}`)
    equal(
      encodeQuery(parametersOf({ kind: "carousel", children })),
      `media_type=CAROUSEL&children=${children.join("%2C")}`,
    )
  })

  test("sends integers as plain digits", () => {
    const sent = (thumbOffset: number) =>
      Object.fromEntries(parametersOf({ kind: "reel", videoUrl: imageUrl, thumbOffset }))["thumb_offset"]
    deepEqual([sent(-0), sent(0), sent(Number.MAX_SAFE_INTEGER)], ["0", "0", "9007199254740991"])
  })

  test("drops the @ of a user name", () => {
    const sent = parametersOf({ kind: "image", imageUrl, userTags: [{ username: "@bob", x: 0, y: 1 }] })
    deepEqual(sent[1], ["user_tags", '[{"username":"bob","x":0,"y":1}]'])
  })

  test("sends what is beyond the specification only when it is given", () => {
    const sent = parametersOf({
      kind: "reel",
      videoUrl: imageUrl,
      extended: { audioName: "a", collaborators: ["@bob"], userTags: [{ username: "bob" }] },
    })
    deepEqual(sent.slice(2), [
      ["user_tags", '[{"username":"bob"}]'],
      ["collaborators", '["bob"]'],
      ["audio_name", "a"],
    ])
  })

  const SEED = new Set(PARAMETERS.filter((row) => row.extended === undefined).map((row) => row.name))
  const text = fc.string({ unit: "grapheme", minLength: 1 })
  const share = fc.constantFrom(0, 0.25, 1)
  const optional = <A>(arbitrary: fc.Arbitrary<A>) => fc.option(arbitrary, { nil: undefined })
  const container: fc.Arbitrary<Container> = fc.oneof(
    fc.record({
      kind: fc.constant("image" as const),
      imageUrl: text,
      caption: optional(text),
      isCarouselItem: optional(fc.boolean()),
      userTags: optional(fc.array(fc.record({ username: text, x: share, y: share }), { minLength: 1 })),
    }),
    fc.record({
      kind: fc.constant("reel" as const),
      videoUrl: text,
      caption: optional(text),
      thumbOffset: optional(fc.nat()),
      shareToFeed: optional(fc.boolean()),
    }),
    fc.record({ kind: fc.constant("carousel" as const), children: fc.array(text), caption: optional(text) }),
  ) as fc.Arbitrary<Container>

  test("16 never names a parameter outside the specification's table, and none twice", () =>
    fc.assert(
      fc.property(container, (each) => {
        const names = parametersOf(each).map(([name]) => name)
        ok(names.every((name) => SEED.has(name)))
        equal(new Set(names).size, names.length)
      }),
    ))

  test("17 is undone by decoding, and is ASCII", () =>
    fc.assert(
      fc.property(fc.array(fc.tuple(text, text)), (pairs) => {
        const query = encodeQuery(pairs)
        ok(/^[\x21-\x7e]*$/.test(query))
        const decoded = query === "" ? [] : query.split("&").map((pair) => pair.split("=").map(decodeURIComponent))
        deepEqual(decoded, pairs)
        // No parser along the way may read it otherwise; a form reader is the strictest.
        deepEqual([...new URLSearchParams(query)], pairs)
      }),
    ))
})
