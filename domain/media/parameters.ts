import type { Container, MediaKind, ProductTag, UserTag } from "./container.ts"
import type { Parameter } from "./encoding.ts"

/** Turns a checked field into the text that is sent; `undefined` leaves the parameter out. */
type Writer = (value: never) => string | undefined

interface Row {
  readonly name: string
  readonly field: string
  readonly kinds: ReadonlyArray<MediaKind>
  readonly write: Writer
  /** Read from the container's `extended` part: beyond the table of specification 2.3, never sent unless given. */
  readonly extended?: true
}

const asIs = (text: string): string => text
const onlyTrue = (flag: boolean): string | undefined => (flag ? "true" : undefined)
const flag = (value: boolean): string => (value ? "true" : "false")
/** Plain decimal digits; `-0` is `0`. */
const integer = (value: number): string => BigInt(value).toString()
const commaList = (values: ReadonlyArray<string>): string => values.join(",")
const withoutAt = (username: string): string => username.replace(/^@/, "")

// JSON.stringify leaves absent (undefined) members out and keeps the order written here.
const userTags = (tags: ReadonlyArray<UserTag>): string =>
  JSON.stringify(tags.map(({ username, x, y }) => ({ username: withoutAt(username), x, y })))
const productTags = (tags: ReadonlyArray<ProductTag>): string =>
  JSON.stringify(tags.map(({ productId, x, y }) => ({ product_id: productId, x, y })))
const usernames = (names: ReadonlyArray<string>): string => JSON.stringify(names.map(withoutAt))

const MEDIA_TYPES: Readonly<Record<MediaKind, string | undefined>> = {
  image: undefined,
  video: "VIDEO",
  reel: "REELS",
  // Specification 2.3 leaves it open; the platform's constant.
  carousel: "CAROUSEL",
}
const mediaType = (kind: MediaKind): string | undefined => MEDIA_TYPES[kind]

const EVERY: ReadonlyArray<MediaKind> = ["image", "video", "reel", "carousel"]

/** The table of specification 2.3, in its order. `access_token` follows last; the adapter that knows the token adds it. */
export const PARAMETERS: ReadonlyArray<Row> = [
  { name: "image_url", field: "imageUrl", kinds: ["image"], write: asIs },
  { name: "media_type", field: "kind", kinds: ["video", "reel", "carousel"], write: mediaType },
  { name: "video_url", field: "videoUrl", kinds: ["video", "reel"], write: asIs },
  { name: "is_carousel_item", field: "isCarouselItem", kinds: ["image", "video"], write: onlyTrue },
  { name: "caption", field: "caption", kinds: EVERY, write: asIs },
  { name: "location_id", field: "locationId", kinds: EVERY, write: asIs },
  { name: "user_tags", field: "userTags", kinds: ["image"], write: userTags },
  { name: "product_tags", field: "productTags", kinds: ["image", "video", "carousel"], write: productTags },
  { name: "thumb_offset", field: "thumbOffset", kinds: ["video", "reel"], write: integer },
  { name: "cover_url", field: "coverUrl", kinds: ["reel"], write: asIs },
  { name: "share_to_feed", field: "shareToFeed", kinds: ["reel"], write: flag },
  { name: "children", field: "children", kinds: ["carousel"], write: commaList },
  { name: "user_tags", field: "userTags", kinds: ["video", "reel"], write: userTags, extended: true },
  { name: "product_tags", field: "productTags", kinds: ["reel"], write: productTags, extended: true },
  { name: "alt_text", field: "altText", kinds: ["image"], write: asIs, extended: true },
  {
    name: "collaborators",
    field: "collaborators",
    kinds: ["image", "reel", "carousel"],
    write: usernames,
    extended: true,
  },
  { name: "audio_name", field: "audioName", kinds: ["reel"], write: asIs, extended: true },
]

const fieldOf = (source: object | undefined, field: string): unknown =>
  source === undefined ? undefined : (source as Readonly<Record<string, unknown>>)[field]

/** The parameters of a checked container, in the table's order, without the token. */
export const parametersOf = (container: Container): ReadonlyArray<Parameter> =>
  PARAMETERS.filter((row) => row.kinds.includes(container.kind)).flatMap((row) => {
    const value = fieldOf(row.extended ? container.extended : container, row.field)
    const text = value === undefined ? undefined : row.write(value as never)
    return text === undefined ? [] : [[row.name, text] as const]
  })
