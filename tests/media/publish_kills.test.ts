// The media flow as processes over one SQLite journal; `bun tests/attacks/media_kills.ts` is the same at full size.
import { afterAll, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { publishUnderKills } from "../support/killed_publishers.ts"
import { seededRandom } from "../support/seeded_random.ts"

const folder = mkdtempSync(join(tmpdir(), "portolan-publish-kills-"))
afterAll(() => rmSync(folder, { recursive: true }))

test("two processes that are killed, under faults at every step: one post for each key, and every entry finished", async () => {
  const { random } = seededRandom()
  const attack = { keys: 4, speed: 60, lifeMs: 3_000, faulty: 0.3, random, folder }
  const { figures, breaches } = await publishUnderKills(attack)
  expect(Object.entries(breaches).filter(([, which]) => which.length > 0)).toEqual([])
  expect(figures.posts).toBe(attack.keys)
  expect(figures.faults).toBeGreaterThan(0)
})
