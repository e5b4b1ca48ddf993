// How a suite of the ring gets its server, is skipped, or fails. Needs no server.
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import {
  CHROMIUM,
  KEYCLOAK,
  KILLABLE_MONGODB,
  MONGODB,
  mongoDatabaseUrl,
  NGINX,
  NOMAD,
  presence,
} from "./real_servers.ts"

describe("presence()", () => {
  test("REQUIRE_REAL=1 makes a missing MongoDB or Keycloak a failure, a missing Nomad never", () => {
    const kinds = [MONGODB, KILLABLE_MONGODB, KEYCLOAK, NOMAD].map(
      (server) => presence<unknown>(server, { REQUIRE_REAL: "1" }).kind,
    )
    expect(kinds).toEqual(["missing", "missing", "missing", "skipped"])
    expect(presence(MONGODB, { REQUIRE_REAL: "0" }).kind).toBe("skipped")
  })

  test("a command on the PATH is there without a variable, and REQUIRE_REAL=1 asks for it", () => {
    const folder = mkdtempSync(join(tmpdir(), "portolan-path-"))
    const command = join(folder, "chromium-browser")
    writeFileSync(command, "", { mode: 0o755 })
    expect(presence(CHROMIUM, { PATH: folder })).toEqual({ kind: "there", server: { executablePath: command } })
    expect(presence(CHROMIUM, { PATH: folder, TEST_CHROMIUM: "/c" })).toMatchObject({
      server: { executablePath: "/c" },
    })
    rmSync(folder, { recursive: true })
    expect(presence(CHROMIUM, { PATH: folder })).toEqual({
      kind: "skipped",
      reason: "needs Chromium: set TEST_CHROMIUM, or put chromium on the PATH",
    })
    expect(presence(CHROMIUM, { PATH: folder, REQUIRE_REAL: "1" }).kind).toBe("missing")
  })

  test("an nginx without its Lua module is none, and REQUIRE_REAL=1 asks for one with it", () => {
    const folder = mkdtempSync(join(tmpdir(), "portolan-path-"))
    const command = join(folder, "nginx")
    writeFileSync(command, `#!/bin/sh\necho "configure arguments: --modules-path=${folder} --with-pcre" >&2\n`, {
      mode: 0o755,
    })
    expect(presence(NGINX, { PATH: folder, REQUIRE_REAL: "1" })).toEqual({
      kind: "missing",
      reason: "needs Nginx: set TEST_NGINX, or put nginx with its Lua module on the PATH",
    })
    writeFileSync(join(folder, "ngx_http_lua_module.so"), "")
    expect(presence(NGINX, { PATH: folder })).toEqual({ kind: "there", server: { command, modules: folder } })
    rmSync(folder, { recursive: true })
  })

  test("reads what the suites are given", () => {
    const keycloak = presence(KEYCLOAK, { TEST_KEYCLOAK_URL: "http://h:1//", TEST_KEYCLOAK_ADMIN_PASSWORD: "p" })
    expect(keycloak).toEqual({
      kind: "there",
      server: { url: "http://h:1", admin: { username: "admin", password: "p" } },
    })
  })
})

test.each([
  ["mongodb://h", "mongodb://h/x"],
  ["mongodb://h1:1,h2:2/old?w=1", "mongodb://h1:1,h2:2/x?w=1"],
  ["mongodb://u:p@h/", "mongodb://u:p@h/x?authSource=admin"],
  ["mongodb://u:p@h/old?w=1", "mongodb://u:p@h/x?w=1&authSource=old"],
  ["mongodb+srv://u:p@h/old?authSource=z", "mongodb+srv://u:p@h/x?authSource=z"],
])("another database in %s", (url, expected) => {
  expect(mongoDatabaseUrl(url, "x")).toBe(expected)
})

test("an address that is none is refused without being repeated", () => {
  expect(() => mongoDatabaseUrl("http://user:secret@host", "x")).toThrow(/^TEST_MONGODB_URL is not a mongodb/)
})

describe("a suite of the ring, as a run shows it", () => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-ring-"))
  afterAll(() => rmSync(folder, { recursive: true }))
  beforeAll(() =>
    writeFileSync(
      join(folder, "suite.test.ts"),
      `import { expect, test } from "bun:test"
       import { KILLABLE_MONGODB, realSuite } from ${JSON.stringify(join(import.meta.dir, "real_servers.ts"))}
       realSuite(KILLABLE_MONGODB, "a restart", (mongo) => {
         test("sees its server", () => expect(mongo.url).toBe("mongodb://given/"))
         test("kills it", () => mongo.kill())
       })`,
    ),
  )

  const run = async (environment: Readonly<Record<string, string>>) => {
    const child = Bun.spawn([process.execPath, join(import.meta.dir, "../run.ts"), join(folder, "suite.test.ts")], {
      cwd: folder,
      stdio: ["ignore", "pipe", "ignore"],
      env: { PATH: process.env["PATH"], ...environment },
    })
    const lines = (await new Response(child.stdout).text()).trim().split("\n")
    return { exitCode: await child.exited, lines, last: lines.at(-1) }
  }
  const given = { TEST_MONGODB_URL: "mongodb://given/", TEST_MONGODB_START: "true" }

  test("without a server: skipped by name with the reason and the way out, and counted", async () => {
    const { exitCode, lines, last } = await run(given)
    expect(lines).toContain(
      "  a restart: needs MongoDB to kill: set TEST_MONGODB_KILL, or let `bun run check:real` start one in Docker",
    )
    expect(last).toBe("0 passed, 0 failed, 1 skipped")
    expect(exitCode).toBe(0)
  })

  test("without a server under REQUIRE_REAL=1: a failure", async () => {
    expect(await run({ ...given, REQUIRE_REAL: "1" })).toMatchObject({
      exitCode: 1,
      last: "0 passed, 1 failed, 0 skipped",
    })
  })

  test("with the server of the variables: runs, and the given command is what kills it", async () => {
    expect((await run({ ...given, TEST_MONGODB_KILL: "true" })).last).toBe("2 passed, 0 failed, 0 skipped")
    expect((await run({ ...given, TEST_MONGODB_KILL: "exit 3" })).last).toBe("1 passed, 1 failed, 0 skipped")
  })
})
