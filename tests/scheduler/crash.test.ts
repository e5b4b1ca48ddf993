// A restart survives `kill -9` (case 69): at fifty moments of its sequence, with the journal in SQLite.
import { afterAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Context, Effect, Layer } from "effect"
import * as journal from "../../adapters/driven/restart_journal/sqlite.ts"
import * as database from "../../adapters/driven/sqlite_database.ts"
import { createScheduler } from "../../bootstrap/scheduler.ts"
import { RestartJournal, type RestartRecord } from "../../domain/scheduler/restart_journal.ts"
import { type FakeAgent, startFakeAgent } from "../support/fake_agent.ts"

const VICTIMS = 10
const TOGETHER = 5
/** Restarts of one victim. Each begins a little later than the one before: the kill meets each at another moment. */
const JOBS = 5
/** The sequence of a restart: the entry is written, 10 ms to answer, the pause, 10 ms to answer, the entry goes. */
const DELAY_MS = 60
const GAP_MS = 30
/** Long enough for a busy machine to look at what a victim left before the next start takes it over. */
const LEASE_MS = 1_500
/** An agent that answers in 10 ms is done with every change long before. */
const [WRITE_TIMEOUT_MS, MARGIN_MS] = [700, 500]

const folder = mkdtempSync(join(tmpdir(), "portolan-crash-"))
const agents: Array<FakeAgent> = []
afterAll(async () => {
  for (const agent of agents) await agent.stop()
  rmSync(folder, { recursive: true })
})

/** An agent of its own for each victim: once the victim is dead, everything on its connections came from it. */
const startAgent = async (ids: ReadonlyArray<string>) => {
  const agent = await startFakeAgent({ delayMs: 10 })
  agents.push(agent)
  const ask = (method: string, path: string, body = "") =>
    Effect.runPromise(agent.agent.handle({ method, path, query: new URLSearchParams(), body }))
  for (const ID of ids) {
    const TaskGroups = [{ Name: "restreamer", Count: 1, Update: { MinHealthyTime: 0 } }]
    await ask("POST", "/v1/jobs", JSON.stringify({ Job: { ID, Name: ID, TaskGroups } }))
  }
  return {
    ...agent,
    /** The counts a job was scaled to, in order. */
    scalings: (id: string): ReadonlyArray<number> =>
      agent.requests
        .filter(({ method, target }) => method === "POST" && target.startsWith(`/v1/job/${id}/scale`))
        .map(({ body }) => (JSON.parse(body) as { readonly Count: number }).Count),
    definition: async (id: string): Promise<unknown> => JSON.parse((await ask("GET", `/v1/job/${id}`)).body),
  }
}

const spawnRestarter = async (url: string, path: string, ids: ReadonlyArray<string> = [], gapMs = 0) => {
  const rules = [DELAY_MS, LEASE_MS, WRITE_TIMEOUT_MS, MARGIN_MS].map(String)
  const child = Bun.spawn([process.execPath, "tests/support/restarter.process.ts", url, path, ...rules, ...ids], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, RESTARTER_GAP_MS: String(gapMs) },
  })
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
const explained = (isListed: boolean, before: ReadonlyArray<number>): ReadonlyArray<number> => {
  // Not listed: it never began, or it was over.
  if (!isListed) return before
  // A scale to 0 that never came is ruled out by a scale to the count that the job has.
  if (before.length === 0) return [1]
  // At 0 the job needs its second step; a scale to 1 is found done.
  return before.at(-1) === 0 ? [...before, 1] : before
}

describe("kill -9", () => {
  test("at fifty moments: after the next start the job is at 1, and the agent saw what the journal explains", async () => {
    const seen = { nothing: 0, stopped: 0, over: 0 }
    const kill = async (index: number): Promise<void> => {
      const ids = Array.from({ length: JOBS }, (_, at) => `job-${index}-${at}`)
      const path = join(folder, `${index}.sqlite`)
      const agent = await startAgent(ids)
      const victim = await spawnRestarter(agent.url, path, ids, GAP_MS)
      // Counted from the start, or from a scaling of one of the jobs: no part is missed on a slow machine.
      const scalings = index < 2 ? 0 : 1 + (index % 2)
      while (agent.scalings(ids[index % JOBS] ?? "").length < scalings) await Bun.sleep(1)
      await Bun.sleep((index / VICTIMS) * DELAY_MS)
      victim.kill("SIGKILL")
      await victim.exited
      await agent.abandoned()
      const left = new Map((await recordsIn(path)).map((record) => [record.jobId, record]))
      const before = new Map(ids.map((id) => [id, agent.scalings(id)]))
      for (const { length } of before.values()) seen[length === 0 ? "nothing" : length === 1 ? "stopped" : "over"] += 1
      await using next = createScheduler({
        baseUrl: agent.url,
        journalPath: path,
        writeTimeoutMs: WRITE_TIMEOUT_MS,
        restart: { delayMs: DELAY_MS, leaseMs: LEASE_MS, marginMs: MARGIN_MS },
      })
      expect((await next.unfinishedRestarts()).map(({ jobId }) => jobId).sort()).toEqual([...left.keys()].sort())
      while ((await next.unfinishedRestarts()).length > 0) await Bun.sleep(50)
      for (const [id, counts] of before) {
        const wanted = { left: left.get(id), seen: explained(left.has(id), counts) }
        expect({ ...wanted, seen: agent.scalings(id) }).toEqual(wanted)
        expect(await agent.definition(id)).toMatchObject({ ID: id, TaskGroups: [{ Count: 1 }] })
      }
    }
    const queue = Array.from({ length: VICTIMS }, (_, index) => index)
    const worker = async (): Promise<void> => {
      for (let index = queue.shift(); index !== undefined; index = queue.shift()) await kill(index)
    }
    await Promise.all(Array.from({ length: TOGETHER }, worker))
    // Moments that all fell on the same side would prove nothing.
    expect(seen.stopped).toBeGreaterThan(5)
    expect(Math.min(seen.over, seen.nothing)).toBeGreaterThan(0)
  })

  test("two instances started together finish ten abandoned restarts once", async () => {
    const path = join(folder, "together.sqlite")
    const ids = Array.from({ length: 10 }, (_, index) => `together-${index}`)
    const agent = await startAgent(ids)
    const victim = await spawnRestarter(agent.url, path, ids)
    while (ids.some((id) => agent.scalings(id).length === 0)) await Bun.sleep(2)
    await Bun.sleep(15)
    victim.kill("SIGKILL")
    await victim.exited
    await agent.abandoned()
    const before = ids.map(agent.scalings)
    const instances = await Promise.all([spawnRestarter(agent.url, path), spawnRestarter(agent.url, path)])
    while ((await recordsIn(path)).length > 0) await Bun.sleep(50)
    for (const each of instances) each.kill("SIGKILL")
    expect(ids.map(agent.scalings)).toEqual(before.map((counts) => explained(true, counts)))
    expect(before.some((counts) => counts.length === 1)).toBe(true)
  })
})
