// How far an import of a file has come: a small file beside it, there until the import is done.
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { isObject } from "../../../domain/json_object.ts"
import { WrongUsage } from "./command.ts"

/** What is remembered of an import. */
export interface ImportState {
  /** Name of the import: with the place of a batch it makes the batch's key. */
  readonly key: string
  readonly url: string
  readonly collection: string
  /** Size of the input in bytes and the time of its last change, milliseconds since the epoch. */
  readonly size: number
  readonly changedAtMs: number
  /** Bytes and lines that are imported. */
  readonly bytes: number
  readonly lines: number
  readonly records: number
}

/** What an import is of and where it goes. */
export type ImportPlace = Pick<ImportState, "url" | "collection" | "size" | "changedAtMs">

const pathOf = (input: string): string => `${input}.import.json`

/** The size and the time of the last change of an input. */
export const inputOf = (input: string): Pick<ImportState, "size" | "changedAtMs"> => {
  const { size, mtimeMs } = statSync(input)
  return { size, changedAtMs: Math.trunc(mtimeMs) }
}

const isState = (value: unknown): value is ImportState =>
  isObject(value) &&
  ["key", "url", "collection"].every((name) => typeof value[name] === "string") &&
  ["size", "changedAtMs", "bytes", "lines", "records"].every((name) => Number.isSafeInteger(value[name]))

const read = (path: string): unknown => {
  try {
    return JSON.parse(readFileSync(path, "utf8"))
  } catch (failure) {
    if (failure instanceof Error && "code" in failure && failure.code === "ENOENT") return undefined
    return null
  }
}

/**
 * The state of an import that was broken off; that of a new one when there is none.
 *
 * @throws {WrongUsage} when the state is of another input or another place: going on would import the wrong records
 */
export const openState = (input: string, place: ImportPlace): ImportState => {
  const path = pathOf(input)
  const known = read(path)
  if (known === undefined) return { key: crypto.randomUUID(), ...place, bytes: 0, lines: 0, records: 0 }
  const forget = `remove ${path} to begin anew, which imports records again that are imported already`
  if (!isState(known)) throw new WrongUsage({ rule: `${path} is no state of an import; ${forget}` })
  if (known.size !== place.size || known.changedAtMs !== place.changedAtMs)
    throw new WrongUsage({ rule: `${input} has changed since its import was broken off; ${forget}` })
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
