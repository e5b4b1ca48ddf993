import { Effect } from "effect"
import type { Issue } from "../issue.ts"
import { isObject, type JsonObject } from "../json_object.ts"
import { ASSIGNED, assignedFields } from "./assigned_fields.ts"
import type { CollectionShape } from "./collection.ts"
import { InvalidRecord } from "./errors.ts"
import { cleanJson } from "./json_hygiene.ts"

/**
 * Applies a JSON Merge Patch: members of the patch take the place of those of the target, objects are merged member by
 * member, and `null` removes a member.
 *
 * @param target any JSON value; it is not changed
 * @param patch any JSON value of bounded depth; one that is no object takes the place of the target
 * @see RFC 7396 section 2
 */
export const mergePatch = (target: unknown, patch: unknown): unknown => {
  if (!isObject(patch)) return patch
  const merged: Record<string, unknown> = isObject(target) ? { ...target } : {}
  for (const [key, change] of Object.entries(patch)) {
    if (change === null) delete merged[key]
    else merged[key] = mergePatch(Object.hasOwn(merged, key) ? merged[key] : undefined, change)
  }
  return merged
}

/**
 * A clean copy of an untrusted merge patch. What it names is held against the collection's rules once it is applied.
 *
 * @fails {InvalidRecord} for what is no object, what no store may ever see, and for members that the server assigns, by JSON
 * Pointer
 */
export const readPatch = (collection: CollectionShape, input: unknown): Effect.Effect<JsonObject, InvalidRecord> => {
  const broken: Array<Issue> = []
  const patch = cleanJson(input, broken)
  if (!isObject(patch)) broken.push({ pointer: "", message: "must be an object" })
  else
    for (const name of assignedFields(collection))
      if (Object.hasOwn(patch, name)) broken.push({ pointer: `/${name}`, message: ASSIGNED })
  return isObject(patch) && broken.length === 0
    ? Effect.succeed(patch)
    : Effect.fail(new InvalidRecord({ collection: collection.name, issues: broken }))
}
