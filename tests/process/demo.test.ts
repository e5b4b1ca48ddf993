// Demo mode as a person meets it (contract section 0).
import { afterAll, describe, expect, test } from "bun:test"
import { runHere } from "../support/command_here.ts"
import { endProcesses, newHome, startProcess } from "../support/service_process.ts"

afterAll(endProcesses)

/** Runs one line the way a person pastes it. */
const paste = async (line: string): Promise<unknown> => {
  const shell = Bun.spawn(["sh", "-c", line], { stdout: "pipe", stderr: "inherit" })
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
    `prints an address, a token, three curl lines that work, and the API page; keeps its records${titleEnd}`,
    async () => {
      const home = newHome()
      const demo = await startDemo(home)
      const screen = demo.stdout()
      expect(screen.split("\n")[0]).toContain("not for production")
      const address = /Address +(http:\/\/127\.0\.0\.1:\d+)\n/.exec(screen)?.[1] ?? ""
      const page = /API page +(\S+)\n/.exec(screen)?.[1] ?? ""
      const token = /^eyJ\S+$/m.exec(screen)?.[0] ?? ""
      expect(await (await fetch(page)).text()).toContain("swagger-ui-bundle.js")
      const data = { id: 1, name: "Anchor chain", price: 12.5 }
      const [create = "", list = "", get = "", ...others] = curlLines(screen)
      expect(others).toEqual([])
      expect(await paste(create)).toEqual({ response: "OK", data })
      expect(await paste(list)).toEqual({ response: "OK", data: [data] })
      expect(await paste(get)).toEqual({ response: "OK", data })

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
      expect(await paste(curlLines(second.stdout())[1] ?? "")).toEqual({
        response: "OK",
        data: [{ id: 2, name: "Buoy", price: 0 }],
      })
      expect((await fetch(`${await second.url()}/api/products`, { headers })).status).toBe(401)
      second.signal("SIGINT")
      expect(await second.ended).toBe(0)
      expect(second.stderr()).toContain('"message":"Stopped"')
    },
  )

  test("is refused with a realm's variables, naming them", async () => {
    const variables = { AUTH_ISSUER: "http://SECRETVALUE", AUTH_PUBLIC_KEY: "SECRETVALUE", AUTH_REQUIRE_TYP: "true" }
    const { code, stdout, stderr } = await runHere(["demo"], variables)
    expect([code, stdout]).toEqual([2, ""])
    const lines = stderr.trimEnd().split("\n")
    expect(lines.map((line) => line.split(" ")[0]).sort()).toEqual(Object.keys(variables).sort())
    for (const line of lines)
      expect(line).toEndWith("must not be set for the demo, which makes its own realm; use 'portolan serve'")
    expect(stderr).not.toContain("SECRETVALUE")
  })
})
