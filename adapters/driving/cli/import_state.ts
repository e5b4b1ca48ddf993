// How far an import of a file has come: a small file beside it, there until the import is done.
import { createHash } from "node:crypto"
import { closeSync, openSync, readFileSync, readSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { isObject } from "../../../domain/json_object.ts"
import { WrongUsage } from "./command.ts"

/** What is remembered of an import. */
export interface ImportState {
  /** Name of the import: with the place of a batch it makes the batch's key. */
  readonly key: string
  readonly url: string
  readonly collection: string
  /** Bytes, lines and records that are imported. */
  readonly bytes: number
  readonly lines: number
  readonly records: number
  /** Where the last batch that is imported begins, and a digest of its bytes: by them its input is known again. */
  readonly from: number
  readonly digest: string
}

const pathOf = (input: string): string => `${input}.import.json`

/** The digest of a part of the input, which is a batch and so no more than some megabytes. */
export const digestOf = (input: string, from: number, to: number): string => {
  const part = Buffer.alloc(to - from)
  const file = openSync(input, "r")
  try {
    return createHash("sha256")
      .update(part.subarray(0, readSync(file, part, 0, part.length, from)))
      .digest("base64url")
  } finally {
    closeSync(file)
  }
}

const isState = (value: unknown): value is ImportState =>
  isObject(value) &&
  ["key", "url", "collection", "digest"].every((name) => typeof value[name] === "string") &&
  ["bytes", "lines", "records", "from"].every((name) => Number.isSafeInteger(value[name]))

const read = (path: string): unknown => {
  try {
    return JSON.parse(readFileSync(path, "utf8"))
  } catch (failure) {
    if (failure instanceof Error && "code" in failure && failure.code === "ENOENT") return undefined
    return null
  }
}

/** The state of an import that begins. */
export const newState = (place: Pick<ImportState, "url" | "collection">): ImportState => ({
  key: crypto.randomUUID(),
  ...place,
  bytes: 0,
  lines: 0,
  records: 0,
  from: 0,
  digest: "",
})

/**
 * The state of an import that was broken off; that of a new one when there is none. What is not imported yet may have been
 * mended since.
 *
 * @throws {WrongUsage} when the state is of another input or another place: going on would import the wrong records
 */
export const openState = (input: string, place: Pick<ImportState, "url" | "collection">): ImportState => {
  const path = pathOf(input)
  const known = read(path)
  if (known === undefined) return newState(place)
  const forget = `remove ${path} to begin anew, which imports records again that are imported already`
  if (!isState(known)) throw new WrongUsage({ rule: `${path} is no state of an import; ${forget}` })
  if (known.bytes > 0 && digestOf(input, known.from, known.bytes) !== known.digest)
    throw new WrongUsage({ rule: `${input} has changed in the part of it that is imported; ${forget}` })
  if (known.url !== place.url || known.collection !== place.collection)
    throw new WrongUsage({
      rule: `The import of ${input} that was broken off went to '${known.collection}' at ${known.url}; ${forget}`,
    })
  return known
}

/** Remembers how far the import has come; a crash leaves the old state or the new one. */
export const saveState = (input: string, state: ImportState): void => {
  const path = pathOf(input)
  writeFileSync(`${path}.new`, `${JSON.stringify(state)}\n`, { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

/** The import is done. */
export const removeState = (input: string): void => rmSync(pathOf(input), { force: true })
