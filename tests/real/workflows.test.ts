// The workflow that makes a release, before the linter that knows what its runner takes.
import { expect, test } from "bun:test"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { ACTIONLINT, realSuite } from "../support/real_servers.ts"

const FOLDER = join(import.meta.dir, "../../.github/workflows")

realSuite(ACTIONLINT, "the workflows", (command) => {
  const lint = async (...files: ReadonlyArray<string>) => {
    // Linters of other languages are used only where they happen to be installed.
    const child = Bun.spawn([command, "-shellcheck=", "-pyflakes=", "-no-color", ...files], {
      stdio: ["pipe", "pipe", "inherit"],
    })
    child.stdin.write("on: push\njobs: { a: { runs-on: ubuntu-24.04, stpes: [] } }\n")
    await child.stdin.end()
    return { said: await new Response(child.stdout).text(), code: await child.exited }
  }

  test("have no error", async () => {
    const files = readdirSync(FOLDER).map((name) => join(FOLDER, name))
    expect(files.length).toBeGreaterThan(0)
    expect(await lint(...files)).toEqual({ said: "", code: 0 })
  })

  test("would be refused with a wrong word", async () => {
    const { said, code } = await lint("-")
    expect([code, said]).toEqual([1, expect.stringContaining('"stpes"')])
  })
})
