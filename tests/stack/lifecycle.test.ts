// What `up`, `status`, `token` and `down` promise: specification 17. Starting a stack is dear, and
// `up` finds one that runs: the tests share one, in whatever state the test before left it.
import { afterAll, expect, test } from "bun:test"
import { spawn } from "node:child_process"
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { createServer } from "node:net"
import { networkInterfaces } from "node:os"
import { join } from "node:path"
import { Effect, Exit } from "effect"
import type { StackOptions } from "../../domain/gateway/stack_options.ts"
import { down } from "../../stack/down.ts"
import { listen } from "../../stack/loopback.ts"
import { isRunning, signal } from "../../stack/process_identity.ts"
import { readState, SERVICES, type StackState, stackFiles, writeState } from "../../stack/state.ts"
import { status } from "../../stack/status.ts"
import { up } from "../../stack/up.ts"
import { runHere } from "../support/command_here.ts"
import { runProcess } from "../support/service_process.ts"
import { FREE_PORTS, newHome, STACK_TEST_MS, silent } from "./running_stack.ts"

const ROOT = join(import.meta.dir, "../..")
const homes: Array<string> = []

const home = (): string => {
  const made = newHome()
  homes.push(made)
  return made
}
const shared = home()

afterAll(async () => {
  for (const each of homes) {
    await Effect.runPromise(down(each))
    rmSync(each, { recursive: true, force: true })
  }
}, STACK_TEST_MS)

/** A build that has `/jwt`, for access tokens, and `/api`, for ID tokens. */
const OPTIONS: StackOptions = { ...FREE_PORTS, gateway: "2.8", variant: "variant" }
const WORDS = "--gateway 2.8 --variant variant --proxy-port 0 --idp-port 0 --upstream-port 0"

const start = (where: string, more: Partial<StackOptions> = {}) =>
  Effect.runPromiseExit(up(where, { ...OPTIONS, ...more }, silent))

/** The shared stack, whole: as it runs, or started again. */
const started = (): Promise<StackState> => Effect.runPromise(up(shared, OPTIONS, silent))

const reasonsOf = (exit: Exit.Exit<StackState, { readonly message: string }>): string =>
  Exit.isFailure(exit)
    ? String(Exit.findErrorOption(exit).pipe((found) => (found._tag === "Some" ? found.value.message : "")))
    : ""

/** Runs the command line in a process of its own. */
const portolan = async (where: string, ...words: ReadonlyArray<string>) => {
  const { code, stdout, stderr } = await runProcess(["stack", ...words], { PORTOLAN_HOME: where })
  return [code, stdout, stderr] as const
}

/** Runs a command in this process. */
const here = async (where: string, ...words: ReadonlyArray<string>) => {
  const { code, stdout, stderr } = await runHere(["stack", ...words], { PORTOLAN_HOME: where })
  return [code, stdout, stderr] as const
}

const openAllowed = async (state: StackState) => (await fetch(`${state.urls.proxy}/open/allowed`)).status

test(
  "two up at once start one stack, which outlives the shell they were started from",
  async () => {
    const words = `"${process.execPath}" bootstrap/main.ts stack up ${WORDS} --json`
    const script = `${words} >"$PORTOLAN_HOME/one" & ${words} >"$PORTOLAN_HOME/two" & wait; kill -HUP 0`
    const shell = spawn("setsid", ["sh", "-c", script], {
      cwd: ROOT,
      env: { ...process.env, PORTOLAN_HOME: shared },
      stdio: "ignore",
    })
    await new Promise((resolve) => shell.once("exit", resolve))
    const [one, two] = ["one", "two"].map((name) => readFileSync(join(shared, name), "utf8"))
    expect(JSON.parse(one ?? "")).toEqual(JSON.parse(two ?? ""))
    expect(readState(shared)?.phase).toBe("ready")
    const [code, out] = await portolan(shared, "status", "--json")
    expect([code, JSON.parse(out)]).toEqual([0, expect.objectContaining({ state: "healthy" })])
  },
  STACK_TEST_MS,
)

test(
  "up is idempotent while the stack is whole, and refused with other options",
  async () => {
    const first = await started()
    expect((await started()).processes).toEqual(first.processes)
    expect(await openAllowed(first)).toBe(200)
    expect(reasonsOf(await start(shared, { gateway: "3.9" }))).toContain("run `portolan stack down` first")
    expect(readState(shared)?.processes).toEqual(first.processes)
  },
  STACK_TEST_MS,
)

test(
  "secrets stand in a file of its owner alone, and nowhere a neighbour can look",
  async () => {
    const { processes, secrets, urls } = await started()
    const files = stackFiles(shared)
    expect(statSync(files.state).mode & 0o777).toBe(0o600)
    const shown = [
      ...processes.flatMap(({ pid }) => [`/proc/${pid}/cmdline`, `/proc/${pid}/environ`]),
      ...SERVICES.map((service) => files.log(service)),
    ].map((path) => readFileSync(path, "utf8"))
    for (const word of [secrets.control, secrets.userPassword, secrets.webClient, secrets.serviceClient])
      expect(shown.filter((text) => text.includes(word))).toEqual([])
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
    const { urls } = await started()
    const [, access] = await portolan(shared, "token")
    expect(access).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/)
    const [, id] = await here(shared, "token", "id")
    const ask = async (path: string, token: string) =>
      (await fetch(urls.proxy + path, { headers: { authorization: `Bearer ${token.trim()}` } })).status
    expect([await ask("/jwt/x", access), await ask("/jwt/x", id)]).toEqual([200, 401])
    expect([await ask("/api/x", access), await ask("/api/x", id)]).toEqual([401, 200])
    expect((await here(shared, "token", "refresh"))[0]).toBe(2)
    // `portolan token` with what `env` printed: a token of the service's own client.
    const variables = JSON.parse((await here(shared, "env", "--json"))[1])
    const own = await runHere(["token"], variables)
    expect([own.code, await ask("/jwt/x", own.stdout)]).toEqual([0, 200])
    const [, lines] = await here(shared, "env")
    for (const [name, value] of Object.entries(variables)) expect(lines).toContain(`export ${name}='${value}'\n`)
    const [, logs] = await portolan(shared, "logs", "-n", "100")
    expect(logs).toContain("gateway ")
    for (const secret of [access.trim(), id.trim(), "eyJ"]) expect(logs).not.toContain(secret)
    expect((await here(shared, "logs", "nothing"))[0]).toBe(2)
  },
  STACK_TEST_MS,
)

test.each(SERVICES)(
  "after kill -9 of %s: status says so, up starts again and tells its progress",
  async (service) => {
    const first = await started()
    const victim = first.processes.find((each) => each.service === service)
    if (victim === undefined) throw new Error("no such process")
    signal(victim, "SIGKILL")
    while (isRunning(victim)) await Bun.sleep(5)
    const seen = await Effect.runPromise(status(shared))
    expect(seen.state).toBe("degraded")
    expect(seen.services.find((each) => each.service === service)).toMatchObject({ healthy: false })
    const lines: Array<string> = []
    const second = await Effect.runPromise(up(shared, OPTIONS, (line) => lines.push(line)))
    expect(lines.length).toBeGreaterThanOrEqual(5)
    for (const line of lines) expect(line).toMatch(/^\[ *\d+\.\d s\] /)
    expect(second.processes.some(({ pid }) => first.processes.some((old) => old.pid === pid))).toBe(false)
    for (const old of first.processes) expect(isRunning(old)).toBe(false)
    expect(await openAllowed(second)).toBe(200)
  },
  STACK_TEST_MS,
)

test(
  "a state whose process numbers belong to others now is stale: nobody else is stopped",
  async () => {
    const other = spawn("sleep", ["600"], { stdio: "ignore" })
    try {
      const first = await started()
      for (const each of first.processes) signal(each, "SIGKILL")
      writeState(shared, {
        ...first,
        processes: SERVICES.map((service) => ({ service, pid: other.pid ?? 0, born: "1" })),
      })
      expect((await Effect.runPromise(status(shared))).state).toBe("not running")
      await started()
      expect(other.exitCode).toBeNull()
      expect(other.signalCode).toBeNull()
    } finally {
      other.kill()
    }
  },
  STACK_TEST_MS,
)

test(
  "down stops every process, keeps the logs, and can be said again",
  async () => {
    const { processes } = await started()
    expect(await portolan(shared, "down")).toEqual([0, "stopped\n", ""])
    for (const each of processes) expect(isRunning(each)).toBe(false)
    expect(readState(shared)).toBeUndefined()
    expect(readFileSync(stackFiles(shared).log("gateway"), "utf8")).toContain("gateway stops")
    expect(await Effect.runPromise(down(shared))).toBe(false)
  },
  STACK_TEST_MS,
)

test("a busy port is refused by name, and nothing is started", async () => {
  const where = home()
  const busy = createServer()
  await listen(busy, 0)
  const { port } = busy.address() as { port: number }
  const words = ["--proxy-port", String(port), "--idp-port", "0", "--upstream-port", "0"]
  const refused = `refused: port ${port} is busy; choose another with --proxy-port\nTry: portolan stack up --help\n`
  expect(await here(where, "up", ...words)).toEqual([2, "", refused])
  busy.close()
  expect(readState(where)).toBeUndefined()
})

test.each([
  ["--gateway 3.9 --database postgres --engine docker", "declarative only"],
  ["--gateway 2.8 --database postgres", "embedded engine"],
  ["--gateway 4", "--gateway"],
  ["--proxy-port x", "--proxy-port"],
])("up %s is refused with the reason, and nothing is started", async (words, reason) => {
  const where = home()
  expect(await here(where, "up", ...words.split(" "))).toEqual([2, "", expect.stringContaining(reason)])
  expect(readdirSync(where)).toEqual([])
})

test.each([
  ["status", 3],
  ["token", 3],
  ["env", 3],
  ["check", 3],
  ["down", 0],
])("without a stack: %s twice", async (word, code) => {
  const where = home()
  for (const _time of [1, 2]) expect((await here(where, word))[0]).toBe(code)
})

test(
  "a part that does not come up is named with its log, and the state says degraded",
  async () => {
    const where = home()
    // A folder where the upstream's log should be: nothing can be started on it.
    mkdirSync(stackFiles(where).log("upstream"), { recursive: true })
    expect(reasonsOf(await start(where))).toStartWith("upstream: its process could not be started")
    expect(readState(where)?.phase).toBe("degraded")
  },
  STACK_TEST_MS,
)
