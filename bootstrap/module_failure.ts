import { readFile } from "node:fs/promises"
import { isObject } from "../domain/json_object.ts"

const oneLine = (text: string): string => text.trim().replaceAll(/\s*\n\s*/g, "; ")

/** Line of the importing file in which the missing module is named; Bun tells the file only. */
const lineOf = async (importer: string, specifier: string): Promise<string> => {
  const text = await readFile(importer, "utf8").catch(() => "")
  const at = text.split("\n").findIndex((line) => line.includes(specifier))
  return at < 0 ? importer : `${importer}:${at + 1}`
}

/** The place in a stack that lies in the module, else the first one. */
const placeInStack = (stack: string, path: string): string | undefined => {
  const places = [...stack.matchAll(/(?:file:\/\/)?(\/[^\n()]+?:\d+):\d+\)?$/gm)].map(([, place = ""]) => place)
  return places.find((place) => place.startsWith(`${path}:`)) ?? places[0]
}

/**
 * Why a module cannot be loaded, with file and line where the runtime tells them, as one line.
 *
 * Bun rejects an import with a `BuildMessage` (a syntax error), a `ResolveMessage` (a missing import), an `AggregateError` of
 * several of them, or whatever the module threw.
 *
 * @param path of the module, absolute
 * @see https://bun.com/reference/globals/BuildMessage
 */
export const moduleFailure = async (failure: unknown, path: string): Promise<string> => {
  const [first] = failure instanceof AggregateError ? failure.errors : [failure]
  if (!isObject(first) || typeof first["message"] !== "string") return `${path}: it throws something that is no error`
  const { message, position, specifier, referrer, stack } = first
  const text = oneLine(message)
  if (isObject(position)) return `${position["file"]}:${position["line"]}: ${text}`
  if (typeof specifier === "string" && typeof referrer === "string" && referrer !== "")
    return `${await lineOf(referrer, specifier)}: ${text}`
  return `${(typeof stack === "string" ? placeInStack(stack, path) : undefined) ?? path}: ${text}`
}
