import { memberPointer } from "../issue.ts"
import type { CarouselPost, Container, ProductTag, UserTag } from "./container.ts"
import type { MediaIssue } from "./errors.ts"
import { brokenUrlRule, isPrivateHost, urlValidForMs } from "./media_url.ts"
import type { MediaRules } from "./policy.ts"

/** What checks beyond the schemas found. */
export interface Findings {
  /** Broken rules: nothing may be sent. */
  readonly issues: ReadonlyArray<MediaIssue>
  /** Doubtful rules: the request is sent, and the caller is told. */
  readonly warnings: ReadonlyArray<MediaIssue>
}

/** Nothing was found. */
export const none: Findings = { issues: [], warnings: [] }

/** A presigned address that ends sooner brings a warning, ms. */
const PRESIGNED_MIN_MS = 3_600_000

const refused = (pointer: string, rule: string, message: string): Findings => ({
  issues: [{ pointer, rule, message }],
  warnings: [],
})
const doubtful = (pointer: string, rule: string, message: string): Findings => ({
  issues: [],
  warnings: [{ pointer, rule, message }],
})
const all = (findings: ReadonlyArray<Findings>): Findings => ({
  issues: findings.flatMap(({ issues }) => issues),
  warnings: findings.flatMap(({ warnings }) => warnings),
})

const urlFindings = (pointer: string, url: string, rules: MediaRules, nowMs: number): Findings => {
  const broken = brokenUrlRule(url, { allowHttp: rules.allowHttpMedia })
  if (broken !== undefined) return refused(pointer, broken.rule, broken.message)
  const validForMs = urlValidForMs(url, nowMs)
  return all([
    isPrivateHost(url) ? doubtful(pointer, "private-host", "names a host the platform can hardly reach") : none,
    validForMs !== undefined && validForMs < PRESIGNED_MIN_MS
      ? doubtful(pointer, "presigned-short", "is signed for less than an hour; videos are fetched later")
      : none,
  ])
}

const codePoints = (text: string): number => [...text].length
const matches = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0

// The platform does not document what it counts as a hashtag or a mention, so these counts only lead to a warning.
const HASHTAG = /(?<![\p{L}\p{N}_&])#[\p{L}\p{N}_]+/gu
const MENTION = /(?<![\w.])@[A-Za-z0-9._]{1,30}/g

const captionFindings = (text: string | undefined, at: string, { limits }: MediaRules): Findings => {
  const pointer = `${at}/caption`
  if (text === undefined) return none
  if (codePoints(text) > limits.captionMax)
    return refused(pointer, "caption-length", `must have at most ${limits.captionMax} characters`)
  return all([
    text.length > limits.captionMax
      ? doubtful(pointer, "caption-length", `may be counted as more than ${limits.captionMax} characters`)
      : none,
    matches(text, HASHTAG) > limits.hashtagsMax
      ? doubtful(pointer, "hashtags", `has more than ${limits.hashtagsMax} hashtags`)
      : none,
    matches(text, MENTION) > limits.mentionsMax
      ? doubtful(pointer, "mentions", `mentions more than ${limits.mentionsMax} accounts`)
      : none,
  ])
}

/** Places belong on pictures only: required there for people, advised for products, refused on videos. */
const placeFindings = (
  tags: ReadonlyArray<UserTag | ProductTag> | undefined,
  pointer: string,
  place: "required" | "advised" | "refused" | "free",
): Findings =>
  all(
    (tags ?? []).map(({ x, y }, index) => {
      const at = `${pointer}/${index}`
      const placed = x !== undefined && y !== undefined
      if (place === "required" && !placed) return refused(at, "tag-place", "needs x and y on a picture")
      if (place === "advised" && !placed) return doubtful(at, "tag-place", "may need x and y on a picture")
      if (place === "refused" && (x !== undefined || y !== undefined))
        return refused(at, "tag-place", "must not have x or y on a video")
      return none
    }),
  )

const productFindings = (
  tags: ReadonlyArray<ProductTag> | undefined,
  pointer: string,
  place: "advised" | "refused" | "free",
  { limits }: MediaRules,
): Findings => {
  const ids = (tags ?? []).map(({ productId }) => productId)
  return all([
    placeFindings(tags, pointer, place),
    ids.length > limits.productTagsMax
      ? refused(pointer, "product-tags", `must have at most ${limits.productTagsMax} products`)
      : none,
    new Set(ids).size < ids.length ? refused(pointer, "product-tags", "must name every product once") : none,
  ])
}

const collaboratorFindings = (
  names: ReadonlyArray<string> | undefined,
  at: string,
  { limits }: MediaRules,
): Findings =>
  (names?.length ?? 0) > limits.collaboratorsMax
    ? refused(`${at}/extended/collaborators`, "collaborators", `must be at most ${limits.collaboratorsMax}`)
    : none

const countFindings = (count: number, pointer: string, { limits }: MediaRules): Findings =>
  count < limits.childrenMin || count > limits.childrenMax
    ? refused(pointer, "children", `must be ${limits.childrenMin} to ${limits.childrenMax}`)
    : none

const repeated = (ids: ReadonlyArray<string>, pointer: string): Findings =>
  new Set(ids).size < ids.length ? doubtful(pointer, "children-repeated", "names a container twice") : none

/** Refuses texts with a lone surrogate: JavaScript can hold them, UTF-8 cannot. Goes through every member. */
const brokenText = (value: unknown, pointer: string): Findings => {
  if (typeof value === "string")
    return value.isWellFormed() ? none : refused(pointer, "text", "must be well-formed Unicode (a lone surrogate)")
  if (typeof value !== "object" || value === null) return none
  return all(Object.entries(value).map(([name, inner]) => brokenText(inner, memberPointer(pointer, name))))
}

type Media = Exclude<Container, { kind: "carousel" }> | Exclude<CarouselPost["items"][number], { kind: "existing" }>

const mediaFindings = (media: Media, at: string, rules: MediaRules, nowMs: number): Findings => {
  if (media.kind === "image") {
    const altText = media.extended?.altText
    return all([
      urlFindings(`${at}/imageUrl`, media.imageUrl, rules, nowMs),
      placeFindings(media.userTags, `${at}/userTags`, "required"),
      productFindings(media.productTags, `${at}/productTags`, "advised", rules),
      altText !== undefined && codePoints(altText) > rules.limits.altTextMax
        ? refused(`${at}/extended/altText`, "alt-text", `must have at most ${rules.limits.altTextMax} characters`)
        : none,
    ])
  }
  const tags = media.kind === "video" ? media.productTags : media.extended?.productTags
  return all([
    urlFindings(`${at}/videoUrl`, media.videoUrl, rules, nowMs),
    placeFindings(media.extended?.userTags, `${at}/extended/userTags`, "refused"),
    productFindings(
      tags,
      media.kind === "video" ? `${at}/productTags` : `${at}/extended/productTags`,
      "refused",
      rules,
    ),
    media.kind === "reel" && media.coverUrl !== undefined
      ? urlFindings(`${at}/coverUrl`, media.coverUrl, rules, nowMs)
      : none,
    media.kind === "reel" && media.coverUrl !== undefined && media.thumbOffset !== undefined
      ? doubtful(`${at}/thumbOffset`, "cover-wins", "is ignored by the platform when coverUrl is given")
      : none,
  ])
}

/** What the platform drops without a word, or refuses only when the post is published. */
const placementFindings = (container: Container): Findings => {
  if (container.kind === "video" && container.isCarouselItem !== true)
    return doubtful("/kind", "standalone-video", "is refused when published alone: make a reel with shareToFeed true")
  if ((container.kind === "image" || container.kind === "video") && container.isCarouselItem === true)
    return all(
      (["caption", "locationId"] as const)
        .filter((field) => container[field] !== undefined)
        .map((field) =>
          doubtful(`/${field}`, "ignored-on-item", "is ignored on a carousel item: set it on the carousel"),
        ),
    )
  return none
}

/**
 * Checks the rules a schema cannot say, of a container its schema accepts.
 *
 * @param nowMs the present, milliseconds since the epoch (presigned addresses end)
 */
export const containerFindings = (container: Container, rules: MediaRules, nowMs: number): Findings => {
  const text = brokenText(container, "")
  if (text.issues.length > 0) return text
  return all([
    captionFindings(container.caption, "", rules),
    placementFindings(container),
    container.kind === "video" ? none : collaboratorFindings(container.extended?.collaborators, "", rules),
    container.kind === "carousel"
      ? all([
          countFindings(container.children.length, "/children", rules),
          repeated(container.children, "/children"),
          productFindings(container.productTags, "/productTags", "free", rules),
        ])
      : mediaFindings(container, "", rules, nowMs),
  ])
}

/** Checks the same of a carousel described by its units, pointers of a unit starting at `/items/<index>`. */
export const carouselPostFindings = (post: CarouselPost, rules: MediaRules, nowMs: number): Findings => {
  const text = brokenText(post, "")
  if (text.issues.length > 0) return text
  const existing = post.items.flatMap((item) => (item.kind === "existing" ? [item.containerId] : []))
  return all([
    captionFindings(post.caption, "", rules),
    collaboratorFindings(post.extended?.collaborators, "", rules),
    countFindings(post.items.length, "/items", rules),
    repeated(existing, "/items"),
    productFindings(post.productTags, "/productTags", "free", rules),
    ...post.items.map((item, index) =>
      item.kind === "existing" ? none : mediaFindings(item, `/items/${index}`, rules, nowMs),
    ),
  ])
}
