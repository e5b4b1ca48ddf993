// The example projects, installed from the packed product: their types, and what they do on each runtime.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { type FakeAgent, startFakeAgent } from "../support/fake_agent.ts"
import { type PackedProduct, packProduct, run, succeed } from "../support/packed_product.ts"

const TSC = join(import.meta.dir, "../../node_modules/.bin/tsc")
const JOB = "cam-1"

const RUNTIMES = ["Bun", "Deno", "Node"] as const
type Runtime = (typeof RUNTIMES)[number]

const NPX = ["npx", "-y"]
const printed = async (...words: ReadonlyArray<string>) => (await succeed([...NPX, ...words], tmpdir())).trim()

/** What runs a file on each runtime. They are looked up once: npx takes longer to find one than it to run an example. */
const commands: Record<Runtime, ReadonlyArray<string>> = { Bun: [process.execPath], Deno: [], Node: [] }
beforeAll(async () => {
  commands.Deno = [await printed("deno@2.9.6", "eval", "console.log(Deno.execPath())"), "run", "--allow-all"]
  commands.Node = [await printed("node@22", "--print", "process.execPath")]
})

let packed: PackedProduct
beforeAll(async () => {
  packed = await packProduct()
})
afterAll(() => packed.remove())

let agent: FakeAgent
beforeAll(async () => {
  agent = await startFakeAgent()
})
afterAll(() => agent.stop())

interface Example {
  /** The file that each runtime runs. */
  readonly file: (runtime: Runtime) => string
  readonly environment?: () => Promise<Readonly<Record<string, string>>>
  /** What it prints. */
  readonly prints: string
}

const ACCOUNT = "POST /v25.0/17841400008460056"
const item = (name: string) =>
  `${ACCOUNT}/media?image_url=https%3A%2F%2Fcdn.example.com%2F${name}.jpg&is_carousel_item=true&access_token=<redacted>\n`

const EXAMPLES: Readonly<Record<string, Example>> = {
  records: {
    file: (runtime) => `${runtime.toLowerCase()}.ts`,
    prints: '{"statuses":[201,200,200,401,200,404],"names":["Vasa"]} 1\n',
  },
  scheduler: {
    file: () => "restart.ts",
    environment: async () => {
      const TaskGroups = [{ Name: "restreamer", Count: 1, Update: { MinHealthyTime: 0 } }]
      const body = JSON.stringify({ Job: { ID: JOB, Name: JOB, TaskGroups, Priority: 50 } })
      await Effect.runPromise(
        agent.agent.handle({ method: "POST", path: "/v1/jobs", query: new URLSearchParams(), body }),
      )
      return { SCHEDULER_URL: agent.url }
    },
    prints: '{"same":true,"Priority":60,"left":0}\n',
  },
  media: {
    file: () => "carousel.ts",
    prints: `${["genoa", "lisbon", "bergen"].map(item).join("")}${ACCOUNT}/media?media_type=CAROUSEL&caption=Three%20harbours\
&children=ITEM0%2CITEM1%2CITEM2&access_token=<redacted>
${ACCOUNT}/media_publish?creation_id=CONTAINER&access_token=<redacted>\n{"containers":4,"warnings":0}\n`,
  },
  stack: {
    file: () => "check.ts",
    prints: '{"state":"healthy","different":[],"many":true,"token":3,"refused":"STACK_REFUSED"}\n',
  },
}

describe.each(Object.entries(EXAMPLES))("the example of %s", (name, { file, environment, prints }) => {
  let project: string
  beforeAll(async () => {
    project = await packed.example(name)
  })

  test("is correct to a strict compiler", async () => {
    expect(await run([TSC], project)).toEqual({ exitCode: 0, stdout: "", stderr: "" })
  })

  test.each(RUNTIMES)("does what it says on %s", async (runtime) => {
    const variables = (await environment?.()) ?? {}
    expect(await succeed([...commands[runtime], file(runtime)], project, variables)).toBe(prints)
  })
})

describe("beyond the examples", () => {
  test("the part for Deno is correct to Deno's compiler", async () => {
    await succeed([commands.Deno[0] ?? "", "check", "deno.ts"], await packed.example("records"))
  })

  test("the library's own types hold where types of packages are checked too", async () => {
    // Packages of others have mistakes there.
    const { stdout } = await run([TSC, "--skipLibCheck", "false"], await packed.example("records"))
    expect(stdout).toContain("node_modules/elysia/")
    expect(stdout.split("\n").filter((line) => /^\S*portolan\/dist/.test(line))).toEqual([])
  })

  test("on Node the application's `listen` says what to do instead", async () => {
    const project = await packed.example("records")
    writeFileSync(join(project, "listen.ts"), 'import { Elysia } from "elysia"\nnew Elysia().listen(0)\n')
    const { exitCode, stderr } = await run([...commands.Node, "listen.ts"], project)
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining("does not support listen")])
  })

  test("the scheduler's and the media face need no more than Node 20", async () => {
    const project = await packed.example("scheduler")
    const script = `import { createScheduler } from "portolan/scheduler"
import { createMedia } from "portolan/media"
const scheduler = createScheduler({ baseUrl: "http://127.0.0.1:1" })
const failure = await scheduler.getDefinition("a").catch((error) => error.code)
await scheduler.close()
const media = createMedia({ graphUrl: "https://graph.example", apiVersion: "v25.0", accessToken: "t", accountId: "1" })
const { containers } = await media.plan({ kind: "image", imageUrl: "https://cdn.example.com/a.jpg" })
await media.close()
process.stdout.write(JSON.stringify([process.version.split(".")[0], failure, containers]))`
    writeFileSync(join(project, "oldest.mjs"), script)
    expect(JSON.parse(await succeed([...NPX, "node@20", "oldest.mjs"], project))).toEqual([
      "v20",
      expect.stringMatching(/^[A-Z_]+$/),
      1,
    ])
  })

  test("records in MongoDB name the driver that is to be installed", async () => {
    const project = await packed.example("records")
    const script = `import { openRecords } from "portolan"
import { makeRealm } from "./realm.ts"
const { publicKey } = await makeRealm([])
const { code, message } = await openRecords({ store: { mongodb: "mongodb://127.0.0.1:1" }, realm: { keys: publicKey } }).catch((error) => error)
console.log(code, message)`
    writeFileSync(join(project, "mongodb.ts"), script)
    for (const runtime of RUNTIMES)
      expect(await succeed([...commands[runtime], "mongodb.ts"], project)).toBe(
        "PACKAGE_MISSING the package 'mongodb' is not installed; install it with: npm install mongodb@7\n",
      )
  })
})
