// The command line's manners: help, exit codes, what goes to which output (specification 15).
import { afterAll, describe, expect, test } from "bun:test"
import { createServer } from "node:net"
import { VARIABLES } from "../../bootstrap/config.ts"
import manifest from "../../package.json" with { type: "json" }
import { runHere } from "../support/command_here.ts"
import { endProcesses, runProcess, serveEnvironment } from "../support/service_process.ts"
import { bareOf, KEYS } from "../support/tokens.ts"

afterAll(endProcesses)

/** For `serve` in this process: it shall leave no file, and no line among the results. */
const inMemory = () => ({ ...serveEnvironment(), STORE: "memory", LOG_LEVEL: "error" })

describe("portolan", () => {
  test.concurrent("--help lists every command, each group its own, and each command says how it is used", async () => {
    const listed = async (words: ReadonlyArray<string>) => {
      const { code, stdout, stderr } = await runHere([...words, "--help"])
      expect([words, code, stderr]).toEqual([words, 0, ""])
      const list = stdout.split("\nSUBCOMMANDS\n")[1] ?? ""
      return [...list.matchAll(/^ {2}([a-z-]+) {2,}\S/gm)].map((match) => match[1] ?? "")
    }
    expect(await listed([])).toEqual([
      "serve",
      "demo",
      "token",
      "config",
      "health",
      "records",
      "jobs",
      "allocations",
      "media",
      "stack",
    ])
    expect(await listed(["jobs"])).toContain("restart")
    expect(await listed(["records"])).toEqual(["list", "get", "create", "delete", "import", "export"])
    expect(await listed(["stack"])).toEqual(["up", "status", "logs", "token", "env", "down", "check", "upstream"])
    const help = await runHere(["help", "stack", "up"])
    expect(help.code).toBe(0)
    expect(help.stdout).toMatch(
      /\nUSAGE\n {2}portolan stack up \[flags\]\n.*--gateway .*\nEXAMPLES\n {2}portolan stack up\n/s,
    )
  })

  test.concurrent("--version is the package's", async () => {
    expect(await runProcess(["--version"])).toEqual({ code: 0, stdout: `${manifest.version}\n`, stderr: "" })
  })

  test.concurrent.each([
    ["no command", [], ""],
    ["a group alone", ["jobs"], ""],
    ["an unknown command", ["nonsense"], 'Unknown subcommand "nonsense" for "portolan"\nTry: portolan --help\n'],
    ["an unknown flag", ["jobs", "get", "x", "--regoin", "eu"], "--region\nTry: portolan jobs get --help\n"],
    [
      "a port that is none",
      ["serve", "--port", "65536"],
      "must be a whole number from 0 to 65535\nTry: portolan serve --help\n",
    ],
    ["a realm that is not named", ["serve"], "or AUTH_JWKS_URL instead\nTry: portolan demo\n"],
    [
      "a variable that is missing",
      ["jobs", "get", "x"],
      "SCHEDULER_URL is required by 'jobs' and 'allocations'\nTry: portolan config --variables\n",
    ],
    [
      "an option of the stack",
      ["--json=false", "stack", "up", "--database", "postgres"],
      "\nTry: portolan stack up --help\n",
    ],
    ["an unknown flag, for a program", ["config", "--jsn", "--json"], '"WRONG_USAGE"'],
  ])("%s: exit 2", async (_what, words, said) => {
    const { code, stderr } = await runHere(words)
    expect([code, stderr]).toEqual([2, said === "" ? "" : expect.stringContaining(said)])
  })

  test.concurrent("config prints the effective configuration with its secrets masked", async () => {
    const environment = {
      SCHEDULER_TOKEN: "HIDDEN-1",
      MONGODB_URL: "mongodb://u:HIDDEN-2@h/db",
      GRAPH_ACCESS_TOKEN: "HIDDEN-4",
      GRAPH_APP_SECRET: "HIDDEN-5",
      IDP_CLIENT_SECRET: "HIDDEN-6",
      AUTH_ISSUER: "https://realm.example",
      LOG_LEVEL: "",
    }
    const json = await runProcess(["config", "--json"], environment)
    expect([json.code, json.stderr]).toEqual([0, ""])
    const shown = JSON.parse(json.stdout) as Record<string, unknown>
    expect(shown).toMatchObject({ AUTH_ISSUER: "https://realm.example", LOG_LEVEL: "info", COLLECTIONS: null })
    for (const [name, value] of Object.entries(environment))
      if (value.includes("HIDDEN")) expect([name, shown[name]]).toEqual([name, "<set>"])
    const text = await runHere(["config"], environment)
    expect(text.stdout).toContain("https://realm.example")
    expect(json.stdout + text.stdout + text.stderr).not.toContain("HIDDEN")
  })

  test.concurrent("config --variables lists every variable with its default, also when what is set is wrong", async () => {
    const { code, stdout, stderr } = await runHere(["config", "--variables", "--json"], { PORT: "wrong" })
    expect([code, stderr]).toEqual([0, ""])
    const listed: ReadonlyArray<{ variable: string; default: unknown; meaning: string }> = JSON.parse(stdout)
    expect(listed.map(({ variable }) => variable)).toEqual(Object.keys(VARIABLES))
    expect(listed).toContainEqual({ variable: "PORT", default: 8080, meaning: "port of the public listener" })
  })

  test.concurrent("config shows how many realm keys it read, and ends like the start when it cannot read them", async () => {
    const keys = [KEYS.realm(), KEYS.other()].map(({ publicKey }) => bareOf(publicKey))
    for (const [value, shown] of [
      [keys.slice(0, 1).join("\n"), "1 RSA key"],
      [keys.join("\n"), "2 RSA keys"],
    ] as const) {
      const { code, stdout } = await runHere(["config", "--json"], { AUTH_PUBLIC_KEY: value })
      expect([code, JSON.parse(stdout).AUTH_PUBLIC_KEY]).toEqual([0, shown])
      for (const key of keys) expect(stdout).not.toContain(key.slice(0, 60))
    }
    const { code, stdout, stderr } = await runHere(["config"], { AUTH_PUBLIC_KEY: `${keys[0]} HIDDEN` })
    expect([code, stdout]).toEqual([2, ""])
    expect(stderr).toMatch(/^AUTH_PUBLIC_KEY must be /)
    expect(stderr).not.toContain("HIDDEN")
  })

  test.concurrent("a busy port: exit 1 and a line that says so", async () => {
    const other = createServer()
    await new Promise<void>((listening) => other.listen(0, "127.0.0.1", listening))
    const { port } = other.address() as { port: number }
    try {
      const { code, stdout, stderr } = await runProcess(["serve"], { ...serveEnvironment(), PORT: String(port) })
      expect([code, stdout]).toEqual([1, ""])
      expect(stderr).toContain(
        `Cannot listen on 127.0.0.1:${port}: the port is in use; set PORT or --port to another one, or to 0 for a free one\n`,
      )
      expect(stderr).not.toContain("    at ")
      const admin = await runHere(["serve"], { ...inMemory(), ADMIN_PORT: String(port) })
      expect([admin.code, admin.stderr.includes(`127.0.0.1:${port}: the port is in use; set ADMIN_PORT`)]).toEqual([
        1,
        true,
      ])
    } finally {
      other.close()
    }
  })

  test.concurrent("an address that is not of this machine: exit 1", async () => {
    const { code, stderr } = await runHere(["serve"], { ...inMemory(), HOST: "192.0.2.1" })
    expect(code).toBe(1)
    expect(stderr).toContain("Cannot listen on 192.0.2.1:0: the address cannot be bound on this machine")
  })
})
