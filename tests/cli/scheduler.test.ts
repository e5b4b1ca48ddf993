// `portolan jobs` and `portolan allocations` as a user runs them: a process, an environment, two streams and an exit code.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { bytesText, sparkline, usageChart } from "../../adapters/driving/cli/usage_chart.ts"
import { type FakeAgent, reply, startFakeAgent } from "../support/fake_agent.ts"

const TOKEN = "s3cr3t-agent-token"
const BIG = "18446744073709551615"
const JOB = `{"ID":"video/one","Name":"x","Big":${BIG},"TaskGroups":[{"Name":"restreamer","Count":2,"Update":{"MinHealthyTime":0}}]}`

const folder = mkdtempSync(join(tmpdir(), "portolan-cli-"))
const file = join(folder, "job.json")
writeFileSync(file, JOB)
writeFileSync(join(folder, "broken.json"), "{")

// Every command is a process, which takes seconds to start on a busy machine.
setDefaultTimeout(120_000)

let agent: FakeAgent
beforeAll(async () => {
  agent = await startFakeAgent({ token: TOKEN })
})
afterAll(async () => {
  await agent.stop()
  rmSync(folder, { recursive: true })
})

const portolan = async (words: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}) => {
  const run = Bun.spawn([process.execPath, "bootstrap/main.ts", ...words], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { SCHEDULER_URL: `${agent.url}/v1`, SCHEDULER_TOKEN: TOKEN, PORTOLAN_HOME: folder, ...env },
  })
  const [out, err] = await Promise.all([new Response(run.stdout).text(), new Response(run.stderr).text()])
  expect(out + err).not.toContain(TOKEN)
  return { exitCode: await run.exited, out, err }
}

describe("portolan jobs", () => {
  test("run, get, scale, restart, delete: the digits stay, the journal ends empty", async () => {
    expect(await portolan(["jobs", "run", file])).toEqual({ exitCode: 0, out: "Submitted video/one\n", err: "" })
    const got = await portolan(["jobs", "get", "video/one", "--json"])
    expect(got.exitCode).toBe(0)
    expect(got.out).toContain(`"Big": ${BIG}`)
    expect(await portolan(["jobs", "scale", "video/one", "3"])).toMatchObject({
      exitCode: 0,
      out: "Scaled video/one to 3\n",
    })
    expect(await portolan(["jobs", "restart", "video/one"])).toEqual({
      exitCode: 0,
      out: "Restarted video/one\n",
      err: "",
    })
    expect((await portolan(["jobs", "get", "video/one"])).out).toContain('"Count": 1')
    expect(await portolan(["jobs", "restarts"])).toMatchObject({ exitCode: 0, out: "None\n" })
    expect(await portolan(["jobs", "wait", "video/one"])).toMatchObject({ exitCode: 0, out: "video/one is running\n" })
    expect(await portolan(["jobs", "delete", "video/one", "--purge"])).toMatchObject({ exitCode: 0 })
    const gone = await portolan(["jobs", "get", "video/one"])
    expect(gone).toEqual({
      exitCode: 1,
      out: "",
      err: "getDefinition (GET /v1/job/video%2Fone): 404 job not found\n",
    })
  })

  test("a second step that is refused ends it with 1, and is listed as stuck", async () => {
    await portolan(["jobs", "run", file])
    // The first question is which cluster it is.
    agent.script(
      () => false,
      () => false,
      reply(403, "Permission denied"),
    )
    const { exitCode, err } = await portolan(["jobs", "restart", "video/one"])
    expect(exitCode).toBe(1)
    expect(err).toContain("Job 'video/one' was stopped but not brought back")
    const { out } = await portolan(["jobs", "restarts"])
    expect(out).toMatch(/^JOB +REGION +STATE.*\nvideo\/one .*stuck.*Permission denied/)
  })

  test.each([
    [["jobs", "scale", "x", "-1"], 2],
    [["jobs", "scale", "x", "1.5"], 2],
    [["jobs", "get"], 2],
    [["jobs", "get", ".."], 1],
    [["jobs", "run", join(folder, "broken.json")], 1],
    [["jobs", "run", join(folder, "missing.json")], 1],
    [["jobs", "wait", "x", "--timeout", "soon"], 2],
  ] as const)("%j ends with %d, and the agent is not asked", async (words, expected) => {
    const before = agent.requests.length
    const { exitCode, out, err } = await portolan(words)
    expect({ exitCode, out }).toEqual({ exitCode: expected, out: "" })
    expect(err).not.toBe("")
    expect(agent.requests.length).toBe(before)
  })

  test("without an agent it ends with 2 and names the variable", async () => {
    expect(await portolan(["jobs", "get", "x"], { SCHEDULER_URL: "" })).toEqual({
      exitCode: 2,
      out: "",
      err: "SCHEDULER_URL is required by 'jobs' and 'allocations'\n",
    })
  })
})

describe("portolan allocations", () => {
  test("list, stats, and a watch that draws", async () => {
    await portolan(["jobs", "run", file])
    const { out } = await portolan(["allocations", "list", agent.agent.nodeId])
    const [title, ...rows] = out.trimEnd().split("\n")
    expect(title).toMatch(/^ID +JOB +GROUP +STATUS +WANTED$/)
    const row = rows.find((each) => each.includes("running")) ?? ""
    expect(row).toMatch(/video\/one +restreamer +running +run$/)
    const id = row.split(" ")[0] ?? ""
    expect((await portolan(["allocations", "stats", id])).out).toContain("memory     1.4 MiB")
    const watched = await portolan(["allocations", "stats", id, "--watch", "--interval", "0.01", "--count", "3"])
    expect(watched.out.trimEnd().split("\n").at(-1)).toContain("███")
    const lines = (
      await portolan(["allocations", "stats", id, "--watch", "--interval", "0.01", "--count", "2", "--json"])
    ).out
    expect(lines).toBe('{"memoryBytes":1486848,"cpuPercent":0.14159538847117795}\n'.repeat(2))
  })

  test("charts", () => {
    expect(sparkline([0, 1, undefined, 2])).toBe("▁▅ █")
    expect(sparkline([0, 0])).toBe("▁▁")
    expect([0, 1023, 1024, 1.5 * 2 ** 30].map(bytesText)).toEqual(["0 B", "1023 B", "1.0 KiB", "1.5 GiB"])
    expect(usageChart([{ memoryBytes: 2 ** 20, cpuPercent: undefined }])).toEqual([
      "memory     1.0 MiB  █  max 1.0 MiB",
      "cpu              -     max -",
    ])
  })
})
