// The media flow in two processes over one SQLite journal, killed at random moments under faults at every step:
// bun tests/attacks/media_kills.ts [keys]. 300 keys unless told otherwise; SEED=<number> repeats the choices of a run. The
// graph is scripted; the flow's clock runs 30 times as fast. Prints figures; exit 1 on a breach.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { publishUnderKills } from "../support/killed_publishers.ts"
import { seededRandom } from "../support/seeded_random.ts"

const SPEED = 30
const LIFE_MS = 2_500
const FAULTY = 0.3
const PROGRESS_EVERY = 20

const keys = Number(process.argv[2] ?? 300)
if (!(keys > 0)) throw new Error("media_kills.ts [keys]")
const { random, seed } = seededRandom()
const print = (line: string) => process.stdout.write(`${line}\n`)
print(`${keys} keys, two processes, SEED=${seed}`)

const folder = mkdtempSync(join(tmpdir(), "portolan-media-kills-"))
try {
  let told = 0
  const onProgress = (line: string) => {
    if (++told % PROGRESS_EVERY === 0) print(line)
  }
  const rules = { keys, speed: SPEED, lifeMs: LIFE_MS, faulty: FAULTY, random, folder, onProgress }
  const { figures, breaches } = await publishUnderKills(rules)
  for (const [what, which] of Object.entries(breaches)) {
    print(`${what}: ${which.length}${which.length > 0 ? ` (${which.slice(0, 10).join(" ")})` : ""}`)
    if (which.length > 0) process.exitCode = 1
  }
  print(JSON.stringify(figures))
} finally {
  rmSync(folder, { recursive: true })
}
