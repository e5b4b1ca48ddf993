// A restart survives `kill -9` (case 69): at fifty moments of its sequence, with the journal in SQLite.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Context, Effect, Layer } from "effect"
import * as journal from "../../adapters/driven/restart_journal/sqlite.ts"
import * as database from "../../adapters/driven/sqlite_database.ts"
import { createScheduler } from "../../bootstrap/scheduler.ts"
import { RestartJournal, type RestartRecord } from "../../domain/scheduler/restart_journal.ts"
import { type FakeAgent, startFakeAgent } from "../support/fake_agent.ts"

const MOMENTS = 50
const TOGETHER = 5
/** The sequence of a victim: a few milliseconds to write, 10 to answer, the pause, 10 to answer. */
const DELAY_MS = 60
const SPREAD_MS = 110
const LEASE_MS = 300
/** An agent that answers in 10 ms is done with every change long before. */
const [WRITE_TIMEOUT_MS, MARGIN_MS] = [700, 500]

const folder = mkdtempSync(join(tmpdir(), "portolan-crash-"))
let agent: FakeAgent
beforeAll(async () => {
  agent = await startFakeAgent({ delayMs: 10 })
})
afterAll(async () => {
  await agent.stop()
  rmSync(folder, { recursive: true })
})

const job = (ID: string) => ({
  ID,
  Name: ID,
  TaskGroups: [{ Name: "restreamer", Count: 1, Update: { MinHealthyTime: 0 } }],
})

const scalings = (jobId: string): ReadonlyArray<number> =>
  agent.requests
    .filter(({ method, target }) => method === "POST" && target.startsWith(`/v1/job/${jobId}/scale`))
    .map(({ body }) => (JSON.parse(body) as { readonly Count: number }).Count)

const spawnRestarter = async (path: string, ...jobIds: ReadonlyArray<string>) => {
  const child = Bun.spawn(
    [
      process.execPath,
      "tests/support/restarter.process.ts",
      agent.url,
      path,
      String(DELAY_MS),
      String(LEASE_MS),
      String(WRITE_TIMEOUT_MS),
      String(MARGIN_MS),
      ...jobIds,
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  )
  await child.stdout.getReader().read()
  return child
}

const recordsIn = (path: string): Promise<ReadonlyArray<RestartRecord>> =>
  Effect.runPromise(
    Layer.build(Layer.provide(journal.layer, database.layer({ path }))).pipe(
      Effect.flatMap((context) => Context.get(context, RestartJournal).list),
      Effect.scoped,
    ),
  )

/** What the agent may have seen when the process was killed with this journal, and what the next start adds. */
const explained = (left: RestartRecord | undefined, before: ReadonlyArray<number>): ReadonlyArray<number> => {
  // No record: it never began, or it was over.
  if (left === undefined) return before
  // A scale to 0 that never came is fenced off by a scale to the count that the job has.
  if (before.length === 0) return [1]
  // At 0 the job needs its second step; a scale to 1 that was seen before is found done.
  return before.at(-1) === 0 ? [...before, 1] : before
}

const untilEmpty = async (path: string): Promise<void> => {
  for (let tries = 0; tries < 300; tries++) {
    if ((await recordsIn(path)).length === 0) return
    await Bun.sleep(50)
  }
  throw new Error("The journal was not emptied")
}

describe("kill -9", () => {
  test("at fifty moments: after the next start the job is at 1, and the agent saw what the journal explains", async () => {
    await using setup = createScheduler({ baseUrl: agent.url })
    const seen = { nothing: 0, stopped: 0, over: 0 }
    const moment = async (index: number): Promise<void> => {
      const id = `job-${index}`
      const path = join(folder, `${id}.sqlite`)
      await setup.runJob(job(id))
      const victim = await spawnRestarter(path, id)
      // Every other moment is counted from the first scaling: some must lie between the two on a slow machine as well.
      const fromScaling = index % 2 === 1
      while (fromScaling && scalings(id).length === 0) await Bun.sleep(1)
      await Bun.sleep((index / MOMENTS) * (fromScaling ? DELAY_MS : SPREAD_MS))
      victim.kill("SIGKILL")
      await victim.exited
      // What was on its way when the process died still arrives.
      await Bun.sleep(50)
      const [left] = await recordsIn(path)
      const before = scalings(id)
      seen[before.length === 0 ? "nothing" : before.length === 1 ? "stopped" : "over"] += 1
      await using next = createScheduler({
        baseUrl: agent.url,
        journalPath: path,
        writeTimeoutMs: WRITE_TIMEOUT_MS,
        restart: { delayMs: DELAY_MS, leaseMs: LEASE_MS, marginMs: MARGIN_MS },
      })
      expect(await next.unfinishedRestarts()).toHaveLength(left === undefined ? 0 : 1)
      await untilEmpty(path)
      expect({ index, left, seen: scalings(id) }).toEqual({ index, left, seen: [...explained(left, before)] })
      expect((await setup.getDefinition(id)).TaskGroups?.[0]?.Count).toBe(1)
    }
    const queue = Array.from({ length: MOMENTS }, (_, index) => index)
    const worker = async (): Promise<void> => {
      for (let index = queue.shift(); index !== undefined; index = queue.shift()) await moment(index)
    }
    await Promise.all(Array.from({ length: TOGETHER }, worker))
    // Moments that all fell on the same side would prove nothing.
    expect(seen.stopped).toBeGreaterThan(5)
    expect(seen.over + seen.nothing).toBeGreaterThan(0)
  }, 120_000)

  test("two instances started together finish ten abandoned restarts once", async () => {
    await using setup = createScheduler({ baseUrl: agent.url })
    const path = join(folder, "together.sqlite")
    const ids = Array.from({ length: 10 }, (_, index) => `together-${index}`)
    await Promise.all(ids.map((id) => setup.runJob(job(id))))
    const victim = await spawnRestarter(path, ...ids)
    while (ids.some((id) => scalings(id).length === 0)) await Bun.sleep(2)
    await Bun.sleep(15)
    victim.kill("SIGKILL")
    await victim.exited
    await Bun.sleep(50)
    const before = ids.map(scalings)
    const instances = await Promise.all([spawnRestarter(path), spawnRestarter(path)])
    await untilEmpty(path)
    for (const each of instances) each.kill("SIGKILL")
    expect(ids.map(scalings)).toEqual(before.map((counts) => (counts.at(-1) === 0 ? [...counts, 1] : [...counts])))
    expect(before.some((counts) => counts.length === 1)).toBe(true)
  }, 60_000)
})
