// "A restart is never lost" against a real agent, behind a proxy that delays, drops and answers for it; with processes that
// are killed and stopped. Twenty restarts a case, all at once.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createScheduler, type Scheduler, type SchedulerOptions } from "../../bootstrap/scheduler.ts"
import { type AgentProxy, FOREIGN_404, startAgentProxy } from "../support/agent_proxy.ts"
import { NOMAD_COMMAND, type NomadAgent, startNomad } from "../support/nomad_agent.ts"
import { NOMAD, presence, realSuite } from "../support/real_servers.ts"

const TIMES = 20
const PROCESSES = 5
/** How long the proxy keeps a slow scale to 0, milliseconds. */
const SLOW_MS = 3000
/** Short ones: what takes 75 s by itself takes 10 here. A lease and SLOW_MS fit into deadline and margin. */
const RULES = { delayMs: 500, leaseMs: 2000, marginMs: 4000 }
const WRITE_TIMEOUT_MS = 6000

setDefaultTimeout(180_000)

const definitionOf = (ID: string, count = 1, type: "batch" | "service" = "batch") => ({
  ID,
  Name: ID,
  // A batch job is scaled without a deployment.
  Type: type,
  Datacenters: ["*"],
  TaskGroups: [
    {
      Name: "restreamer",
      Count: count,
      ...(type === "service" ? { Update: { MinHealthyTime: 3_000_000_000 } } : {}),
      Tasks: [{ Name: "t", Driver: "mock_driver", Config: { run_for: "1h" }, Resources: { CPU: 2, MemoryMB: 10 } }],
    },
  ],
})

const suite = (start: () => Promise<Pick<NomadAgent, "url">>): void => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-restarts-"))
  const children: Array<Bun.Subprocess> = []
  const made: Array<string> = []
  let agentUrl: string
  let proxy: AgentProxy
  let setup: Scheduler

  beforeAll(async () => {
    agentUrl = (await start()).url
    proxy = await startAgentProxy(agentUrl)
    setup = createScheduler({ baseUrl: agentUrl })
  }, 120_000)
  afterAll(async () => {
    for (const child of children) child.kill("SIGKILL")
    // The agent may be everybody's. One after the other: it refuses more than 100 connections. An id that ends like a route
    // cannot be deleted (405); such a job is registered once more, as stopped.
    for (const id of made)
      if (id.includes("/")) await setup.runJob({ ...definitionOf(id, 1, "batch"), Stop: true })
      else await setup.deleteJob(id, "", true)
    await setup.close()
    await proxy.stop()
    rmSync(folder, { recursive: true })
  }, 60_000)

  let cases = 0
  /** Twenty jobs of a new case, at 1; their ids end in the endings in turn. */
  const newJobs = async (type: "batch" | "service" = "batch", endings = [""]): Promise<ReadonlyArray<string>> => {
    const name = `restart-${Date.now().toString(36)}-${++cases}`
    const ids = Array.from({ length: TIMES }, (_, index) => `${name}-${index}${endings[index % endings.length]}`)
    made.push(...ids)
    await Promise.all(ids.map((id) => setup.runJob(definitionOf(id, 1, type))))
    if (type === "service") await Promise.all(ids.map((id) => deployed(id)))
    return ids
  }

  const ask = async (path: string): Promise<unknown> => (await fetch(agentUrl + path)).json()
  const countOf = async (id: string): Promise<number | undefined> =>
    ((await ask(`/v1/job/${encodeURIComponent(id)}/scale`)) as { TaskGroups: Record<string, { Desired: number }> })
      .TaskGroups["restreamer"]?.Desired
  const deployed = async (id: string): Promise<void> => {
    while (((await ask(`/v1/job/${id}/deployment`)) as { Status?: string } | null)?.Status !== "successful")
      await Bun.sleep(200)
  }
  const countsOf = async (ids: ReadonlyArray<string>) => [...new Set(await Promise.all(ids.map(countOf)))]

  const client = (journal: string | undefined, options: Partial<SchedulerOptions> = {}): Scheduler =>
    createScheduler({
      baseUrl: proxy.url,
      writeTimeoutMs: WRITE_TIMEOUT_MS,
      restart: RULES,
      ...(journal === undefined ? {} : { journalPath: join(folder, journal) }),
      ...options,
    })

  /** A process that restarts some of the jobs, and what it printed. */
  const spawnRestarter = (journal: string, ids: ReadonlyArray<string>, ...options: ReadonlyArray<string>) => {
    const rules = [RULES.delayMs, RULES.leaseMs, WRITE_TIMEOUT_MS, RULES.marginMs].map(String)
    const program = [...options, "tests/support/restarter.process.ts"]
    const child = Bun.spawn([process.execPath, ...program, proxy.url, join(folder, journal), ...rules, ...ids], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, STOP_BEFORE: String(ids.length) },
    })
    children.push(child)
    return { child, output: new Response(child.stdout).text() }
  }
  /** The same, once its scalings to 0 are on their way. */
  const spawnSending = async (journal: string, ids: ReadonlyArray<string>) => {
    const restarter = spawnRestarter(journal, ids)
    await sent(ids)
    return restarter
  }
  const sent = async (ids: ReadonlyArray<string>): Promise<void> => {
    while (ids.some((id) => proxy.seen("POST", id) === 0)) await Bun.sleep(5)
  }
  /** The jobs, a few for each process. */
  const shares = (ids: ReadonlyArray<string>) =>
    Array.from({ length: PROCESSES }, (_, index) => ids.filter((_id, each) => each % PROCESSES === index))

  /** Whatever is at 0 has to be listed. */
  const expectNoneLost = async (listing: Scheduler, ids: ReadonlyArray<string>): Promise<void> => {
    const lost: Array<string> = []
    for (const id of ids) {
      if ((await countOf(id)) !== 0) continue
      const isListed = (await listing.unfinishedRestarts()).some(({ jobId }) => jobId === id)
      if (!isListed && (await countOf(id)) === 0) lost.push(id)
    }
    expect(lost).toEqual([])
  }
  const untilOver = async (listing: Scheduler, ids: ReadonlyArray<string>): Promise<void> => {
    for (let left = 1; left > 0; ) {
      await expectNoneLost(listing, ids)
      await Bun.sleep(100)
      left = (await listing.unfinishedRestarts()).filter(({ jobId }) => ids.includes(jobId)).length
    }
  }

  test("D1: the scale to 0 is slow, and its owner is killed", async () => {
    const ids = await newJobs()
    for (const id of ids) proxy.treat("POST", id, { delayMs: SLOW_MS })
    await using next = client("killed.sqlite")
    const killed = shares(ids).map(async (share, index) => {
      const { child } = await spawnSending("killed.sqlite", share)
      await Bun.sleep((index * SLOW_MS) / PROCESSES)
      child.kill("SIGKILL")
      await child.exited
    })
    await Promise.all(killed)
    await untilOver(next, ids)
    expect(await countsOf(ids)).toEqual([1])
    // Every 0 arrived, and was undone.
    expect(ids.filter((id) => proxy.seen("POST", id) < 2)).toEqual([])
  })

  test("D1: the scale to 0 is slow, and its owner is stopped for longer than its lease", async () => {
    const ids = await newJobs()
    for (const id of ids) proxy.treat("POST", id, { delayMs: SLOW_MS })
    await using next = client("stopped.sqlite")
    const stopped = shares(ids).map(async (share, index) => {
      const { child, output } = await spawnSending("stopped.sqlite", share)
      child.kill("SIGSTOP")
      // From right after the lease to long after the other has closed the entries.
      await Bun.sleep(RULES.leaseMs + 1000 + index * 4000)
      child.kill("SIGCONT")
      return { child, output }
    })
    let areAwake = false
    const woken = Promise.all(stopped).finally(() => {
      areAwake = true
    })
    while (!areAwake) {
      await expectNoneLost(next, ids)
      await Bun.sleep(100)
    }
    await Bun.sleep(3000)
    await untilOver(next, ids)
    expect(await countsOf(ids)).toEqual([1])
    for (const { child } of await woken) child.kill("SIGKILL")
    const answers = (await Promise.all((await woken).map(({ output }) => output))).join("")
    expect(answers.match(/^\S+ (accepted|SCHEDULER_[A-Z_]+)$/gm)).toHaveLength(TIMES)
  })

  /** Twenty restarts whose processes stop between the entry in the journal and the scale to 0, until all entries are closed. */
  const stoppedBeforeSending = async (journal: string) => {
    const ids = await newJobs()
    // It asks the agent itself: what the proxy sees comes from the stopped processes.
    const next = client(journal, { baseUrl: agentUrl })
    const stopped = shares(ids).map((share) =>
      spawnRestarter(journal, share, "--preload", "./tests/support/stop_before_scaling.process.ts"),
    )
    while ((await next.unfinishedRestarts()).length < TIMES) await Bun.sleep(20)
    await untilOver(next, ids)
    expect(ids.filter((id) => proxy.seen("POST", id) > 0)).toEqual([])
    return { ids, next, stopped }
  }

  test("the owner is stopped before it sends the scale to 0, and killed as it wakes", async () => {
    const { ids, next, stopped } = await stoppedBeforeSending("fenced.sqlite")
    for (const id of ids) proxy.treat("POST", id, { delayMs: 1000 })
    for (const { child } of stopped) child.kill("SIGCONT")
    await sent(ids)
    for (const { child } of stopped) child.kill("SIGKILL")
    // Every late scale to 0 has reached the agent by then.
    await Bun.sleep(3000)
    // A process that had the time to hear of its deadline opened its entry again before it was killed.
    await untilOver(next, ids)
    expect(await countsOf(ids)).toEqual([1])
    await next.close()
  })

  test("the owner is stopped before it sends the scale to 0, and goes on", async () => {
    const { ids, next, stopped } = await stoppedBeforeSending("resumed.sqlite")
    for (const { child } of stopped) child.kill("SIGCONT")
    await sent(ids)
    // Its deadline passed while it was stopped: it watches what became of the scale to 0, which is not sent again.
    await Bun.sleep(2000)
    await untilOver(next, ids)
    expect(await countsOf(ids)).toEqual([1])
    for (const { child } of stopped) child.kill("SIGKILL")
    const answers = (await Promise.all(stopped.map(({ output }) => output))).join("")
    expect(answers.match(/^\S+ (accepted|SCHEDULER_[A-Z_]+)$/gm)).toHaveLength(TIMES)
    await next.close()
  })

  test("D2: a proxy answers the scale to 0 with a 404 of its own", async () => {
    const ids = await newJobs()
    ids.forEach((id, index) => {
      proxy.treat("POST", id, { instead: { reached: index % 2 === 0, ...FOREIGN_404 } })
    })
    await using scheduler = client("first.sqlite")
    const answers = await Promise.all(
      ids.map((id) =>
        scheduler.restartJob(id).then(
          () => "accepted",
          (error: { readonly code: string }) => error.code,
        ),
      ),
    )
    expect(answers).toEqual(ids.map((_id, index) => (index % 2 === 0 ? "accepted" : "SCHEDULER_FOREIGN_ANSWER")))
    expect(await scheduler.unfinishedRestarts()).toHaveLength(TIMES)
    await untilOver(scheduler, ids)
    expect(await countsOf(ids)).toEqual([1])
  })

  test("D2: a proxy answers the scale to 1, and the look after it, with a 404 of its own", async () => {
    // Ids that end like routes of the agent: asked for by that alone, it would answer about another job, or none.
    const ids = await newJobs("batch", ["", "/scale", "/plan", "/summary", "/allocations"])
    for (const id of ids) {
      proxy.treat("POST", id, {}, { instead: { reached: false, ...FOREIGN_404 } })
      proxy.treat("GET", id, { instead: { reached: false, ...FOREIGN_404 } })
    }
    await using scheduler = client("second.sqlite")
    await Promise.all(ids.map((id) => scheduler.restartJob(id)))
    await untilOver(scheduler, ids)
    expect(await countsOf(ids)).toEqual([1])
    expect(ids.filter((id) => proxy.seen("POST", id) !== 3)).toEqual([])
  })

  test("D4: a deployment to 3 within the second stays at 3, and the log says so", async () => {
    const ids = await newJobs("service")
    const lines: Array<string> = []
    const log = (message: string) => void lines.push(message)
    const logger = { debug: log, info: log, warn: log, error: log }
    await using scheduler = client(undefined, { logger, restart: { ...RULES, delayMs: 2000 } })
    await Promise.all(ids.map((id) => scheduler.restartJob(id)))
    await Promise.all(ids.map((id) => setup.runJob(definitionOf(id, 3, "service"))))
    await untilOver(scheduler, ids)
    expect(await countsOf(ids)).toEqual([3])
    expect(lines.filter((line) => line.includes("somebody else scaled the job to 3"))).toHaveLength(TIMES)
  })

  test("D5: what was left under one name of the agent is resumed under another", async () => {
    const ids = await newJobs()
    for (const id of ids) proxy.treat("POST", id, {}, { delayMs: 600_000 })
    const { child } = await spawnSending("names.sqlite", ids)
    while ((await countsOf(ids)).some((count) => count !== 0)) await Bun.sleep(20)
    child.kill("SIGKILL")
    await child.exited
    await using other = client("names.sqlite", { baseUrl: agentUrl.replace("127.0.0.1", "localhost") })
    const left = await other.unfinishedRestarts()
    expect(left.map(({ endpoint }) => endpoint)).toEqual(ids.map(() => proxy.url))
    await untilOver(other, ids)
    expect(await countsOf(ids)).toEqual([1])
  })
}

if (presence(NOMAD, process.env).kind === "there" || NOMAD_COMMAND === null)
  realSuite(NOMAD, "restarts against a slow Nomad agent", ({ url }) => suite(async () => ({ url })))
else
  describe("restarts against a slow Nomad agent", () => {
    let open: NomadAgent | undefined
    afterAll(() => open?.stop(), 60_000)
    suite(async () => {
      open = await startNomad({ acl: false })
      return open
    })
  })

if (NOMAD_COMMAND === null)
  test.skip("restarts with a token that may only scale: needs a nomad command: set TEST_NOMAD_COMMAND, or put nomad on the PATH", () => {})
else
  describe("restarts with a token that may only scale", () => {
    let agent: NomadAgent
    beforeAll(async () => {
      agent = await startNomad({ acl: true })
    }, 120_000)
    afterAll(() => agent.stop(), 60_000)

    const manage = async (path: string, body: object): Promise<Record<string, unknown>> => {
      const headers = { "x-nomad-token": agent.token ?? "" }
      const answer = await fetch(agent.url + path, { method: "POST", headers, body: JSON.stringify(body) })
      expect(answer.status).toBe(200)
      return (await answer.text().then((text) => (text === "" ? {} : JSON.parse(text)))) as Record<string, unknown>
    }

    test("D7: it resumes what a killed process left, under another name of the agent", async () => {
      const rules = 'namespace "default" { capabilities = ["scale-job"] }'
      await manage("/v1/acl/policy/scaler", { Name: "scaler", Rules: rules })
      const token = String((await manage("/v1/acl/token", { Type: "client", Policies: ["scaler"] }))["SecretID"])
      await using management = createScheduler({ baseUrl: agent.url, token: agent.token ?? "" })
      const ids = Array.from({ length: TIMES }, (_, index) => `scaled-${index}`)
      await Promise.all(ids.map((id) => management.runJob(definitionOf(id, 2))))
      const counts = async () => [
        ...new Set(
          (await Promise.all(ids.map((id) => management.getDefinition(id)))).map((job) => job.TaskGroups?.[0]?.Count),
        ),
      ]
      const folder = mkdtempSync(join(tmpdir(), "portolan-scaler-"))
      const journalPath = join(folder, "journal.sqlite")
      const child = Bun.spawn(
        [
          process.execPath,
          "tests/support/restarter.process.ts",
          agent.url,
          journalPath,
          ...["60000", "1000", "6000", "2000"],
          ...ids,
        ],
        { stdio: ["ignore", "ignore", "inherit"], env: { ...process.env, RESTARTER_TOKEN: token } },
      )
      while ((await counts()).some((count) => count !== 0)) await Bun.sleep(50)
      child.kill("SIGKILL")
      await child.exited
      await using next = createScheduler({
        baseUrl: agent.url.replace("127.0.0.1", "localhost"),
        token,
        journalPath,
        writeTimeoutMs: 6000,
        restart: { delayMs: 500, leaseMs: 1000, marginMs: 2000 },
      })
      expect(await next.unfinishedRestarts()).toHaveLength(TIMES)
      while ((await next.unfinishedRestarts()).some(({ state }) => state !== "stuck")) await Bun.sleep(100)
      expect(await next.unfinishedRestarts()).toEqual([])
      expect(await counts()).toEqual([1])
      rmSync(folder, { recursive: true })
    })
  })
