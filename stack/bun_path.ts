import { createRequire } from "node:module"
import { dirname, join } from "node:path"

/** The Bun that runs the stack's processes and builds its binary, also when another runtime called the library. */
export const bunPath = (): string =>
  process.versions.bun === undefined
    ? join(dirname(createRequire(import.meta.url).resolve("bun/package.json")), "bin", "bun.exe")
    : process.execPath
