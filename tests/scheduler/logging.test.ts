// What is logged, and what never is: cases 74 to 76.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { readdirSync, readFileSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createScheduler, type SchedulerOptions } from "../../bootstrap/scheduler.ts"
import { MASK } from "../../domain/secret_mask.ts"
import { type FakeAgent, reply, startFakeAgent } from "../support/fake_agent.ts"

const TOKEN = "s3cr3t-token-value"
const PASSWORD = "pr0xy-password"

let fake: FakeAgent
beforeAll(async () => {
  fake = await startFakeAgent({ token: TOKEN })
})
afterAll(() => fake.stop())

const collecting = () => {
  const lines: Array<{ level: string; message: string; fields: Readonly<Record<string, unknown>> }> = []
  const at = (level: string) => (message: string, fields: Readonly<Record<string, unknown>>) =>
    void lines.push({ level, message, fields })
  return { lines, logger: { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") } }
}

const JOB = {
  ID: "web",
  Name: "web",
  TaskGroups: [
    {
      Name: "restreamer",
      Count: 1,
      Update: { MinHealthyTime: 0 },
      Tasks: [
        { Name: "t", Env: { DB_PASSWORD: "in-the-environment" }, Templates: [{ EmbeddedTmpl: "in-the-template" }] },
      ],
    },
  ],
}

/** Every kind of call once, a failing one too. */
const exercise = async (options: Partial<SchedulerOptions>) => {
  const scheduler = createScheduler({
    baseUrl: fake.url.replace("http://", `http://proxy:${PASSWORD}@`),
    token: TOKEN,
    restart: { delayMs: 1 },
    ...options,
  })
  await scheduler.runJob(JOB)
  await scheduler.getDefinition("web")
  const failed = await scheduler.getDefinition("unknown").catch((error: unknown) => error)
  fake.script(reply(403, `Permission denied for ${TOKEN}`))
  const denied = await scheduler.scaleJob("web", 1).catch((error: unknown) => error)
  await scheduler.restartJob("web")
  const inspected = Bun.inspect(scheduler, { depth: 10 })
  await scheduler.close()
  return (
    [failed, denied]
      .map((error) => `${error}${(error as Error).stack}${Bun.inspect(error)}${JSON.stringify(error)}`)
      .join() + inspected
  )
}

describe("logging", () => {
  test("74: debug logs every exchange, failures too, without a secret anywhere", async () => {
    const { lines, logger } = collecting()
    const folder = await mkdtemp(join(tmpdir(), "portolan-log-"))
    const errors = await exercise({ logger, logLevel: "debug", journalPath: join(folder, "journal.sqlite") })
    const exchanges = lines.filter(({ message }) => message === "HTTP exchange")
    expect(exchanges.map(({ fields }) => [fields["method"], fields["status"]])).toEqual([
      ["POST", 200],
      ["GET", 200],
      ["GET", 404],
      ["POST", 403],
      // Which cluster the restart is for.
      ["GET", 200],
      // The index that its scale to 0 insists on.
      ["GET", 200],
      ["POST", 200],
      ["POST", 200],
    ])
    for (const { fields } of exchanges) {
      expect(fields["url"]).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/(v1\/job|\.well-known\/jwks\.json)/)
      expect(fields["durationMs"]).toBeNumber()
    }
    const journal = readdirSync(folder)
      .map((name) => readFileSync(join(folder, name), "latin1"))
      .join()
    const everything = JSON.stringify(lines) + errors + journal
    for (const secret of [TOKEN, PASSWORD, btoa(`proxy:${PASSWORD}`), "in-the-environment", "in-the-template"])
      expect(everything).not.toContain(secret)
    expect(JSON.stringify(lines)).toContain(MASK)
    await rm(folder, { recursive: true })
  })

  test("74: a lost connection is logged as well", async () => {
    const { lines, logger } = collecting()
    const scheduler = createScheduler({ baseUrl: "http://127.0.0.1:1", token: TOKEN, logger, logLevel: "debug" })
    await scheduler.getDefinition("web").catch(() => {})
    await scheduler.close()
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatchObject({ level: "debug", fields: { failure: "network", applied: "no" } })
  })

  test("75: no exchange is logged without the option, and nothing at all without a logger", async () => {
    const { lines, logger } = collecting()
    await exercise({ logger })
    expect(lines.filter(({ level }) => level === "debug")).toEqual([])
    const written: Array<unknown> = []
    const write = process.stdout.write
    process.stdout.write = (chunk: unknown) => written.push(chunk) > 0
    await exercise({ logLevel: "debug" }).finally(() => {
      process.stdout.write = write
    })
    expect(written).toEqual([])
  })

  test("76: a logger that throws breaks no call", async () => {
    const broken = () => {
      throw new Error("the logger is broken")
    }
    await exercise({ logLevel: "debug", logger: { debug: broken, info: broken, warn: broken, error: broken } })
  })
})
