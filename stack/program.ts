import { extname } from "node:path"
import { fileURLToPath, URL } from "node:url"
import { findBun } from "./find_bun.ts"

/** True in the single executable: the product and its runtime are one file, and no source lies beside it. */
export const isExecutable = (): boolean => process.versions.bun !== undefined && Bun.isStandaloneExecutable

/** The Bun that runs the stack's processes and builds its binary. That there is one was found out before. */
export const bunPath = (): string => findBun() ?? "bun"

/** Path of a module beside another; in the published package both are JavaScript. */
export const siblingOf = (moduleUrl: string, name: string): string =>
  fileURLToPath(new URL(`${name}${extname(new URL(moduleUrl).pathname)}`, moduleUrl))

/** First word of the command line by which the single executable starts a part of the stack; the part's name follows. */
export const PART_WORD = "stack-part"
