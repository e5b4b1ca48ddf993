// `npm test`: runs every test that needs no other server, names what was skipped and why, and ends with
// "N passed, N failed, N skipped". Arguments are passed on to `bun test`.
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const folder = mkdtempSync(join(tmpdir(), "portolan-tests-"))
const report = join(folder, "junit.xml")
const run = Bun.spawn(
  [process.execPath, "test", "--reporter=junit", `--reporter-outfile=${report}`, ...process.argv.slice(2)],
  { stdio: ["ignore", "inherit", "inherit"], env: { ...process.env, FORCE_COLOR: process.stderr.isTTY ? "1" : "0" } },
)
const exitCode = await run.exited

const attribute = (tag: string, name: string): string =>
  (new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1] ?? "")
    .replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&")

const xml = readFileSync(report, "utf8")
rmSync(folder, { recursive: true })
const cases = [...xml.matchAll(/<testcase\b[^>]*?(?:\/>|>[\s\S]*?<\/testcase>)/g)].map(([tag]) => tag)
const skipped = cases.filter((tag) => tag.includes("<skipped"))
const failed = cases.filter((tag) => tag.includes("<failure") || tag.includes("<error"))
const print = (line: string) => process.stdout.write(`${line}\n`)

if (skipped.length > 0) print("\nSkipped:")
for (const tag of skipped) print(`  ${attribute(tag, "name")}`)
for (const tag of failed)
  print(`Failed: ${attribute(tag, "file")}: ${attribute(tag, "classname")} ${attribute(tag, "name")}`)
// A run that ends badly without a failed case (a crash, an error between tests) must not look green.
const unexplained = exitCode !== 0 && failed.length === 0 ? 1 : 0
if (unexplained) print(`Failed: the test run ended with exit code ${exitCode}`)
print(
  `${cases.length - skipped.length - failed.length} passed, ${failed.length + unexplained} failed, ${skipped.length} skipped`,
)
process.exitCode = failed.length + unexplained > 0 ? 1 : 0
