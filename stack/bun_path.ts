import { extname } from "node:path"
import { fileURLToPath, URL } from "node:url"
import { findBun } from "./find_bun.ts"

/** The Bun that runs the stack's processes and builds its binary. That there is one was found out before. */
export const bunPath = (): string => findBun() ?? "bun"

/** Path of a module beside another; in the published package both are JavaScript. */
export const siblingOf = (moduleUrl: string, name: string): string =>
  fileURLToPath(new URL(`${name}${extname(new URL(moduleUrl).pathname)}`, moduleUrl))
