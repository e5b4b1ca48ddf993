import { Effect } from "effect"
import type { TSchema } from "typebox"
import { Compile, type Validator } from "typebox/schema"
import { memberPointer } from "../issue.ts"
import { isObject } from "../json_object.ts"
import {
  CAROUSEL_POST_SCHEMA,
  type CarouselPost,
  CONTAINER_SCHEMAS,
  type Container,
  ITEM_SCHEMAS,
} from "./container.ts"
import { InvalidMedia, type MediaIssue } from "./errors.ts"
import { carouselPostFindings, containerFindings, type Findings, none } from "./findings.ts"
import type { MediaRules } from "./policy.ts"

/** A request that breaks no rule. */
export interface Checked<A> {
  readonly value: A
  /** Rules that are doubtful; the request is sent all the same, and the caller is shown them. */
  readonly warnings: ReadonlyArray<MediaIssue>
}

type Compiled = Pick<Validator, "Check" | "Errors">

const compiled = <K extends string>(schemas: Readonly<Record<K, TSchema>>): Readonly<Record<string, Compiled>> =>
  Object.fromEntries(Object.entries<TSchema>(schemas).map(([kind, schema]) => [kind, Compile(schema)]))

const CONTAINERS = compiled(CONTAINER_SCHEMAS)
const ITEMS = compiled(ITEM_SCHEMAS)
// Items are checked one by one against the schema of their own kind: a union's errors name every kind at once.
const CAROUSEL_POST: Compiled = Compile(CAROUSEL_POST_SCHEMA)

const issue = (pointer: string, rule: string, message: string): MediaIssue => ({ pointer, rule, message })

/** Breaches of a schema. A name the schema does not know is reported where it stands, once. */
const shapeIssues = (schema: Compiled, input: unknown, at: string): ReadonlyArray<MediaIssue> =>
  schema.Check(input)
    ? []
    : schema.Errors(input)[1].flatMap((error): ReadonlyArray<MediaIssue> => {
        const pointer = `${at}${error.instancePath}`
        if (error.keyword === "boolean") return [issue(pointer, "unknown-field", "is not a field of this kind")]
        if (error.keyword === "additionalProperties") return []
        if (error.keyword === "required")
          return error.params.requiredProperties.map((name) =>
            issue(memberPointer(pointer, name), "required", "is required"),
          )
        return [issue(pointer, error.keyword, error.message)]
      })

/** Mistakes that deserve a better sentence than "unknown field". */
const kindIssues = (input: Readonly<Record<string, unknown>>, at: string): ReadonlyArray<MediaIssue> => {
  if (input["imageUrl"] !== undefined && input["videoUrl"] !== undefined)
    return [issue(`${at}/videoUrl`, "conflicting-media", "a container holds one medium: imageUrl or videoUrl")]
  if (input["kind"] === "reel" && input["isCarouselItem"] !== undefined)
    return [issue(`${at}/isCarouselItem`, "reel-in-carousel", "a reel cannot be a carousel item")]
  return []
}

const byKind = (schemas: Readonly<Record<string, Compiled>>, input: unknown, at: string): ReadonlyArray<MediaIssue> => {
  if (!isObject(input)) return [issue(at, "type", "must be an object")]
  const special = kindIssues(input, at)
  if (special.length > 0) return special
  const kind = input["kind"]
  const schema = typeof kind === "string" && Object.hasOwn(schemas, kind) ? schemas[kind] : undefined
  if (schema !== undefined) return shapeIssues(schema, input, at)
  if (kind === "reel") return [issue(`${at}/kind`, "reel-in-carousel", "a reel cannot be a carousel item")]
  return [issue(`${at}/kind`, "kind", `must be one of ${Object.keys(schemas).join(", ")}`)]
}

const settled = <A>(value: A, shape: ReadonlyArray<MediaIssue>, rest: Findings, rules: MediaRules) => {
  const issues = [...shape, ...rest.issues, ...(rules.strict ? rest.warnings : [])]
  return issues.length > 0
    ? Effect.fail(new InvalidMedia({ issues }))
    : Effect.succeed<Checked<A>>({ value, warnings: rest.warnings })
}

/**
 * Checks one container, also one from an untrusted caller.
 *
 * @param nowMs the present, milliseconds since the epoch (presigned addresses end)
 * @fails {InvalidMedia} naming every field and rule that is broken, never a value
 */
export const checkContainer = (
  input: unknown,
  rules: MediaRules,
  nowMs: number,
): Effect.Effect<Checked<Container>, InvalidMedia> => {
  const shape = byKind(CONTAINERS, input, "")
  // `shape` is empty exactly when the schema accepted the input, and only then is the cast used.
  const container = input as Container
  return settled(container, shape, shape.length > 0 ? none : containerFindings(container, rules, nowMs), rules)
}

/**
 * Checks a carousel described by its units; every unit is looked at, so that one answer names them all.
 *
 * @fails {InvalidMedia} as {@link checkContainer}, pointers starting at `/items/<index>`
 */
export const checkCarouselPost = (
  input: unknown,
  rules: MediaRules,
  nowMs: number,
): Effect.Effect<Checked<CarouselPost>, InvalidMedia> => {
  const items = isObject(input) && Array.isArray(input["items"]) ? input["items"] : []
  const shape = [
    ...shapeIssues(CAROUSEL_POST, input, "").filter(({ pointer }) => !pointer.startsWith("/items/")),
    ...items.flatMap((item, index) => byKind(ITEMS, item, `/items/${index}`)),
  ]
  const post = input as CarouselPost
  return settled(post, shape, shape.length > 0 ? none : carouselPostFindings(post, rules, nowMs), rules)
}
