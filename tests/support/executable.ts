// The single executable, built once for all suites of a test run.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const BUILD = join(import.meta.dir, "../../bootstrap/build_executable.ts")

let built: Promise<string> | undefined

const build = async (): Promise<string> => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-executable-"))
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, "portolan")
  const run = Bun.spawn([process.execPath, BUILD, path], { stdio: ["ignore", "pipe", "pipe"] })
  const [said, complaint] = await Promise.all([new Response(run.stdout).text(), new Response(run.stderr).text()])
  if ((await run.exited) !== 0) throw new Error(`the executable could not be built:\n${said}${complaint}`)
  return path
}

/** Path of the executable. It is alone in its folder. */
export const executable = (): Promise<string> => {
  built ??= build()
  return built
}
