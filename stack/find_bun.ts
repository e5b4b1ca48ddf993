import { spawnSync } from "node:child_process"
import { existsSync, statSync } from "node:fs"
import { createRequire } from "node:module"
import { homedir } from "node:os"
import { join } from "node:path"

/** The oldest Bun that the product is tested with. */
const OLDEST = "1.4.5"

/** What to do where no Bun is found. */
export const BUN_MISSING: string = `Bun ${OLDEST} or newer is needed and was not found; install it with: npm install bun@1`

/** Smaller than this a file is no runtime but the stub that Bun's package holds until its install script has run, bytes. */
const RUNTIME_BYTES_MIN = 1_000_000

const PLATFORM = process.platform === "win32" ? "windows" : process.platform
const ARCHITECTURE = process.arch === "arm64" ? "aarch64" : process.arch

/** Where packages from npm hold the runtime: Bun's own, and the one for this machine that it copies from when it is installed. */
const PACKAGED = [
  "bun/bin/bun.exe",
  `@oven/bun-${PLATFORM}-${ARCHITECTURE}/bin/bun`,
  `@oven/bun-${PLATFORM}-${ARCHITECTURE}-musl/bin/bun`,
]

const { resolve } = createRequire(import.meta.url)

/** Where a file of an installed package may lie, seen from here: the nearest `node_modules` first. */
export const placesOf = (file: string): ReadonlyArray<string> =>
  (resolve.paths(file) ?? []).map((folder) => join(folder, file))

const packaged = (): string | undefined =>
  PACKAGED.flatMap(placesOf).find((path) => (statSync(path, { throwIfNoEntry: false })?.size ?? 0) >= RUNTIME_BYTES_MIN)

/** The runtime that a command starts: its path, unless it does not start or is too old. */
const installed = (command: string): string | undefined => {
  const { stdout } = spawnSync(command, ["--print", "process.versions.bun + ' ' + process.execPath"], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  })
  const [, version, path] = /^(\d+\.\d+\.\d+)\S* (.+)$/m.exec(stdout ?? "") ?? []
  return version === undefined || version.localeCompare(OLDEST, "en", { numeric: true }) < 0 ? undefined : path
}

/**
 * The Bun that runs the command line and the stack's processes, also when another runtime called: this process itself, else
 * the package `bun`, else the one on the PATH, else the one that Bun's own installer puts into the home folder.
 */
export const findBun = (): string | undefined => {
  if (process.versions.bun !== undefined) return process.execPath
  const own = join(homedir(), ".bun", "bin", "bun")
  return packaged() ?? installed("bun") ?? (existsSync(own) ? installed(own) : undefined)
}
