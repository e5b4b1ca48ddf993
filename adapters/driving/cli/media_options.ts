import { readFileSync } from "node:fs"
import { Effect } from "effect"
import { Argument, type Command, Flag } from "effect/cli"
import { isObject } from "../../../domain/json_object.ts"
import { optional, optionalText, toggle, WrongUsage } from "./command.ts"

/** Digits become a number; anything else stays a text, which the domain refuses. */
const number = (text: string) => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text)

/** A flag that may be repeated; nothing when it is not there. */
const repeated = <A>(name: string, help: string, read: (text: string) => A) =>
  Flag.String(name).pipe(
    Flag.withDescription(`${help}; may be repeated`),
    Flag.map(read),
    Flag.atLeast(0),
    Flag.map((all) => (all.length === 0 ? undefined : all)),
  )

/** `name,x,y`; the place may be left out. */
const tag = (member: string) => (text: string) => {
  const [who, x, y] = text.split(",")
  return { [member]: who, ...(x === undefined ? {} : { x: number(x) }), ...(y === undefined ? {} : { y: number(y) }) }
}

/** `image=<url>`, `video=<url>` or `id=<container>`. */
const item = (text: string) => {
  const at = text.indexOf("=")
  const [kind, value] = [text.slice(0, at), text.slice(at + 1)]
  if (kind === "id") return { kind: "existing", containerId: value }
  return kind === "image" ? { kind, imageUrl: value } : { kind, videoUrl: value }
}

const url = Argument.String("url").pipe(
  Argument.withDescription("public address of the file, https"),
  Argument.withDefault(undefined),
)
const caption = optionalText("caption", "text of the post")
const locationId = optionalText("location-id", "id of a page with a location")
const isCarouselItem = toggle("carousel-item", "make it a unit of a carousel").pipe(Flag.map((set) => set || undefined))
const productTags = repeated("product-tag", "a product shown, id[,x,y]", tag("productId"))
const thumbOffset = optional(Flag.Int("thumb-offset"), "cover frame, milliseconds from the start")

/** What each creation takes on the command line, by the member of the HTTP body that it becomes. */
export const CREATIONS = {
  image: {
    imageUrl: url,
    caption,
    locationId,
    isCarouselItem,
    userTags: repeated("user-tag", "somebody shown, name,x,y with x and y from 0 to 1", tag("username")),
    productTags,
  },
  video: { videoUrl: url, caption, locationId, isCarouselItem, productTags, thumbOffset },
  reel: {
    videoUrl: url,
    caption,
    locationId,
    thumbOffset,
    coverUrl: optionalText("cover-url", "cover picture"),
    shareToFeed: optional(
      Flag.Literals("share-to-feed", ["true", "false"]).pipe(Flag.map((text) => text === "true")),
      "show it in the feed as well",
    ),
  },
  carousel: {
    items: repeated("item", "a unit in display order: image=<url>, video=<url> or id=<container>", item),
    caption,
    locationId,
    productTags,
  },
} as const satisfies Record<string, Command.Command.Config>

/** A kind of container that a command creates. */
export type Creation = keyof typeof CREATIONS

/** The kinds of container that commands create. */
export const KINDS = ["image", "video", "reel", "carousel"] as const satisfies ReadonlyArray<Creation>

const readFile = (path: string): Effect.Effect<object, WrongUsage> =>
  Effect.try({
    try: (): unknown => JSON.parse(readFileSync(path === "-" ? 0 : path, "utf8")),
    // The file's own text is not repeated: it may hold signed addresses.
    catch: () => new WrongUsage({ rule: "--from must name a readable JSON file, or - for standard input" }),
  }).pipe(
    Effect.flatMap((value) =>
      isObject(value)
        ? Effect.succeed(value)
        : Effect.fail(new WrongUsage({ rule: "--from must hold one JSON object" })),
    ),
  )

/**
 * The description of a creation: the members of the file, overridden by those of the command line. The domain checks it.
 *
 * @fails {WrongUsage} when the file cannot be read or holds no JSON object
 */
export const readCreation = Effect.fnUntraced(function* (kind: Creation, from: string | undefined, members: object) {
  const base = from === undefined ? {} : yield* readFile(from)
  const given = Object.entries(members).filter(([, value]) => value !== undefined)
  return { kind, ...base, ...Object.fromEntries(given) } as Readonly<Record<string, unknown>>
})
