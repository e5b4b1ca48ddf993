// One run of `bun test`, counted from its own report.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Environment } from "./real_servers.ts"

const attribute = (tag: string, name: string): string =>
  (new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1] ?? "")
    .replaceAll("&quot;", '"')
    .replaceAll("&apos;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&")

const print = (line: string) => process.stdout.write(`${line}\n`)

/** How long a test may take, in milliseconds, on a machine as busy as a continuous integration server gets. */
const TIMEOUT_MS = 120_000

/** Concurrent tests at once: each of them starts processes, of some 100 MB each. */
const CONCURRENCY = 6

/**
 * Runs `bun test` with these arguments, names what was skipped and what failed, and ends with the line
 * "N passed, N failed, N skipped".
 *
 * @returns whether nothing failed
 */
export const runTests = async (args: ReadonlyArray<string>, environment: Environment): Promise<boolean> => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-tests-"))
  const report = join(folder, "junit.xml")
  const bounds = [`--timeout=${TIMEOUT_MS}`, `--max-concurrency=${CONCURRENCY}`]
  const options = [...bounds, "--reporter=junit", `--reporter-outfile=${report}`]
  const run = Bun.spawn([process.execPath, "test", ...options, ...args], {
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...environment, FORCE_COLOR: process.stderr.isTTY ? "1" : "0" },
  })
  const exitCode = await run.exited
  const xml = existsSync(report) ? readFileSync(report, "utf8") : ""
  rmSync(folder, { recursive: true })

  const cases = [...xml.matchAll(/<testcase\b[^>]*?(?:\/>|>[\s\S]*?<\/testcase>)/g)].map(([tag]) => tag)
  const skipped = cases.filter((tag) => tag.includes("<skipped"))
  const failed = cases.filter((tag) => tag.includes("<failure") || tag.includes("<error"))
  if (skipped.length > 0) print("\nSkipped:")
  for (const tag of skipped) print(`  ${attribute(tag, "name")}`)
  for (const tag of failed)
    print(`Failed: ${attribute(tag, "file")}: ${attribute(tag, "classname")} ${attribute(tag, "name")}`)
  // A run that ends badly without a failed case (a crash, an error between tests) must not look green.
  const unexplained = exitCode !== 0 && failed.length === 0 ? 1 : 0
  if (unexplained) print(`Failed: the test run ended with exit code ${exitCode}`)
  const failures = failed.length + unexplained
  print(`${cases.length - skipped.length - failed.length} passed, ${failures} failed, ${skipped.length} skipped`)
  return failures === 0
}
