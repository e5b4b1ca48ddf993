// Every TypeScript sample of the documents: type-checked as it stands, and run.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import { probePort } from "../../stack/loopback.ts"
import type { FakeAgent } from "../support/fake_agent.ts"
import { makeGraphModel } from "../support/graph_model.ts"
import { graphServer } from "../support/graph_server.ts"
import { endProcesses, serve, stop } from "../support/service_process.ts"
import { scaledTo, startAgentWith } from "./agent_with_jobs.ts"
import { executed, ROOT } from "./pages.ts"
import { environmentIn, makeReaderFolder } from "./reader_folder.ts"

const SAMPLES = executed("ts")

/** Milliseconds a sample, or the compiler over all of them, may take on a busy machine. */
const SAMPLE_MS = 300_000

const reader = makeReaderFolder()
const { token } = reader
const scope = Scope.makeUnsafe()
const model = makeGraphModel({ processingMs: 0 })
let agent: FakeAgent
let graphUrl: string

const folderOf = (at: number): string => join(reader.folder, `sample${at}`)

beforeAll(async () => {
  agent = await startAgentWith(["cam-1", "cam-2"])
  graphUrl = (await Effect.runPromise(Scope.provide(graphServer(model, Date.now), scope))).url
  SAMPLES.forEach(({ text }, at) => {
    mkdirSync(folderOf(at))
    writeFileSync(join(folderOf(at), "sample.ts"), text)
    for (const name of ["realm.pem", "agent.token"]) symlinkSync(join(reader.folder, name), join(folderOf(at), name))
  })
})

afterAll(async () => {
  await endProcesses()
  await agent.stop()
  await Effect.runPromise(Scope.close(scope, Exit.void))
  reader.remove()
})

/** Starts a sample in its own folder. */
const start = (at: number, environment: Readonly<Record<string, string>> = {}) =>
  Bun.spawn([process.execPath, "sample.ts"], {
    cwd: folderOf(at),
    env: environmentIn(reader, environment),
    stdio: ["ignore", "pipe", "pipe"],
  })

/** Runs a sample to its end, which must be a good one, and gives what it printed. */
const run = async (at: number, environment?: Readonly<Record<string, string>>): Promise<string> => {
  const child = start(at, environment)
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  expect({ code: await child.exited, err }).toEqual({ code: 0, err: "" })
  return out
}

/** Asks until somebody listens. */
const reach = async (url: string, init: RequestInit): Promise<Response> => {
  for (let tries = 0; ; tries++) {
    const answer = await fetch(url, init).catch(() => undefined)
    if (answer !== undefined) return answer
    if (tries > 600) throw new Error(`nobody listens at ${url}`)
    await Bun.sleep(100)
  }
}

const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }

/** What each sample is run against, and what comes of it: by page, in the order of the page. */
const WORLDS: Readonly<Record<string, ReadonlyArray<(at: number) => Promise<void>>>> = {
  "domain/records/README.md": [
    async (at) => {
      const served = await serve({ COLLECTIONS: join(folderOf(at), "sample.ts") })
      expect((await fetch(`${served.address}/api/ships`, { headers })).status).toBe(200)
      expect(await stop(served)).toBe(0)
    },
    async (at) => {
      const port = await probePort(0)
      const app = start(at, { PORT: String(port) })
      const url = `http://127.0.0.1:${port}`
      expect((await reach(`${url}/api/products`, {})).status).toBe(401)
      const created = await fetch(`${url}/api/products`, { method: "POST", headers, body: '{"name":"Anchor"}' })
      expect([created.status, await created.json()]).toEqual([
        201,
        { response: "OK", data: { id: 1, name: "Anchor", price: 0 } },
      ])
      expect((await fetch(`${url}/admin/products/1`, { method: "DELETE", headers })).status).toBe(200)
      expect((await fetch(`${url}/api/products/1`, { headers })).status).toBe(404)
      app.kill("SIGTERM")
      expect(await app.exited).toBe(0)
    },
    async (at) => {
      await run(at)
      expect(readFileSync(join(folderOf(at), "deleted.log"), "utf8")).toBe("ships 1\n")
    },
  ],
  "domain/records/reading.md": [async (at) => expect(await run(at)).toBe("Chain, Anchor\n")],
  "domain/records/client.md": [
    async (at) => {
      const served = await serve()
      const out = await run(at, { PRODUCTS_URL: `${served.address}/api/products`, TOKEN: token })
      expect(out).toContain("Anchor chain 0\n")
      expect(await stop(served)).toBe(0)
    },
    async (at) => {
      const collection = {
        name: "ships",
        changes: true,
        fields: { type: "object", properties: { name: { type: "string" } } },
      }
      const file = join(folderOf(at), "collections.json")
      writeFileSync(file, JSON.stringify({ collections: [collection] }))
      const served = await serve({ COLLECTIONS: file })
      const ships = `${served.address}/api/ships`
      const create = (name: string) => fetch(ships, { method: "POST", headers, body: JSON.stringify({ name }) })
      await create("Vasa")
      const follower = start(at, { SHIPS_URL: ships, TOKEN: token })
      const lines: Array<string> = []
      for await (const text of follower.stdout.pipeThrough(new TextDecoderStream())) {
        lines.push(...text.trim().split("\n"))
        if (lines.length === 1) await create("Kronan")
        if (lines.length === 2) await fetch(`${ships}/1`, { method: "DELETE", headers })
        if (lines.length >= 3) break
      }
      follower.kill()
      await follower.exited
      expect(lines).toEqual(["start 1", "create 2", "delete 1"])
      expect(await stop(served)).toBe(0)
    },
  ],
  "domain/scheduler/README.md": [
    async (at) => {
      await run(at, { SCHEDULER_URL: agent.url, NODE_ID: agent.agent.nodeId })
      // The scale back to 1 is drained before the program ends.
      expect(scaledTo(agent, "cam-1")).toEqual([0, 1])
      expect(agent.requests.some((request) => request.body.includes('"Priority":60'))).toBe(true)
      expect(existsSync(join(folderOf(at), "restarts.sqlite"))).toBe(true)
    },
  ],
  "domain/media/README.md": [
    async (at) => {
      const environment = { GRAPH_URL: graphUrl, GRAPH_ACCESS_TOKEN: "token-of-the-account" }
      const [first, second] = [await run(at, environment), await run(at, environment)]
      expect(first).toContain("published")
      expect(second).toContain("published")
      expect(first).not.toContain("token-of-the-account")
      // The same key, twice.
      expect(model.posts).toHaveLength(1)
    },
  ],
  "stack/README.md": [
    async (at) => {
      expect(await run(at)).toMatch(/^200 \{\s+hole: 0,\s+leak: 0,/)
      expect(readFileSync(join(folderOf(at), "report.html"), "utf8")).toStartWith("<!doctype html>")
    },
  ],
}

describe("the samples of the documents", () => {
  test("are all known, and no more", () => {
    const many = (pages: ReadonlyArray<string>) =>
      Object.fromEntries([...new Set(pages)].sort().map((page) => [page, pages.filter((each) => each === page).length]))
    const known = Object.entries(WORLDS).flatMap(([page, worlds]) => worlds.map(() => page))
    expect(many(SAMPLES.map(({ page }) => page))).toEqual(many(known))
  })

  test(
    "have right types, in a project as strict as ours",
    () => {
      const compiler = join(ROOT, "node_modules/.bin/tsc")
      const { exitCode, stdout } = Bun.spawnSync([compiler, "-p", reader.folder])
      expect({ exitCode, stdout: stdout.toString() }).toEqual({ exitCode: 0, stdout: "" })
    },
    SAMPLE_MS,
  )

  SAMPLES.forEach(({ page }, at) => {
    const nth = SAMPLES.slice(0, at).filter((each) => each.page === page).length
    const world = WORLDS[page]?.[nth]
    if (world !== undefined) test(`${page}, sample ${nth + 1}: runs`, () => world(at), SAMPLE_MS)
  })
})
