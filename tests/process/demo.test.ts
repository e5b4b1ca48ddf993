// Demo mode as a person meets it (specification 10).
import { afterAll, describe, expect, test } from "bun:test"
import type { SpanLine } from "../../adapters/driving/cli/trace_tree.ts"
import manifest from "../../package.json" with { type: "json" }
import { runHere } from "../support/command_here.ts"
import { endProcesses, newHome, runProcess, startProcess } from "../support/service_process.ts"

afterAll(endProcesses)

/** Runs one line of the screen the way a person pastes it, after the line that sets the token. */
const paste = async (screen: string, line: string): Promise<unknown> => {
  const token = /^TOKEN=\S+$/m.exec(screen)?.[0] ?? ""
  const shell = Bun.spawn(["sh", "-c", `${token}\n${line}`], { stdout: "pipe", stderr: "inherit" })
  return JSON.parse(await new Response(shell.stdout).text())
}

const curlLines = (screen: string): ReadonlyArray<string> =>
  screen.split("\n").filter((line) => line.startsWith("curl "))

const startDemo = async (home: string) => {
  // An empty variable is not set.
  const demo = startProcess(["demo"], { PORTOLAN_HOME: home, AUTH_ISSUER: "", AUTH_PUBLIC_KEY: " " })
  await demo.shows(/Log lines follow/)
  return demo
}

describe("portolan demo", () => {
  const titleEnd = Bun.which("curl") === null ? " [needs curl on the PATH]" : ""
  test.skipIf(titleEnd !== "")(
    `prints an address, a token, curl lines of every area that work, and the API page; keeps its records${titleEnd}`,
    async () => {
      const home = newHome()
      const demo = await startDemo(home)
      const screen = demo.stdout()
      expect(screen.split("\n")[0]).toContain("not for production")
      const address = /Address +(http:\/\/127\.0\.0\.1:\d+)\n/.exec(screen)?.[1] ?? ""
      const page = /API page +(\S+)\n/.exec(screen)?.[1] ?? ""
      const token = /^TOKEN=(\S+)$/m.exec(screen)?.[1] ?? ""
      expect(await (await fetch(page)).text()).toContain("swagger-ui-bundle.js")
      const data = { id: 1, name: "Anchor chain", price: 12.5 }
      expect(screen).toContain("Scheduler  in memory")
      expect(screen).toContain("Media      in memory")
      // Once on the screen, however many lines use it.
      expect(screen.split(token)).toHaveLength(2)
      const [create = "", list = "", get = "", restart = "", job = "", post = "", quota = "", ...others] =
        curlLines(screen)
      expect(others).toEqual([])
      expect(await paste(screen, create)).toEqual({ response: "OK", data })
      expect(await paste(screen, list)).toEqual({ response: "OK", data: [data] })
      expect(await paste(screen, get)).toEqual({ response: "OK", data })
      expect(await paste(screen, restart)).toMatchObject({ response: "OK", data: { jobId: "radio" } })
      expect(await paste(screen, job)).toMatchObject({ data: { ID: "radio", TaskGroups: [{ Name: "restreamer" }] } })
      const published = await paste(screen, post)
      expect(published).toMatchObject({ response: "OK", data: { state: "published" } })
      expect(await paste(screen, post)).toEqual(published)
      expect(await paste(screen, quota)).toMatchObject({ data: { used: 1 } })
      expect(await (await fetch(`${address}/health/live`)).json()).toMatchObject({ version: manifest.version })

      const headers = { authorization: `Bearer ${token}` }
      const remove = (init: RequestInit) => fetch(`${address}/admin/products/1`, { method: "DELETE", ...init })
      expect((await remove({})).status).toBe(401)
      await fetch(`${address}/api/products`, {
        method: "POST",
        body: '{"name":"Buoy"}',
        headers: { ...headers, "content-type": "application/json" },
      })
      expect((await remove({ headers })).status).toBe(200)
      expect((await remove({ headers })).status).toBe(404)
      demo.signal("SIGTERM")
      expect(await demo.ended).toBe(0)
      // The token is on the screen once, by intent; the log never has it.
      expect(demo.stderr()).not.toContain("eyJ")

      const second = await startDemo(home)
      expect(await paste(second.stdout(), curlLines(second.stdout())[1] ?? "")).toEqual({
        response: "OK",
        data: [{ id: 2, name: "Buoy", price: 0 }],
      })
      expect((await fetch(`${await second.url()}/api/products`, { headers })).status).toBe(401)
      second.signal("SIGINT")
      expect(await second.ended).toBe(0)
      expect(second.stderr()).toContain('"message":"Stopped"')
    },
  )

  test("the page's token is for a page on this machine, and only while nobody else reaches the demo", async () => {
    const asked = async (port: string, headers: Record<string, string>) =>
      (await fetch(`http://127.0.0.1:${port}/openapi/token`, { headers })).status
    const own = { "sec-fetch-site": "same-origin" }
    const home = { STORE: "memory" }
    const [near, open] = [startProcess(["demo"], home), startProcess(["demo"], { ...home, HOST: "0.0.0.0" })]
    const port = new URL(await near.url()).port
    expect(await asked(port, own)).toBe(200)
    expect(await asked(port, {})).toBe(404)
    expect(await asked(port, { "sec-fetch-site": "cross-site" })).toBe(404)
    expect(await asked(port, { ...own, host: "rebound.example" })).toBe(404)
    expect(await asked(new URL(await open.url()).port, own)).toBe(404)
  })

  test("--port goes before PORT", async () => {
    const other = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => {} } })
    const { code, stdout, stderr } = await runProcess(["demo", "--port", `${other.port}`], { STORE: "memory" })
    other.stop(true)
    expect([code, stdout]).toEqual([1, ""])
    expect(stderr).toContain(`127.0.0.1:${other.port}: the port is in use; set PORT or --port to another one`)
  })

  test("trace prints one restart across request, journal and the step behind the caller", async () => {
    const { code, stdout, stderr } = await runHere(["demo", "trace", "--json"])
    expect([code, stderr]).toEqual([0, ""])
    const { traceId, spans }: { traceId: string; spans: ReadonlyArray<SpanLine> } = JSON.parse(stdout)
    expect(traceId).toMatch(/^[0-9a-f]{32}$/)
    const find = (name: string) => spans.filter((span) => span.name === name)
    const [request] = find("POST /scheduler/jobs/:id/restart")
    expect(request?.attributes).toMatchObject({ "http.response.status_code": 202 })
    const below = (name: string) => spans.filter(({ parent }) => parent === find(name)[0]?.id).map(({ name }) => name)
    expect(below("POST /scheduler/jobs/:id/restart")).toEqual(["restartJob"])
    expect(below("restartJob")).toEqual(["restart.first_step", "restart.second_step"])
    expect(below("restart.first_step")).toEqual([
      "open restart_journal",
      "scheduler scaleJob",
      "update restart_journal",
    ])
    expect(below("restart.second_step")).toContainValues(["scheduler scaleJob", "close restart_journal"])
    // The caller has its answer long before the job is back.
    const [second] = find("restart.second_step")
    expect(Number(second?.startMs) + Number(second?.durationMs)).toBeGreaterThan(1000)
    expect(spans.every(({ durationMs }) => durationMs !== null)).toBe(true)

    const table = (await runHere(["demo", "trace"])).stdout
    expect(table).toMatch(/^START MS +TOOK MS +SPAN +ATTRIBUTES$/m)
    expect(table).toMatch(/^\S+ +\S+ {9,}scheduler scaleJob$/m)
  })

  test("is refused with a realm's variables, naming them", async () => {
    const variables = { AUTH_ISSUER: "http://SECRETVALUE", AUTH_PUBLIC_KEY: "SECRETVALUE", AUTH_REQUIRE_TYP: "true" }
    const { code, stdout, stderr } = await runHere(["demo"], variables)
    expect([code, stdout]).toEqual([2, ""])
    const lines = stderr.trimEnd().split("\n")
    expect(lines.pop()).toBe("Try: portolan serve")
    expect(lines.map((line) => line.split(" ")[0]).sort()).toEqual(Object.keys(variables).sort())
    for (const line of lines)
      expect(line).toEndWith("must not be set for the demo, which makes its own realm; use 'portolan serve'")
    expect(stderr).not.toContain("SECRETVALUE")
  })
})
