// The single executable as its user has it: one file, in an empty folder, on a machine with neither Bun nor Node.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { copyFileSync, linkSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import manifest from "../../package.json" with { type: "json" }
import { pluginDump } from "../../stack/plugin/plugin_info.ts"
import { runHere } from "../support/command_here.ts"
import { executable } from "../support/executable.ts"
import { type FakeAgent, startFakeAgent } from "../support/fake_agent.ts"
import { openCreate, refusesConnections } from "../support/open_create.ts"
import {
  callerHeaders,
  endProcesses,
  newHome,
  runProcess,
  serve,
  serveEnvironment,
  startProcess,
  stop,
} from "../support/service_process.ts"

/** Nothing that a program could be found with. */
const BARE = { PATH: "/nonexistent" }
const BUILD_MS = 120_000

let program: ReadonlyArray<string>
let agent: FakeAgent
beforeAll(async () => {
  program = [await executable()]
  agent = await startFakeAgent()
}, BUILD_MS)
afterAll(() => Promise.all([agent?.stop(), endProcesses()]))

const run = (words: ReadonlyArray<string>, environment: Readonly<Record<string, string>> = {}) =>
  runProcess(words, { ...BARE, ...environment }, program)

const start = (words: ReadonlyArray<string>, environment: Readonly<Record<string, string>> = {}) =>
  startProcess(words, { ...BARE, ...environment }, program)

const folder = (): string => {
  const path = newHome()
  mkdirSync(path, { recursive: true })
  return path
}

describe("its command line", () => {
  test.concurrent("--version is the package's", async () => {
    expect(await run(["--version"])).toEqual({ code: 0, stdout: `${manifest.version}\n`, stderr: "" })
  })

  test.concurrent.each([
    [["--help"]],
    [["stack", "up", "--help"]],
    [["media", "--help"]],
    [["nonsense"]],
    [["stack-part", "nonsense"]],
    [["stack", "up", "--gateway", "4.0"]],
  ])("%j says and ends as from source", async (words) => {
    expect(await run(words)).toEqual(await runHere(words))
  })

  test.concurrent.each([
    ["a mistake in the configuration", ["serve"], { AUTH_ISUER: "a" }, 2, "AUTH_ISUER is unknown"],
    ["no stack", ["stack", "status"], {}, 3, ""],
    ["no stack to check", ["stack", "check"], {}, 3, "portolan stack up"],
    ["nobody who answers", ["health"], { PORT: "1" }, 1, "http://127.0.0.1:1/health/ready is not ready"],
    ["a port that nobody knows", ["health"], {}, 2, "PORT must name the port"],
  ])("%s: its exit code", async (_what, words, environment, code, said) => {
    const ended = await run(words, environment)
    expect([ended.code, ended.stderr]).toEqual([code, expect.stringContaining(said)])
  })

  test.concurrent("files of the folder it is started in do not configure it", async () => {
    const cwd = folder()
    writeFileSync(join(cwd, ".env"), "AUTH_ISSUER=https://other.example\n")
    writeFileSync(join(cwd, "bunfig.toml"), 'preload = ["./preload.ts"]\n')
    writeFileSync(join(cwd, "preload.ts"), "process.exit(9)\n")
    const child = Bun.spawn([...program, "config", "--json"], { cwd, env: BARE, stdio: ["ignore", "pipe", "pipe"] })
    const shown = JSON.parse(await new Response(child.stdout).text())
    expect([await child.exited, shown.AUTH_ISSUER]).toEqual([0, null])
  })
})

const PRODUCT = { id: 1, name: "Anchor chain", price: 12.5 }

describe("its service", () => {
  test.concurrent("demo: the screen's token creates a record, the API page is whole, and the record outlives the process", async () => {
    const home = newHome()
    const shown = async () => {
      const demo = start(["demo"], { PORTOLAN_HOME: home })
      await demo.shows(/Log lines follow/)
      const url = /Address +(\S+)\n/.exec(demo.stdout())?.[1] ?? ""
      const token = /^(?:TOKEN=['"]?)?(eyJ[\w.-]+)/m.exec(demo.stdout())?.[1] ?? ""
      return { demo, url, headers: { authorization: `Bearer ${token}`, "content-type": "application/json" } }
    }
    const first = await shown()
    const { id, ...body } = PRODUCT
    const made = await fetch(`${first.url}/api/products`, {
      method: "POST",
      headers: first.headers,
      body: JSON.stringify(body),
    })
    expect([made.status, await made.json()]).toEqual([201, { response: "OK", data: PRODUCT }])
    const page = await (await fetch(`${first.url}/openapi`)).text()
    const files = [...page.matchAll(/(?:src|href)="(\/openapi\/[^"]+)"/g)].map(([, path = ""]) => path)
    expect(files.length).toBeGreaterThan(2)
    const viewer = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"))
    for (const path of files) {
      const answer = await fetch(`${first.url}${path}`)
      expect([path, answer.status]).toEqual([path, 200])
      if (path.includes("swagger-ui"))
        expect(await answer.text()).toBe(readFileSync(join(viewer, path.slice("/openapi/".length)), "utf8"))
    }
    expect((await fetch(`${first.url}/openapi.json`)).status).toBe(200)
    expect(await stop(first.demo)).toBe(0)

    const second = await shown()
    const got = await fetch(`${second.url}/api/products/1`, { headers: second.headers })
    expect(await got.json()).toEqual({ response: "OK", data: PRODUCT })
    expect(await stop(second.demo)).toBe(0)
  })

  test.concurrent("serve with every area: ready, asked by `health`, drained by SIGTERM", async () => {
    const service = await serve(
      {
        ...BARE,
        SCHEDULER_URL: agent.url,
        GRAPH_URL: "http://127.0.0.1:1",
        GRAPH_API_VERSION: "v25.0",
        GRAPH_ACCOUNT_ID: "17841400008460056",
        GRAPH_ACCESS_TOKEN: "t0ken",
        OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1",
      },
      program,
    )
    const { port } = new URL(service.address)
    expect(await run(["health", "--port", port])).toEqual({ code: 0, stdout: "ready\n", stderr: "" })
    const metrics = await fetch(`${service.address}/metrics`, { headers: callerHeaders() })
    expect([metrics.status, await metrics.text()]).toEqual([200, expect.stringContaining("# TYPE ")])
    // Each area answers in its own words; code that is not in the file would answer 500.
    const document = (await (await fetch(`${service.address}/openapi.json`)).json()) as { paths: object }
    expect(Object.keys(document.paths).join()).toMatch(/restart.*container|container.*restart/)

    const held = await openCreate(service.address)
    service.signal("SIGTERM")
    await service.shows(/"message":"Stopping","signal":"SIGTERM"/)
    while (!(await refusesConnections(service.address))) await Bun.sleep(5)
    expect(await held.finish()).toEqual([100, 201])
    expect(await service.ended).toBe(0)
    expect(service.stderr()).not.toContain("Unexpected failure")
    const after = await run(["health", "--json"], { PORT: port })
    expect([after.code, JSON.parse(after.stderr).code]).toEqual([1, "NOT_READY"])
  })

  test.concurrent("collections of a TypeScript module, which imports the product although nothing is installed", async () => {
    const home = folder()
    const path = join(home, "collections.ts")
    writeFileSync(join(home, "limits.ts"), "export const LENGTH_MAX: number = 500\n")
    writeFileSync(
      path,
      `import { defineCollection } from "portolan"
import Type from "typebox"
import { LENGTH_MAX } from "./limits.ts"

export const ships = defineCollection({
  name: "ships",
  fields: Type.Object({ name: Type.String({ minLength: 1 }), length_m: Type.Number({ maximum: LENGTH_MAX }) }),
})
`,
    )
    const service = await serve({ ...BARE, COLLECTIONS: path, STORE: "memory" }, program)
    const create = (length_m: number) =>
      fetch(`${service.address}/api/ships`, {
        method: "POST",
        headers: callerHeaders(),
        body: JSON.stringify({ name: "Vasa", length_m }),
      })
    expect((await create(69)).status).toBe(201)
    expect((await create(501)).status).toBe(422)
    expect(await stop(service)).toBe(0)

    writeFileSync(path, 'import "nowhere"\n')
    const refused = await run(["serve"], { ...serveEnvironment(), COLLECTIONS: path })
    expect([refused.code, refused.stdout]).toEqual([2, ""])
    expect(refused.stderr).toContain(`${path}:1: `)
  })

  test.concurrent("a database that is away ends the start in words", async () => {
    const { code, stderr } = await run(["serve"], {
      ...serveEnvironment(),
      STORE: "mongo",
      MONGODB_URL: "mongodb://127.0.0.1:1/a?serverSelectionTimeoutMS=200",
    })
    expect([code, stderr]).toEqual([1, expect.not.stringMatching(/Cannot find|Unexpected failure|\n {4}at /)])
    expect(stderr).not.toBe("")
  })
})

describe("its other areas", () => {
  test.concurrent("jobs restart", async () => {
    const home = folder()
    const file = join(home, "job.json")
    writeFileSync(
      file,
      '{"ID":"cam","Name":"x","TaskGroups":[{"Name":"restreamer","Count":1,"Update":{"MinHealthyTime":0}}]}',
    )
    const environment = { SCHEDULER_URL: agent.url, PORTOLAN_HOME: home }
    expect(await run(["jobs", "run", file], environment)).toEqual({ code: 0, stdout: "Submitted cam\n", stderr: "" })
    expect(await run(["jobs", "restart", "cam"], environment)).toEqual({
      code: 0,
      stdout: "Restarted cam\n",
      stderr: "",
    })
  })

  test.concurrent("the stack: up, a check without a difference, down", async () => {
    const environment = { PORTOLAN_HOME: newHome() }
    const free = ["--proxy-port", "0", "--idp-port", "0", "--upstream-port", "0"]
    const up = await run(["stack", "up", ...free], environment)
    expect([up.code, up.code === 0 ? "" : up.stderr]).toEqual([0, ""])
    // What it tells the user to type is this very file.
    expect(up.stdout).toContain(`$(${program[0]} stack token)`)
    try {
      const { code, stdout } = await run(["stack", "check", "--json"], environment)
      const { asExpected, different } = JSON.parse(stdout)
      expect([code, different]).toEqual([0, 0])
      expect(asExpected).toBeGreaterThan(300)
      for (const kind of ["access", "id"])
        expect((await run(["stack", "token", kind], environment)).stdout).toMatch(/^[\w.-]+\n$/)
      expect((await run(["stack", "status"], environment)).code).toBe(0)
    } finally {
      expect((await run(["stack", "down"], environment)).stdout).toBe("stopped\n")
    }
    expect((await run(["stack", "status"], environment)).code).toBe(3)
  })

  test.concurrent("under the name that it has in the gateway's containers, it is the plugin server", async () => {
    const gate = join(folder(), "gate")
    try {
      linkSync(program[0] ?? "", gate)
    } catch {
      // On another file system.
      copyFileSync(program[0] ?? "", gate)
    }
    expect(await runProcess(["-dump"], BARE, [gate])).toEqual({ code: 0, stdout: `${pluginDump()}\n`, stderr: "" })
  })
})
