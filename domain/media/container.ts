import { type Static, Type } from "typebox"

/** The four kinds of media container (specification 2.3). */
export type MediaKind = "image" | "video" | "reel" | "carousel"

const closed = { additionalProperties: false }
const ID = "^[0-9]{1,32}$"

const mediaUrl = (what: string) =>
  Type.String({ minLength: 1, maxLength: 4096, description: `Public address of ${what}` })
const share = Type.Number({ minimum: 0, maximum: 1 })
const caption = Type.Optional(Type.String({ minLength: 1, description: "Text of the post, at most 2200 characters" }))
const locationId = Type.Optional(Type.String({ pattern: ID, description: "Id of a page with a location" }))
const isCarouselItem = Type.Optional(Type.Boolean({ description: "Created as a unit of a carousel" }))
const thumbOffset = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    description: "Cover frame, milliseconds from the start",
  }),
)

/** Somebody in a picture. `x` and `y` are shares of its width and height, from the left and the top. */
const userTag = Type.Object(
  {
    username: Type.String({ pattern: "^@?[A-Za-z0-9._]{1,30}$" }),
    x: Type.Optional(share),
    y: Type.Optional(share),
  },
  closed,
)
const productTag = Type.Object(
  { productId: Type.String({ pattern: ID }), x: Type.Optional(share), y: Type.Optional(share) },
  closed,
)
const userTags = Type.Optional(Type.Array(userTag, { minItems: 1, description: "People shown" }))
const productTags = Type.Optional(Type.Array(productTag, { minItems: 1, description: "Products shown" }))

// Fields the platform knows beyond the table of specification 2.3. They are sent only when given, so a request without them is exactly
// the one that it shows.
const altText = Type.Optional(Type.String({ minLength: 1, description: "Alternative text" }))
const collaborators = Type.Optional(
  Type.Array(Type.String({ pattern: "^@?[A-Za-z0-9._]{1,30}$" }), { minItems: 1, description: "Invited co-authors" }),
)

const imageMedia = { imageUrl: mediaUrl("the picture, JPEG"), userTags, productTags }
const videoMedia = { videoUrl: mediaUrl("the video, MP4 or MOV"), productTags, thumbOffset }

/** One schema per kind. A reel has no `isCarouselItem`, and no kind has two media: the types rule such containers out. */
export const CONTAINER_SCHEMAS = {
  image: Type.Object(
    {
      kind: Type.Literal("image"),
      ...imageMedia,
      isCarouselItem,
      caption,
      locationId,
      extended: Type.Optional(Type.Object({ altText, collaborators }, closed)),
    },
    closed,
  ),
  video: Type.Object(
    {
      kind: Type.Literal("video"),
      ...videoMedia,
      isCarouselItem,
      caption,
      locationId,
      extended: Type.Optional(Type.Object({ userTags }, closed)),
    },
    closed,
  ),
  reel: Type.Object(
    {
      kind: Type.Literal("reel"),
      videoUrl: mediaUrl("the reel's video, MP4 or MOV"),
      caption,
      locationId,
      thumbOffset,
      coverUrl: Type.Optional(mediaUrl("the cover picture; wins over thumbOffset")),
      shareToFeed: Type.Optional(Type.Boolean({ description: "Show it in the feed as well" })),
      extended: Type.Optional(
        Type.Object(
          { userTags, productTags, collaborators, audioName: Type.Optional(Type.String({ minLength: 1 })) },
          closed,
        ),
      ),
    },
    closed,
  ),
  carousel: Type.Object(
    {
      kind: Type.Literal("carousel"),
      children: Type.Array(Type.String({ pattern: ID }), { description: "Container ids in display order" }),
      caption,
      locationId,
      productTags,
      extended: Type.Optional(Type.Object({ collaborators }, closed)),
    },
    closed,
  ),
} as const

/** Units of a carousel made in one go. They have no text and no place: the platform ignores those of a unit. */
export const ITEM_SCHEMAS = {
  image: Type.Object(
    { kind: Type.Literal("image"), ...imageMedia, extended: Type.Optional(Type.Object({ altText }, closed)) },
    closed,
  ),
  video: Type.Object(
    { kind: Type.Literal("video"), ...videoMedia, extended: Type.Optional(Type.Object({ userTags }, closed)) },
    closed,
  ),
  /** A unit created before, for instance by a carousel that came out incomplete. */
  existing: Type.Object({ kind: Type.Literal("existing"), containerId: Type.String({ pattern: ID }) }, closed),
} as const

/** A carousel described by its units, 2 to 10 by default. */
export const CAROUSEL_POST_SCHEMA = Type.Object(
  {
    items: Type.Array(Type.Union(Object.values(ITEM_SCHEMAS)), { description: "Units in display order" }),
    caption,
    locationId,
    productTags,
    extended: Type.Optional(Type.Object({ collaborators }, closed)),
  },
  closed,
)

/** Somebody in a picture or video. */
export type UserTag = Readonly<Static<typeof userTag>>
/** A product in a picture or video. */
export type ProductTag = Readonly<Static<typeof productTag>>

/** A picture. */
export type ImageContainer = Readonly<Static<typeof CONTAINER_SCHEMAS.image>>
/** A video, `media_type=VIDEO`. The platform publishes it as a unit of a carousel only. */
export type VideoContainer = Readonly<Static<typeof CONTAINER_SCHEMAS.video>>
/** A video that is published by itself, `media_type=REELS`. */
export type ReelContainer = Readonly<Static<typeof CONTAINER_SCHEMAS.reel>>
/** Containers that exist, shown together. */
export type CarouselContainer = Readonly<Static<typeof CONTAINER_SCHEMAS.carousel>>

/** What a container shall hold. */
export type Container = ImageContainer | VideoContainer | ReelContainer | CarouselContainer

type ImageItem = Readonly<Static<typeof ITEM_SCHEMAS.image>>
type VideoItem = Readonly<Static<typeof ITEM_SCHEMAS.video>>
type ExistingItem = Readonly<Static<typeof ITEM_SCHEMAS.existing>>

/** A unit of a carousel: an image, a video, or one that exists already; never a reel (specification 2.3). */
export type CarouselItem = ImageItem | VideoItem | ExistingItem

/** A carousel described by its units. */
export interface CarouselPost extends Readonly<Omit<Static<typeof CAROUSEL_POST_SCHEMA>, "items">> {
  readonly items: ReadonlyArray<CarouselItem>
}

/** Everything that can become one post. */
export type Post = ImageContainer | VideoContainer | ReelContainer | ({ readonly kind: "carousel" } & CarouselPost)

/** The addresses a container names. */
export const mediaUrlsOf = (container: Container): ReadonlyArray<string> =>
  Object.entries(container).flatMap(([name, value]) => (/Url$/.test(name) && typeof value === "string" ? [value] : []))
