// The command line's manners: help, exit codes, what goes to which output (contract section 5).
import { afterAll, describe, expect, test } from "bun:test"
import { createServer } from "node:net"
import { configCommand } from "../../bootstrap/config_command.ts"
import { schedulerCommands } from "../../bootstrap/scheduler_commands.ts"
import { serveCommand } from "../../bootstrap/serve_command.ts"
import { upCommand } from "../../bootstrap/stack_commands.ts"
import manifest from "../../package.json" with { type: "json" }
import { runHere } from "../support/command_here.ts"
import { endProcesses, runProcess, serveEnvironment } from "../support/service_process.ts"
import { bareOf, KEYS } from "../support/tokens.ts"

afterAll(endProcesses)

/** For `serve` in this process: it shall leave no file, and no line among the results. */
const inMemory = () => ({ ...serveEnvironment(), STORE: "memory", LOG_LEVEL: "error" })

describe("portolan", () => {
  test.concurrent("--help lists every command, and each area's have help of their own", async () => {
    const { code, stdout, stderr } = await runProcess(["--help"])
    expect([code, stderr]).toEqual([0, ""])
    const commands = [...stdout.matchAll(/^ {2}([a-z][a-z -]*?) {2,}\S/gm)].map((match) => match[1] ?? "")
    expect(commands).toEqual(expect.arrayContaining(["serve", "stack up", "media image", "jobs get"]))
    const image = await runProcess(["media", "image", "--help"])
    expect([image.code, image.stderr]).toEqual([0, ""])
    expect(image.stdout).toStartWith("Usage: portolan media image")
    for (const command of [serveCommand, upCommand, schedulerCommands.jobs.get]) {
      const help = await runHere(command, ["--help"])
      expect([help.code, help.stderr]).toEqual([0, ""])
      expect(help.stdout).toStartWith(`Usage: portolan ${command.path.join(" ")}`)
    }
  })

  test.concurrent("--version is the package's", async () => {
    expect(await runProcess(["--version"])).toEqual({ code: 0, stdout: `${manifest.version}\n`, stderr: "" })
  })

  test.concurrent.each([
    ["no command", [], /^$/],
    ["an unknown command", ["nonsense"], /Unknown command 'nonsense'/],
  ])("%s: exit 2", async (_what, words, said) => {
    const { code, stderr } = await runProcess(words)
    expect(code).toBe(2)
    expect(stderr).toMatch(said)
    if (words.length > 0) expect(stderr).toContain("--help")
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
    const text = await runHere(configCommand, [], environment)
    expect(text.stdout).toContain("https://realm.example")
    expect(json.stdout + text.stdout + text.stderr).not.toContain("HIDDEN")
  })

  test.concurrent("config shows how many realm keys it read, and ends like the start when it cannot read them", async () => {
    const keys = [KEYS.realm(), KEYS.other()].map(({ publicKey }) => bareOf(publicKey))
    for (const [value, shown] of [
      [keys.slice(0, 1).join("\n"), "1 RSA key"],
      [keys.join("\n"), "2 RSA keys"],
    ] as const) {
      const { code, stdout } = await runHere(configCommand, ["--json"], { AUTH_PUBLIC_KEY: value })
      expect([code, JSON.parse(stdout).AUTH_PUBLIC_KEY]).toEqual([0, shown])
      for (const key of keys) expect(stdout).not.toContain(key.slice(0, 60))
    }
    const { code, stdout, stderr } = await runHere(configCommand, [], { AUTH_PUBLIC_KEY: `${keys[0]} HIDDEN` })
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
      expect(stderr).toContain(`Cannot listen on 127.0.0.1:${port}: the port is in use\n`)
      expect(stderr).not.toContain("    at ")
      const admin = await runHere(serveCommand, [], { ...inMemory(), ADMIN_PORT: String(port) })
      expect([admin.code, admin.stderr.includes(`127.0.0.1:${port}: the port is in use`)]).toEqual([1, true])
    } finally {
      other.close()
    }
  })

  test.concurrent("an address that is not of this machine: exit 1", async () => {
    const { code, stderr } = await runHere(serveCommand, [], { ...inMemory(), HOST: "192.0.2.1" })
    expect(code).toBe(1)
    expect(stderr).toContain("Cannot listen on 192.0.2.1:0: the address cannot be bound on this machine")
  })
})
