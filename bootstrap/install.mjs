// Installs the locked dependencies (Bun among them) when they are missing or out of date.
// Plain Node without dependencies: it runs before anything else exists. Costs about 40 ms when there is nothing to do.
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

process.chdir(fileURLToPath(new URL("..", import.meta.url)))

const MARK = "node_modules/.portolan-installed"
const LOCK = ".portolan-installing"
const LOCK_ABANDONED_AFTER_MS = 300_000
const windows = process.platform === "win32"

const wanted = createHash("sha256")
  .update(readFileSync("package.json"))
  .update(existsSync("package-lock.json") ? readFileSync("package-lock.json") : "")
  .digest("hex")

const installed = () => existsSync(MARK) && readFileSync(MARK, "utf8") === wanted

const pause = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

const npm = (...args) =>
  spawnSync(windows ? "npm.cmd" : "npm", [...args, "--no-audit", "--no-fund", "--loglevel=error"], {
    stdio: ["ignore", 2, 2],
    shell: windows,
  }).status === 0

// Two npm scripts may start at once in a fresh clone: the folder is the lock, the second one waits for the first.
const takeLock = () => {
  for (;;) {
    try {
      mkdirSync(LOCK)
      return
    } catch (error) {
      if (error.code !== "EEXIST") throw error
      const startedAt = statSync(LOCK, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()
      if (Date.now() - startedAt > LOCK_ABANDONED_AFTER_MS) rmSync(LOCK, { recursive: true, force: true })
      pause(200)
    }
  }
}

if (!installed()) {
  takeLock()
  try {
    if (!installed()) {
      process.stderr.write("Installing dependencies (once)...\n")
      // Not `npm ci`: it refuses a lock without the platform packages that the registry it was made from did not have.
      if (!npm("install", "--no-save")) {
        process.stderr.write("The dependencies could not be installed; the lines above say why.\n")
        process.exitCode = 1
      } else {
        // npm may be told to skip install scripts; Bun's package then holds a stub in place of the runtime.
        const bun = spawnSync("node_modules/.bin/bun", ["--version"], { stdio: "ignore", shell: windows })
        if (bun.status !== 0)
          spawnSync(process.execPath, ["install.js"], { cwd: "node_modules/bun", stdio: ["ignore", 2, 2] })
        writeFileSync(MARK, wanted)
      }
    }
  } finally {
    rmSync(LOCK, { recursive: true, force: true })
  }
}
