import { readFileSync } from "node:fs"
import type { ParseArgsOptionsConfig } from "node:util"
import { Effect } from "effect"
import { isObject } from "../../../domain/json_object.ts"
import { type Arguments, WrongUsage } from "./command.ts"

/** How one option becomes a member of what a creation is given. */
type Reader = (text: string) => unknown

interface Option {
  readonly field: string
  readonly read: Reader
  readonly help: string
  readonly multiple?: true
  readonly flag?: true
}

const asIs: Reader = (text) => text
/** Digits become a number; anything else stays a text, which the domain refuses. */
const number: Reader = (text) => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text)
const truth: Reader = (text) => (text === "true" ? true : text === "false" ? false : text)

/** `name,x,y`; the place may be left out. */
const tag =
  (name: string): Reader =>
  (text) => {
    const [who, x, y] = text.split(",")
    return { [name]: who, ...(x === undefined ? {} : { x: number(x) }), ...(y === undefined ? {} : { y: number(y) }) }
  }

/** `image=<url>`, `video=<url>` or `id=<container>`. */
const item: Reader = (text) => {
  const at = text.indexOf("=")
  const [kind, value] = [text.slice(0, at), text.slice(at + 1)]
  if (kind === "id") return { kind: "existing", containerId: value }
  return kind === "image" ? { kind, imageUrl: value } : { kind, videoUrl: value }
}

const caption: Option = { field: "caption", read: asIs, help: "text of the post" }
const location: Option = { field: "locationId", read: asIs, help: "id of a page with a location" }
const carouselItem: Option = { field: "isCarouselItem", read: truth, help: "make it a unit of a carousel", flag: true }
const products: Option = {
  field: "productTags",
  read: tag("productId"),
  help: "a product shown, id[,x,y]; may be repeated",
  multiple: true,
}
const thumb: Option = { field: "thumbOffset", read: number, help: "cover frame, milliseconds from the start" }

/** Options of each creation, by name; `source` is the first word of the command. */
export const CREATIONS = {
  image: {
    source: "imageUrl",
    options: {
      caption,
      "location-id": location,
      "carousel-item": carouselItem,
      "user-tag": {
        field: "userTags",
        read: tag("username"),
        help: "somebody shown, name,x,y with x and y from 0 to 1; may be repeated",
        multiple: true,
      },
      "product-tag": products,
    },
  },
  video: {
    source: "videoUrl",
    options: {
      caption,
      "location-id": location,
      "carousel-item": carouselItem,
      "product-tag": products,
      "thumb-offset": thumb,
    },
  },
  reel: {
    source: "videoUrl",
    options: {
      caption,
      "location-id": location,
      "thumb-offset": thumb,
      "cover-url": { field: "coverUrl", read: asIs, help: "cover picture" },
      "share-to-feed": { field: "shareToFeed", read: truth, help: "true or false: show it in the feed as well" },
    },
  },
  carousel: {
    source: undefined,
    options: {
      item: {
        field: "items",
        read: item,
        help: "a unit in display order: image=<url>, video=<url> or id=<container>; repeated",
        multiple: true,
      },
      caption,
      "location-id": location,
      "product-tag": products,
    },
  },
} as const satisfies Record<
  string,
  { readonly source: string | undefined; readonly options: Readonly<Record<string, Option>> }
>

/** A kind of container that a command creates. */
export type Creation = keyof typeof CREATIONS

const optionsOf = (kind: Creation): ReadonlyArray<readonly [string, Option]> => Object.entries(CREATIONS[kind].options)

/** The options as the command line's parser wants them. */
export const parserOptions = (kind: Creation): ParseArgsOptionsConfig =>
  Object.fromEntries(
    optionsOf(kind).map(([name, { multiple, flag }]) => [
      name,
      { type: flag ? "boolean" : "string", ...(multiple ? { multiple } : {}) } as const,
    ]),
  )

/** One help line per option. */
export const optionHelp = (kind: Creation): ReadonlyArray<string> =>
  optionsOf(kind).map(([name, { help }]) => `--${name}: ${help}`)

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
export const readCreation = Effect.fnUntraced(function* (kind: Creation, { positionals, options }: Arguments) {
  const base = typeof options["from"] === "string" ? yield* readFile(options["from"]) : {}
  const { source } = CREATIONS[kind]
  const url = positionals[0]
  const given = optionsOf(kind).flatMap(([name, { field, read }]) => {
    const value = options[name]
    if (value === undefined) return []
    if (Array.isArray(value)) return [[field, value.map((each) => read(String(each)))] as const]
    return [[field, read(String(value))] as const]
  })
  const first = source === undefined || url === undefined ? {} : { [source]: url }
  return { kind, ...base, ...first, ...Object.fromEntries(given) } as Readonly<Record<string, unknown>>
})
