// `portolan jobs` and `portolan allocations` as a user runs them: each once as a process; what only their words and
// answers decide, in this one.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { bytesText, sparkline, usageChart } from "../../adapters/driving/cli/usage_chart.ts"
import { runHere } from "../support/command_here.ts"
import { type FakeAgent, reply, startFakeAgent } from "../support/fake_agent.ts"
import { endProcesses, newHome, runProcess } from "../support/service_process.ts"

const TOKEN = "s3cr3t-agent-token"
const BIG = "18446744073709551615"
const JOB = `{"ID":"video/one","Name":"x","Big":${BIG},"TaskGroups":[{"Name":"restreamer","Count":2,"Update":{"MinHealthyTime":0}}]}`

const folder = newHome()
const file = join(folder, "job.json")
writeFileSync(file, JOB)
writeFileSync(join(folder, "broken.json"), "{")

let agent: FakeAgent
beforeAll(async () => {
  agent = await startFakeAgent({ token: TOKEN })
})
afterAll(() => Promise.all([agent.stop(), endProcesses()]))

const environment = () => ({ SCHEDULER_URL: `${agent.url}/v1`, SCHEDULER_TOKEN: TOKEN, PORTOLAN_HOME: folder })
const withoutToken = (run: Awaited<ReturnType<typeof runProcess>>) => {
  expect(run.stdout + run.stderr).not.toContain(TOKEN)
  return run
}
const portolan = async (words: string) => withoutToken(await runProcess(words.split(" "), environment()))

/** In this process. */
const here = async (line: string, more: Readonly<Record<string, string>> = {}) =>
  withoutToken(await runHere(line.split(" "), { ...environment(), ...more }))

describe("portolan jobs", () => {
  test("run, get, scale, restart, delete: the digits stay, the journal ends empty", async () => {
    expect(await portolan(`jobs run ${file}`)).toEqual({ code: 0, stdout: "Submitted video/one\n", stderr: "" })
    const got = await portolan("jobs get video/one --json")
    expect(got.code).toBe(0)
    expect(got.stdout).toContain(`"Big": ${BIG}`)
    for (const [words, stdout] of [
      ["jobs scale video/one 3", "Scaled video/one to 3\n"],
      ["jobs restart video/one", "Restarted video/one\n"],
      ["jobs get video/one", expect.stringContaining('"Count": 1')],
      ["jobs restarts", "None\n"],
      ["jobs wait video/one", "video/one is running\n"],
      ["jobs delete video/one --purge", expect.any(String)],
    ] as const)
      expect({ words, ...(await portolan(words)) }).toMatchObject({ words, code: 0, stdout })
    const stderr = "getDefinition (GET /v1/job/video%2Fone): 404 job not found\n"
    expect(await here("jobs get video/one")).toEqual({ code: 1, stdout: "", stderr })
  })

  test("a second step that is refused ends it with 1, and is listed as stuck", async () => {
    await here(`jobs run ${file}`)
    // The first question is which cluster it is.
    agent.script(
      () => false,
      () => false,
      () => false,
      reply(403, "Permission denied"),
    )
    const { code, stderr } = await portolan("jobs restart video/one")
    expect(code).toBe(1)
    expect(stderr).toContain("Job 'video/one' was stopped but not brought back")
    expect((await here("jobs restarts")).stdout).toMatch(/^JOB +REGION +STATE.*\nvideo\/one .*stuck.*Permission denied/)
  })

  test("wrong words end with 2, what cannot be sent with 1, and the agent is not asked", async () => {
    const before = agent.requests.length
    const wrong = [
      ["jobs scale x 1.5", 2],
      ["jobs get", 2],
      ["jobs wait x --timeout soon", 2],
      ["jobs get ..", 1],
      [`jobs run ${join(folder, "broken.json")}`, 1],
      [`jobs run ${join(folder, "missing.json")}`, 1],
    ] as const
    for (const [words, code] of wrong)
      expect({ words, ...(await here(words)) }).toEqual({
        words,
        code,
        stdout: "",
        stderr: expect.stringMatching(/./),
      })
    expect(agent.requests.length).toBe(before)
  })

  test("without an agent it ends with 2 and names the variable", async () => {
    const stderr = "SCHEDULER_URL is required by 'jobs' and 'allocations'\nTry: portolan config --variables\n"
    expect(await here("jobs get x", { SCHEDULER_URL: "" })).toEqual({ code: 2, stdout: "", stderr })
  })
})

describe("portolan allocations", () => {
  test("list, stats, and a watch that draws", async () => {
    await here(`jobs run ${file}`)
    const { stdout } = await portolan(`allocations list ${agent.agent.nodeId}`)
    const [title, ...rows] = stdout.trimEnd().split("\n")
    expect(title).toMatch(/^ID +JOB +GROUP +STATUS +WANTED$/)
    const row = rows.find((each) => each.includes("running")) ?? ""
    expect(row).toMatch(/video\/one +restreamer +running +run$/)
    const stats = `allocations stats ${row.split(" ")[0]}`
    expect((await here(stats)).stdout).toContain("memory     1.4 MiB")
    const watched = await portolan(`${stats} --watch --interval 0.01 --count 3`)
    expect(watched.stdout.trimEnd().split("\n").at(-1)).toContain("███")
    expect((await here(`${stats} --watch --interval 0.01 --count 2 --json`)).stdout).toBe(
      '{"memoryBytes":1486848,"cpuPercent":0.14159538847117795}\n'.repeat(2),
    )
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
