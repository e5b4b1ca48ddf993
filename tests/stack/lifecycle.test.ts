// What `up`, `status`, `token` and `down` promise: contract section 7, gateway notes section 2.5.
import { afterEach, expect, test } from "bun:test"
import { spawn } from "node:child_process"
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { createServer } from "node:net"
import { networkInterfaces } from "node:os"
import { join } from "node:path"
import { Effect, Exit } from "effect"
import { down } from "../../stack/down.ts"
import { listen } from "../../stack/loopback.ts"
import { isRunning, signal } from "../../stack/process_identity.ts"
import { readState, SERVICES, type StackState, stackFiles, writeState } from "../../stack/state.ts"
import { status } from "../../stack/status.ts"
import { up } from "../../stack/up.ts"
import { runProcess } from "../support/service_process.ts"
import { FREE_PORTS, newHome, STACK_TEST_MS, silent } from "./running_stack.ts"

const ROOT = join(import.meta.dir, "../..")
const homes: Array<string> = []

const home = (): string => {
  const made = newHome()
  homes.push(made)
  return made
}

afterEach(async () => {
  for (const each of homes.splice(0)) {
    await Effect.runPromise(down(each))
    rmSync(each, { recursive: true, force: true })
  }
}, STACK_TEST_MS)

const start = (where: string, more: Partial<typeof FREE_PORTS> = {}) =>
  Effect.runPromiseExit(up(where, { ...FREE_PORTS, ...more }, silent))

const started = async (where: string, more: Partial<typeof FREE_PORTS> = {}): Promise<StackState> =>
  Effect.runPromise(up(where, { ...FREE_PORTS, ...more }, silent))

const reasonsOf = (exit: Exit.Exit<StackState, { readonly message: string }>): string =>
  Exit.isFailure(exit)
    ? String(Exit.findErrorOption(exit).pipe((found) => (found._tag === "Some" ? found.value.message : "")))
    : ""

/** Runs the command line in a process of its own. */
const portolan = async (where: string, ...words: ReadonlyArray<string>) => {
  const child = Bun.spawn([process.execPath, "bootstrap/main.ts", "stack", ...words], {
    cwd: ROOT,
    env: { ...process.env, PORTOLAN_HOME: where },
    stdio: ["ignore", "pipe", "pipe"],
  })
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { out, err, exitCode: await child.exited }
}

const openAllowed = async (state: StackState) => (await fetch(`${state.urls.proxy}/open/allowed`)).status

test(
  "up is quick, tells its progress, and is idempotent",
  async () => {
    const where = home()
    const lines: Array<string> = []
    const begun = performance.now()
    const first = await Effect.runPromise(up(where, FREE_PORTS, (line) => lines.push(line)))
    const took = performance.now() - begun
    expect(took).toBeLessThan(15_000)
    expect(lines.length).toBeGreaterThanOrEqual(4)
    for (const line of lines) expect(line).toMatch(/^\[ *\d+\.\d s\] /)
    const again = await started(where)
    expect(again.processes).toEqual(first.processes)
    expect(await openAllowed(again)).toBe(200)
  },
  STACK_TEST_MS,
)

test(
  "up with other options is refused while a stack runs, and changes nothing",
  async () => {
    const where = home()
    const first = await started(where)
    const refused = await start(where, { gateway: "2.8" })
    expect(reasonsOf(refused)).toContain("run `portolan stack down` first")
    expect(readState(where)?.processes).toEqual(first.processes)
  },
  STACK_TEST_MS,
)

test(
  "two up at once start one stack",
  async () => {
    const where = home()
    const [one, two] = await Promise.all([
      portolan(where, "up", "--proxy-port", "0", "--idp-port", "0", "--upstream-port", "0", "--json"),
      portolan(where, "up", "--proxy-port", "0", "--idp-port", "0", "--upstream-port", "0", "--json"),
    ])
    expect([one.exitCode, two.exitCode]).toEqual([0, 0])
    expect(JSON.parse(one.out)).toEqual(JSON.parse(two.out))
  },
  STACK_TEST_MS,
)

for (const service of SERVICES)
  test(
    `after kill -9 of ${service}: status says so, up starts again`,
    async () => {
      const where = home()
      const first = await started(where)
      const victim = first.processes.find((each) => each.service === service)
      if (victim === undefined) throw new Error("no such process")
      signal(victim, "SIGKILL")
      while (isRunning(victim)) await Bun.sleep(5)
      const seen = await Effect.runPromise(status(where))
      expect(seen.state).toBe("degraded")
      expect(seen.services.find((each) => each.service === service)).toMatchObject({ healthy: false })
      const second = await started(where)
      expect(second.processes.some(({ pid }) => first.processes.some((old) => old.pid === pid))).toBe(false)
      for (const old of first.processes) expect(isRunning(old)).toBe(false)
      expect(await openAllowed(second)).toBe(200)
    },
    STACK_TEST_MS,
  )

test(
  "a state whose process numbers belong to others now is stale: nobody else is stopped",
  async () => {
    const where = home()
    const other = spawn("sleep", ["60"], { stdio: "ignore" })
    try {
      const first = await started(where)
      for (const each of first.processes) signal(each, "SIGKILL")
      writeState(where, {
        ...first,
        processes: SERVICES.map((service) => ({ service, pid: other.pid ?? 0, born: "1" })),
      })
      expect((await Effect.runPromise(status(where))).state).toBe("not running")
      await started(where)
      expect(other.exitCode).toBeNull()
      expect(other.signalCode).toBeNull()
    } finally {
      other.kill()
    }
  },
  STACK_TEST_MS,
)

test(
  "the stack outlives the shell it was started from",
  async () => {
    const where = home()
    const shell = spawn(
      "setsid",
      [
        "sh",
        "-c",
        `"${process.execPath}" bootstrap/main.ts stack up --proxy-port 0 --idp-port 0 --upstream-port 0; kill -HUP 0`,
      ],
      { cwd: ROOT, env: { ...process.env, PORTOLAN_HOME: where }, stdio: "ignore" },
    )
    await new Promise((resolve) => shell.once("exit", resolve))
    const state = readState(where)
    expect(state?.phase).toBe("ready")
    expect((await Effect.runPromise(status(where))).state).toBe("healthy")
  },
  STACK_TEST_MS,
)

test(
  "a busy port is refused by name, and nothing is started",
  async () => {
    const where = home()
    const busy = createServer()
    await listen(busy, 0)
    const { port } = busy.address() as { port: number }
    const { exitCode, err } = await portolan(
      where,
      "up",
      "--proxy-port",
      String(port),
      "--idp-port",
      "0",
      "--upstream-port",
      "0",
    )
    busy.close()
    expect([exitCode, err]).toEqual([2, `refused: port ${port} is busy; choose another with --proxy-port\n`])
    expect(readState(where)).toBeUndefined()
  },
  STACK_TEST_MS,
)

for (const [words, reason] of [
  [["--gateway", "3.9", "--database", "postgres", "--engine", "docker"], "declarative only"],
  [["--gateway", "2.8", "--database", "postgres"], "embedded engine"],
  [["--gateway", "4"], "--gateway"],
  [["--proxy-port", "x"], "--proxy-port"],
] as const)
  test(`up ${words.join(" ")} is refused with the reason, and nothing is started`, async () => {
    const where = home()
    const { exitCode, err, out } = await portolan(where, "up", ...words)
    expect([exitCode, out]).toEqual([2, ""])
    expect(err).toContain(reason)
    expect(readdirSync(where)).toEqual([])
  })

test(
  "without a stack: status 3, token 3, check 3, down 0 twice",
  async () => {
    const where = home()
    for (const [word, exitCode] of [
      ["status", 3],
      ["token", 3],
      ["env", 3],
      ["check", 3],
      ["down", 0],
      ["down", 0],
    ] as const)
      expect([word, (await portolan(where, word)).exitCode]).toEqual([word, exitCode])
  },
  STACK_TEST_MS,
)

test(
  "down stops every process, keeps the logs, and can be said again",
  async () => {
    const where = home()
    const state = await started(where)
    expect(await Effect.runPromise(down(where))).toBe(true)
    for (const each of state.processes) expect(isRunning(each)).toBe(false)
    expect(readState(where)).toBeUndefined()
    expect(readFileSync(stackFiles(where).log("gateway"), "utf8")).toContain("gateway stops")
    expect(await Effect.runPromise(down(where))).toBe(false)
  },
  STACK_TEST_MS,
)

test(
  "a part that does not come up is named with its log, and the state says degraded",
  async () => {
    const where = home()
    // A folder where the upstream's log should be: nothing can be started on it.
    mkdirSync(stackFiles(where).log("upstream"), { recursive: true })
    const exit = await start(where)
    expect(reasonsOf(exit)).toStartWith("upstream: its process could not be started")
    expect(readState(where)?.phase).toBe("degraded")
  },
  STACK_TEST_MS,
)

test(
  "secrets stand in a file of its owner alone, and nowhere a neighbour can look",
  async () => {
    const where = home()
    const { processes, secrets, urls } = await started(where)
    expect(statSync(stackFiles(where).state).mode & 0o777).toBe(0o600)
    const words = [secrets.control, secrets.userPassword, secrets.webClient, secrets.serviceClient]
    for (const { pid } of processes) {
      const shown = readFileSync(`/proc/${pid}/cmdline`, "utf8") + readFileSync(`/proc/${pid}/environ`, "utf8")
      for (const word of words) expect(shown).not.toContain(word)
    }
    for (const service of SERVICES) {
      const log = readFileSync(stackFiles(where).log(service), "utf8")
      for (const word of words) expect(log).not.toContain(word)
    }
    const outside = Object.values(networkInterfaces())
      .flat()
      .find((each) => each?.internal === false && each.family === "IPv4")
    if (outside === undefined) return
    for (const url of Object.values(urls)) {
      const answer = await fetch(`http://${outside.address}:${new URL(url).port}/`).catch(() => "refused")
      expect(answer).toBe("refused")
    }
  },
  STACK_TEST_MS,
)

test(
  "token prints a token and nothing else; wrong kind 2; logs of an unknown service 2",
  async () => {
    const where = home()
    const state = await started(where, { gateway: "2.8", variant: "variant" })
    const access = await portolan(where, "token")
    expect(access.out).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/)
    const id = await portolan(where, "token", "id")
    const ask = async (path: string, token: string) =>
      (await fetch(state.urls.proxy + path, { headers: { authorization: `Bearer ${token.trim()}` } })).status
    expect([await ask("/jwt/x", access.out), await ask("/jwt/x", id.out)]).toEqual([200, 401])
    expect([await ask("/api/x", access.out), await ask("/api/x", id.out)]).toEqual([401, 200])
    expect((await portolan(where, "token", "refresh")).exitCode).toBe(2)
    // `portolan token` with what `env` printed: a token of the service's own client.
    const variables = JSON.parse((await portolan(where, "env", "--json")).out)
    const own = await runProcess(["token"], variables)
    expect([own.code, await ask("/jwt/x", own.stdout)]).toEqual([0, 200])
    for (const [name, value] of Object.entries(variables))
      expect((await portolan(where, "env")).out).toContain(`export ${name}='${value}'\n`)
    const logs = await portolan(where, "logs", "-n", "100")
    expect(logs.out).toContain("gateway ")
    for (const secret of [access.out.trim(), id.out.trim(), "eyJ"]) expect(logs.out).not.toContain(secret)
    expect((await portolan(where, "logs", "nothing")).exitCode).toBe(2)
  },
  STACK_TEST_MS,
)
