import type { Header } from "../domain/gateway/verdict.ts"

/**
 * The header lines of a message of `node:http`, repeated ones and their order kept.
 *
 * @param raw `rawHeaders`: names and values in turn
 * @returns names in lower case with their values
 */
export const headerLines = (raw: ReadonlyArray<string>): ReadonlyArray<Header> =>
  Array.from({ length: raw.length / 2 }, (_, at) => [raw[2 * at]?.toLowerCase() ?? "", raw[2 * at + 1] ?? ""] as const)
